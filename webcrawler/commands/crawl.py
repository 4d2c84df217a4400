"""scrapy crawl: Scrapy's own command, with one sentence where a traceback would help nobody."""

from __future__ import annotations

import ctypes
import gc
import json
import logging
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.commands.crawl import Command as ScrapyCrawl
from scrapy.exceptions import UsageError

from webcrawler.crawl import Crawl
from webcrawler.exceptions import WebcrawlerError
from webcrawler.logformatter import leave_out_inventories

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)
_M_ARENA_MAX = -8  # of glibc's mallopt
_LEFT = ("crawl.log", "report.json", "index", "warc")


class Command(ScrapyCrawl):
    """Runs a spider; exit code 2 for what a user can mend, 1 for what broke, else 0."""

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        assert self.settings is not None
        check_log(self.settings)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise UsageError("name one spider: scrapy crawl site -a seeds=example.org")
        try:
            self._crawl(args[0], opts)
        except KeyboardInterrupt:
            # Before Scrapy listens for it. Nothing has been fetched yet.
            print("stopped before it began", file=sys.stderr)
            self.exitcode = 130

    def _crawl(self, name: str, opts: argparse.Namespace) -> None:
        assert self.crawler_process is not None
        assert self.settings is not None
        if self.settings.get("LOG_LEVEL") != "DEBUG":
            leave_out_inventories()
        try:
            crawler = self._create_crawler(name)
        except KeyError:
            names = ", ".join(self.crawler_process.spider_loader.list())
            self._refuse(f"there is no spider {name}: the spiders are {names}")
            return
        # A page is thousands of short-lived objects without cycles: looking for cycles after every
        # 700 of them, as Python does by default, is a tenth of a page's time.
        gc.set_threshold(20_000, 20, 20)
        _share_memory()
        failures: list[BaseException] = []
        work = self.crawler_process.crawl(crawler, **opts.spargs)
        _when_failed(work, failures.append)
        self.crawler_process.start()
        error = failures[0] if failures else Crawl.of(crawler).error
        if isinstance(error, WebcrawlerError):
            self._refuse(str(error))
        elif error is not None:
            self.exitcode = 1
            if failures:
                raise error
        else:
            self._say_what_is_left(crawler)

    def _refuse(self, sentence: str) -> None:
        print(f"error: {sentence}", file=sys.stderr)
        if self.settings is not None and self.settings.get("LOG_FILE"):
            logger.error(sentence)  # under Scrapyd, people look there
        self.exitcode = 2

    def _say_what_is_left(self, crawler: Any) -> None:
        folder = crawler.settings.get("JOBDIR")
        path = Path(folder) / "report.json" if folder else None
        if path is None or not path.is_file():
            return
        report = json.loads(path.read_text(encoding="utf-8"))
        for line in last_words(report, Path(folder)):
            print(line, file=sys.stderr)


def check_log(settings: BaseSettings) -> None:
    """Refuse a log that cannot be: Scrapy opens it before anything of ours runs."""
    level, path = settings.get("LOG_LEVEL"), settings.get("LOG_FILE")
    names = logging.getLevelNamesMapping()
    if not str(level).isdigit() and level not in names:
        raise UsageError(
            f"setting LOG_LEVEL={level!r} is not allowed: one of {', '.join(names)}",
            print_help=False,
        )
    if path:
        try:
            with Path(path).open("ab"):
                pass
        except OSError as error:
            raise UsageError(
                f"cannot write to the log {path} (LOG_FILE): {error.strerror}", print_help=False
            ) from None


def last_words(report: dict[str, Any], folder: Path) -> list[str]:
    """What was produced and where, and how to go on."""
    crawl = report.get("crawl")  # where this was one of several workers
    frontier = crawl if crawl is not None else report["frontier"]
    outcomes = ", ".join(f"{count:,} {name}" for name, count in report["by_outcome"].items())
    lines = [
        f"{report['pages']:,} pages, {report['bytes'] / 1e6:,.1f} MB, "
        f"{report['pages_per_second']:,.1f} pages a second ({outcomes or 'nothing ended'})",
        f"in {folder}: " + ", ".join(name for name in _LEFT if (folder / name).exists()),
    ]
    if crawl is not None:
        lines.insert(
            1, f"all workers together: {crawl['pages']:,} pages of {crawl['hosts']:,} hosts"
        )
    left = frontier["waiting"] - frontier["frozen"]
    if frontier["frozen"]:
        lines.append(
            f"{frontier['frozen']:,} URLs are kept on hosts that are blocked or have used up "
            f"their budget"
        )
    if not report["reason"]:
        # Ctrl-C while it was being opened: Scrapy then leaves without closing it.
        lines.append("stopped while starting: the same command goes on")
    elif left:
        lines.append(f"{left:,} URLs wait: the same command goes on ({report['reason']})")
    elif crawl is not None:
        lines.append(
            "finished; to start afresh: scrapy frontier forget, or another job (-a job=NAME)"
        )
    else:
        lines.append(f"finished; to start afresh delete {folder} or name another job (-a job=NAME)")
    return lines


def _when_failed(work: Any, tell: Any) -> None:
    """Tell how a crawl failed, of a task (asyncio) or a Deferred (other reactors)."""
    if hasattr(work, "add_done_callback"):
        work.add_done_callback(
            lambda task: (
                tell(task.exception()) if not task.cancelled() and task.exception() else None
            )
        )
    else:
        work.addErrback(lambda failure: tell(failure.value))


def _share_memory() -> None:
    """Let all threads take memory from one place, where the C library has one for each.

    The index's threads come and go, and what each keeps for itself made a fifth of a crawl's
    peak on python3.11-doc. Elsewhere than with glibc there is nothing to do.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
