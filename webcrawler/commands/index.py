"""scrapy index: one full-text index from the archives and links of any number of crawls."""

from __future__ import annotations

import shutil
import sys
import time
import traceback
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from scrapy.exceptions import UsageError

from webcrawler.archive.files import archive_files
from webcrawler.command_text import ExampleFormatter, json_text
from webcrawler.config import Config
from webcrawler.control import ADDRESS, ask_running
from webcrawler.exceptions import JobError, UserError, WebcrawlerError
from webcrawler.index import build_index
from webcrawler.index_sources import ArchivedPages, LinkTables
from webcrawler.job_tables import JobTables
from webcrawler.several_jobs import SeveralJobsCommand
from webcrawler.urls import Canonicalizer
from webcrawler.worker_folder import folders_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from typing import Self

    from webcrawler.index import Built, IndexedPage

DESCRIPTION = """\
Make one full-text index from the archives (WARC) and the links of one crawl or
of several: of crawls that made none, of workers that each made their own, or
anew after settings changed. Of several versions of a page the newest is taken;
copies and pages that ask not to be indexed are left out.

  build FOLDER  make the index in a new folder, or in the place of an old index

The jobs are only read. --job also takes a folder of WARC files. What was made
is searched with: scrapy search --job FOLDER <query>"""

EXAMPLES = """\
examples:
  scrapy index build everything --job monday --job tuesday
  scrapy index build crawls/site-example.org/index --job site-example.org
  scrapy index build foreign --job /data/warc"""

_DISK_ERRORS = (OSError, ValueError)  # as the system and as tantivy say it
_LINE_SECS = 10.0  # how often progress is told where there is no terminal


class Command(SeveralJobsCommand):
    """See the module."""

    def syntax(self) -> str:
        return "[options] build <folder>"

    def short_desc(self) -> str:
        return "Make one full-text index from archives and links of several crawls"

    def long_desc(self) -> str:
        return DESCRIPTION

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.formatter_class = ExampleFormatter
        parser.epilog = EXAMPLES
        parser.add_argument(
            "--fetched-only",
            action="store_true",
            help="leave out pages that are known only by the links to them",
        )

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 2 or args[0] != "build":
            raise UsageError("say: scrapy index build FOLDER", print_help=False)
        folder = Path(args[1]).absolute()
        check_target(folder)
        sources = [source for name in opts.job or (None,) for source in self._sources(name)]
        jobs = list(dict.fromkeys(sources))
        started = time.monotonic()
        built, left_out = self._build(folder, jobs, opts)
        result = {
            "folder": str(folder),
            "fetched": built.fetched,
            "not_fetched": built.unfetched,
            "older_versions": built.replaced,
            "left_out": dict(left_out),
            "seconds": round(time.monotonic() - started, 1),
        }
        if opts.json:
            print(json_text(result))
        else:
            print("\n".join(lines_of(result)))

    def _sources(self, name: str | None) -> list[Path]:
        """A folder of WARC files, or a job folder and those of its workers."""
        if name is not None and archive_files(name):
            return [Path(name)]
        job = self.job_named(name)
        return folders_of(job) or [job]

    def _build(
        self, folder: Path, jobs: list[Path], opts: argparse.Namespace
    ) -> tuple[Built, Counter[str]]:
        assert self.settings is not None
        config = Config(self.settings)
        near = config.content.index_near_duplicates
        canonicalizer = Canonicalizer(config.links.drop_params)
        with ExitStack() as stack:
            archives: list[ArchivedPages] = []
            tables = []
            for number, job in enumerate(jobs):
                warc = job if archive_files(job) else job / "warc"
                opened = None
                if (job / "frontier").exists():
                    opened = stack.enter_context(JobTables(job))
                    scratch = folder.with_name(f"{folder.name}.links{number}")
                    links = LinkTables(opened, scratch, near_duplicates=near)
                    stack.callback(links.close)
                    tables.append(links.tables)
                if archive_files(warc):
                    archives.append(
                        ArchivedPages(
                            warc, opened, canonicalizer, config.robots.agent, near_duplicates=near
                        )
                    )
                elif opened is None:
                    raise JobError(f"there is nothing to index in {job}: no archive, no links")
            progress = stack.enter_context(_Progress(archives))
            try:
                built = build_index(
                    folder,
                    progress.pages(),
                    tables,
                    with_unfetched=not opts.fetched_only,
                    heap_bytes=config.content.index_memory,
                )
            except BaseException as error:
                # What failed holds an index that still writes: it ends first, then its folder goes.
                traceback.clear_frames(error.__traceback__)
                _remove(folder.with_name(f"{folder.name}.new"))
                if isinstance(error, WebcrawlerError) or not isinstance(error, _DISK_ERRORS):
                    raise
                raise UserError(f"the index cannot be built in {folder}: {error}") from error
        return built, sum((archive.counts for archive in archives), Counter())


def check_target(folder: Path) -> None:
    """UserError where the folder holds anything that must not be replaced."""
    for path in (folder, *(folder.with_name(folder.name + end) for end in (".new", ".old"))):
        if path.exists() and not _is_index(path):
            raise UserError(f"{path} is there and is no index: name a new folder")
    job = folder.parent
    if (job / ADDRESS).exists() and ask_running(job, {"action": "stats"}) is not None:
        raise JobError(f"the crawl in {job} is running and may write to {folder}: stop it first")


def _remove(path: Path) -> None:
    for _ in range(20):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return
        time.sleep(0.05)


def _is_index(path: Path) -> bool:
    return path.is_dir() and ((path / "format.json").exists() or not any(path.iterdir()))


def lines_of(result: dict[str, Any]) -> Iterator[str]:
    """What was made, as people read it."""
    yield (
        f"{result['fetched']:,} pages, and {result['not_fetched']:,} known by the links to them "
        f"only, in {result['seconds']:g} s"
    )
    reasons = [f"{count:,} {name.replace('_', ' ')}" for name, count in result["left_out"].items()]
    if result["older_versions"]:
        reasons.append(f"{result['older_versions']:,} older versions")
    if reasons:
        yield f"left out: {', '.join(reasons)}"
    yield f"in {result['folder']}"


class _Progress:
    """Passes the pages of archives on, and shows on stderr how far it has come."""

    def __init__(self, archives: list[ArchivedPages]) -> None:
        self._archives = archives
        self._total = sum(archive.size for archive in archives)
        console = Console(stderr=True)
        self._bar: Progress | None = None
        if console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TextColumn("{task.fields[pages]:,} pages"),
                TimeRemainingColumn(),
                console=console,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._task = self._bar.add_task("reading archives", total=self._total, pages=0)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def pages(self) -> Iterator[IndexedPage]:
        before = 0
        told_at = time.monotonic()
        count = 0
        for archive in self._archives:
            for page in archive:
                yield page
                count += 1
                done = before + archive.done
                if self._bar is not None:
                    self._bar.update(self._task, completed=done, pages=count)
                elif time.monotonic() - told_at > _LINE_SECS:
                    told_at = time.monotonic()
                    share = done / max(1, self._total)
                    print(f"{count:,} pages, {share:.0%} of the archives", file=sys.stderr)
            before += archive.size
        if self._bar is not None:
            self._bar.update(
                self._task, completed=self._total, description="pages known by links", pages=count
            )
