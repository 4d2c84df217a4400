"""scrapy archive: what a crawl has archived, a page of it as it came, and whether it is sound."""

from __future__ import annotations

import re
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from webcrawler.archive import (
    TABLE,
    ArchiveReader,
    check,
    counted_places,
    describe,
    find_page,
    list_lines,
    page_bytes,
    report_lines,
)
from webcrawler.archive.dates import warc_date
from webcrawler.archive.files import archive_files
from webcrawler.command_text import ExampleFormatter, harmless, harmless_json, json_text
from webcrawler.config import Config
from webcrawler.exceptions import JobError, UserError
from webcrawler.index import JoinedTable
from webcrawler.job_command import JobCommand
from webcrawler.job_tables import JobTables
from webcrawler.urls import Canonicalizer, complete_seed, normalize
from webcrawler.worker_folder import folders_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from webcrawler.archive import Capture
    from webcrawler.tables import Table

DESCRIPTION = """\
What a crawl has archived (the WARC files in the folder warc of its job).

  list [TEXT]  a line for each record, or for those with TEXT in their URL:
               time, kind, status, type, length, file and place, URL;
               with --counted only answers whose pages the crawl has counted
  get URL      the page as it was stored, to stdout or into a file
  check        read every byte: records, digests, what revisits refer to;
               exit code 1 when something is wrong

The crawl may be running, and by several workers. --job also takes a folder of WARC files."""

EXAMPLES = """\
examples:
  scrapy archive list --kind response example.org/news
  scrapy archive get --base -o page.html https://example.org/
  scrapy archive get --when 2024-05-31 --headers https://example.org/
  scrapy archive check --json"""

ACTIONS = ("list", "get", "check")
# Controls but for those of plain text, and the second set of them as UTF-8 writes it.
_is_wild = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]").search


class Command(JobCommand):
    """See the module."""

    def syntax(self) -> str:
        return "[options] list [TEXT] | get <URL> | check"

    def short_desc(self) -> str:
        return "List, read and check what a crawl has archived"

    def long_desc(self) -> str:
        return DESCRIPTION

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.formatter_class = ExampleFormatter
        parser.epilog = EXAMPLES
        parser.add_argument("--kind", default="", help="list: only response, request, revisit ...")
        parser.add_argument(
            "--counted",
            action="store_true",
            help="list: not what a crash or another worker's commit left uncounted",
        )
        parser.add_argument(
            "--when", default="", help="get: the capture nearest to a time (2024, 2024-05-31 ...)"
        )
        parser.add_argument(
            "--base", action="store_true", help="get: add a BASE tag, for reading from a local file"
        )
        parser.add_argument("--headers", action="store_true", help="get: the headers too")
        parser.add_argument(
            "--raw", action="store_true", help="get: as transferred, not decompressed"
        )
        parser.add_argument("-o", metavar="FILE", dest="output", help="get: write to a file")

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        action, *words = args or [""]
        if action not in ACTIONS:
            raise UsageError(f"name one of the actions {', '.join(ACTIONS)}", print_help=False)
        if len(words) != 1 if action == "get" else len(words) > (action == "list"):
            wanted = {"get": "one URL", "list": "one text at most", "check": "nothing else"}
            raise UsageError(f"archive {action} takes {wanted[action]}", print_help=False)
        folders = self._folders(opts)
        if action == "list":
            places = self._counted(folders) if opts.counted else None
            for line in list_lines(
                folders, kind=opts.kind, part="".join(words), as_json=opts.json, places=places
            ):
                print(harmless_json(line) if opts.json else harmless(line))
        elif action == "check":
            self._check(folders, opts)
        else:
            self._get(folders, words[0], opts)

    def _folders(self, opts: argparse.Namespace) -> list[Path]:
        """The folder of WARC files that was named, or those of a job and of its workers."""
        if opts.job and archive_files(opts.job):
            return [Path(opts.job)]
        job = self.job_folder(opts)
        found = [folder / "warc" for folder in folders_of(job)]
        found = [folder for folder in found if archive_files(folder)]
        if not found:
            raise JobError(
                f"the crawl in {job} has archived nothing: it has fetched no page yet, "
                "or it ran with ARCHIVE_ENABLED off"
            )
        return found

    def _counted(self, folders: list[Path]) -> set[tuple[str, int]]:
        with self._table(folders) as table:
            if table is None:
                raise JobError(f"what counts is not known: there are no tables beside {folders[0]}")
            return counted_places(table)

    @contextmanager
    def _table(self, folders: list[Path]) -> Iterator[Table | None]:
        """The tables beside the WARC files as one; None where there is none."""
        with ExitStack() as stack:
            tables = [
                stack.enter_context(JobTables(folder.parent)).table(TABLE)
                for folder in folders
                if (folder.parent / "frontier").exists()
            ]
            yield JoinedTable(tables) if tables else None

    def _check(self, folders: list[Path], opts: argparse.Namespace) -> None:
        report = check(folders)
        for line in report_lines(report, as_json=opts.json):
            print(harmless_json(line) if opts.json else harmless(line))
        if not report.is_sound:
            self.exitcode = 1

    def _get(self, folders: list[Path], word: str, opts: argparse.Namespace) -> None:
        url = complete_seed(word)
        if url is None:
            raise UserError(f"{harmless(word)} is no URL")
        capture = self._find(folders, url, opts.when)
        if opts.json:
            print(json_text(about(capture)))
            return
        page = page_bytes(capture, base=opts.base, headers=opts.headers, raw=opts.raw)
        if opts.output:
            _save(Path(opts.output), page)
        elif sys.stdout.isatty() and _is_wild(page):
            raise UserError(
                f"{url} holds bytes that a terminal would obey: write it to a file (-o FILE) "
                "or into a pipe"
            )
        else:
            sys.stdout.buffer.write(page)
            sys.stdout.buffer.flush()
        print(harmless(describe(capture)), file=sys.stderr)

    def _find(self, folders: list[Path], url: str, when: str) -> Capture:
        """By the crawl's table, which says where to look, or without it."""
        assert self.settings is not None
        canonicalizer = Canonicalizer(Config(self.settings).links.drop_params)

        def fingerprint_of(text: str) -> int:
            return canonicalizer.fingerprint(normalize(text) or text)

        with self._table(folders) as table:
            return find_page(ArchiveReader(folders, table, fingerprint_of), url, when)


def about(capture: Capture) -> dict[str, Any]:
    """What is known of a capture besides the page itself, as plain data."""
    block = capture.header_block
    return {
        "url": capture.url,
        "kind": capture.kind,
        "fetched_at": warc_date(capture.fetched_at),
        "status": capture.status,
        "mime": block.mime,
        "headers": [
            [name.decode("latin-1"), value.decode("latin-1")] for name, value in block.headers
        ],
        "bytes": len(capture.payload),
        "file": capture.file,
        "offset": capture.offset,
        "payload_of": capture.original_url or None,
        "problems": list(capture.problems),
    }


def _save(path: Path, page: bytes) -> None:
    try:
        path.write_bytes(page)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from None
