"""Progress: a live display on a terminal, plain log lines elsewhere, and the last words."""

from __future__ import annotations

import logging
import sys
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text
from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

from webcrawler.crawl import Crawl

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)
_WINDOW_SECS = 10.0


class Progress:
    """Pages, rate, waiting, hosts ready and held, errors, and the URL just fetched."""

    def __init__(self, crawler: Crawler, crawl: Crawl) -> None:
        self._crawler = crawler
        self._crawl = crawl
        self._console = Console(stderr=True)
        self._live: Live | None = None
        self._looping: Any = None
        self._url = ""
        self._ended = 0
        self._errors = 0
        self._marks: deque[tuple[float, int]] = deque(maxlen=100)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        crawl = Crawl.of(crawler)
        if not crawl.config.report.progress:
            raise NotConfigured
        progress = cls(crawler, crawl)
        crawler.signals.connect(progress.spider_opened, signals.spider_opened)
        crawler.signals.connect(progress.spider_closed, signals.spider_closed)
        return progress

    def spider_opened(self) -> None:
        scheduler = self._crawl.scheduler
        scheduler.log.listeners.append(self.count)
        scheduler.before_close.append(self._stop)
        if self._crawl.job is not None:
            self._say_where()
        config = self._crawl.config.report
        is_live = self._console.is_terminal and not self._crawler.settings.get("LOG_FILE")
        if is_live:
            self._live = Live(
                console=self._console,
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
            _log_above(self._live)
        self._looping = create_looping_call(self._show)
        self._looping.start(0.25 if is_live else config.progress_secs, now=is_live)

    def count(self, line: dict[str, Any]) -> None:
        """One URL ended."""
        self._ended += 1
        self._url = line["url"]
        if line["outcome"] == "failed":
            self._errors += 1

    def _say_where(self) -> None:
        assert self._crawl.job is not None
        counts = self._crawl.store.counts
        known = f"going on: {counts.known:,} URLs known, {counts.waiting:,} waiting"
        state = known if counts.known else "new crawl"
        logger.info(
            f"job folder {self._crawl.job.folder} ({state}); Ctrl-C stops and loses nothing"
        )

    def _rate(self) -> float:
        now = time.monotonic()
        self._marks.append((now, self._ended))
        while len(self._marks) > 2 and self._marks[0][0] < now - _WINDOW_SECS:
            self._marks.popleft()
        then, ended = self._marks[0]
        return (self._ended - ended) / (now - then) if now > then else 0.0

    def _figures(self) -> list[tuple[str, str]]:
        frontier = self._crawl.frontier
        counts = frontier.store.counts
        ready, held = frontier.hosts_ready_and_held(self._crawl.clock())
        return [
            ("ended", f"{counts.known - counts.waiting:,}"),
            ("a second", f"{self._rate():.1f}"),
            ("waiting", f"{counts.waiting:,}"),
            ("in flight", f"{frontier.flying}"),
            ("hosts ready", f"{ready:,}"),
            ("held", f"{held:,}"),
            ("errors", f"{self._errors:,}"),
        ]

    def _show(self) -> None:
        if not self._crawl.is_open:
            return
        if self._live is None:
            line = ", ".join(f"{value} {name}" for name, value in self._figures())
            logger.info(f"{line}; last {self._url}")
            return
        table = Table.grid(padding=(0, 2))
        figures = self._figures()
        table.add_row(*(Text(name, style="dim") for name, _ in figures))
        table.add_row(*(Text(value, style="bold") for _, value in figures))
        grid = Table.grid()
        grid.add_row(table)
        grid.add_row(Text(self._url, style="cyan", no_wrap=True, overflow="ellipsis"))
        self._live.update(grid, refresh=True)

    def _stop(self) -> None:
        """The frontier is about to close: nothing more can be shown of it."""
        if self._looping is not None and self._looping.running:
            self._looping.stop()
        if self._live is not None:
            self._live.stop()
            _log_below()

    def spider_closed(self, reason: str) -> None:
        self._stop()


def _log_above(live: Live) -> None:
    """Let log lines scroll above the display instead of through it."""
    for handler in logging.root.handlers:
        if isinstance(handler, logging.StreamHandler) and handler.stream is sys.stderr:
            handler.setStream(_Above(live))


def _log_below() -> None:
    for handler in logging.root.handlers:
        if isinstance(handler, logging.StreamHandler) and isinstance(handler.stream, _Above):
            handler.setStream(sys.stderr)


class _Above:
    """A stream whose lines are printed above a live display."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def write(self, text: str) -> None:
        if text.strip():
            self._live.console.print(Text(text.rstrip("\n")), highlight=False)

    def flush(self) -> None:
        """Every line is flushed when it is printed."""
