"""What `scrapy index build` makes an index of: pages out of archives, and links out of tables.

A crawl that made no index of its own (INDEX_ENABLED off) has archived its pages and noted their
links, but nobody has carried those links to their targets, nor noted what must not be indexed.
That is made up for here, beside the job, which is only read.
"""

from __future__ import annotations

import shutil
from collections import Counter
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

from webcrawler.archive import ArchiveReader, list_records
from webcrawler.archive.files import archive_files
from webcrawler.archive.index import entry_of
from webcrawler.documents import SITEMAP, Options, can_parse, open_document
from webcrawler.frontier.backends.rocks import RocksKV
from webcrawler.frontier.ending import EndedPage
from webcrawler.index import TABLES, IndexedPage, JoinedTable, Sequence, fold
from webcrawler.index.layout import INDEX_FATE, INLINKS, LINKS_NEW, NUMBER, TEXTS
from webcrawler.robots import parse_headers, parse_meta
from webcrawler.tables import Batch, MemoryTable
from webcrawler.urls import normalize

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence as Keys
    from pathlib import Path

    from webcrawler.archive import Capture, Listed
    from webcrawler.job_tables import JobTables
    from webcrawler.tables import Table
    from webcrawler.urls import Canonicalizer

_MAX_PAGE = 32 << 20  # bytes of a stored page that are looked at
_OPTIONS = Options(link_texts=False)  # links come from the crawl's tables
_PAGES_A_FOLD = 512
_FOLDED = (INLINKS, TEXTS)
_SCRATCH_MEMORY = 32 << 20
_GONE = (404, 410)
PAGES = "pages"  # the frontier's table of how URLs ended


class ArchivedPages:
    """The pages of one archive that belong into an index, as they are read.

    How a page ended says whether it is wanted: a copy, a page that asks not to be indexed or one
    that is gone is not. Without the crawl's tables (`tables` None) the page itself is asked.
    `counts` says what was left out and why, `done` how many of the `size` bytes were read.
    """

    def __init__(
        self,
        folder: Path,
        tables: JobTables | None,
        canonicalizer: Canonicalizer,
        agent: str,
        *,
        near_duplicates: bool = False,
    ) -> None:
        self._folder = folder
        self._ended = tables.table(PAGES) if tables is not None else None
        self._canonicalizer = canonicalizer
        self._agent = agent
        self._wanted = {"stored", "not_modified"} | (
            {"near_duplicate"} if near_duplicates else set()
        )
        self.done = 0
        self.size = sum(path.stat().st_size for path in archive_files(folder))
        self.counts: Counter[str] = Counter()

    def __iter__(self) -> Iterator[IndexedPage]:
        reader = ArchiveReader(self._folder, limit=_MAX_PAGE)
        self.done = 0
        for record in list_records(self._folder):
            self.done += record.length
            if record.kind not in ("response", "resource") or record.status not in (200, None):
                continue
            page = self._page(reader, record)
            if page is not None:
                yield page

    def _page(self, reader: ArchiveReader, record: Listed) -> IndexedPage | None:
        url = normalize(record.url)
        if url is None or not url.startswith(("http://", "https://")):
            self.counts["no URL"] += 1
            return None
        fingerprint = self._canonicalizer.fingerprint(url)
        row = self._ended.get(NUMBER.pack(fingerprint)) if self._ended is not None else None
        ended = EndedPage.unpack(row) if row is not None else None
        if ended is not None and ended.outcome not in self._wanted:
            self.counts[ended.outcome] += 1
            return None
        entry = entry_of(record)
        capture = reader.read(entry) if entry is not None else None
        if capture is None:
            self.counts["unreadable"] += 1
            return None
        return self._made(capture, url, fingerprint, ended.depth if ended is not None else 0)

    def _made(self, capture: Capture, url: str, fingerprint: int, depth: int) -> IndexedPage | None:
        block = capture.header_block
        body, _ = capture.body(_MAX_PAGE)
        document = open_document(
            body,
            url,
            block.get("content-type"),
            options=_OPTIONS,
            content_language=block.get("content-language"),
        )
        if not can_parse(document.mime) or document.mime == SITEMAP or url.endswith("/robots.txt"):
            self.counts["no text"] += 1
            return None
        tags = [value for name, value in block.headers if name.lower() == b"x-robots-tag"]
        directives = parse_headers(tags, self._agent).merge(
            parse_meta(document.robots_meta, self._agent)
        )
        if directives.forbids_index(datetime.now(UTC)):
            self.counts["noindex"] += 1
            return None
        return IndexedPage(
            fingerprint,
            url,
            document.title,
            document.text,
            document.language,
            capture.fetched_at,
            depth,
        )


class LinkTables:
    """A job's tables for an index, as if an index's thread had done its work on them.

    Links that wait to be folded are folded into a scratch store, which `close` removes; what
    became of a page is taken from its ending where no fate was noted.
    """

    def __init__(self, tables: JobTables, scratch: Path, *, near_duplicates: bool = False) -> None:
        self._scratch = scratch
        self._kv: RocksKV | None = None
        self.tables: dict[str, Table] = tables.several(TABLES)
        self.tables[INDEX_FATE] = _Fates(
            self.tables[INDEX_FATE], tables.table(PAGES), near_duplicates=near_duplicates
        )
        notes = iter(self.tables[LINKS_NEW].scan(b""))
        first = list(islice(notes, _PAGES_A_FOLD))
        if first:
            self._fold(first, notes)

    def _fold(self, chunk: list[tuple[bytes, bytes]], notes: Iterator[tuple[bytes, bytes]]) -> None:
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._kv = kv = RocksKV(self._scratch, _FOLDED, memory=_SCRATCH_MEMORY, sync_secs=0)
        sequence = Sequence()
        joined: dict[str, Table] = {
            name: JoinedTable([kv.table(name), self.tables[name]]) for name in _FOLDED
        }
        while chunk:
            waiting = MemoryTable()
            waiting.rows.update(chunk)
            batch = Batch()
            tables = {**self.tables, **joined, LINKS_NEW: waiting}
            fold(tables, batch, run=sequence.next(), limit=len(chunk))
            writes = kv.batch()
            for name, key, value in batch.writes:
                if name in _FOLDED and value is not None:
                    writes.put(key, value, kv.handle(name))
            kv.write(writes)
            chunk = list(islice(notes, _PAGES_A_FOLD))
        self.tables |= joined

    def close(self) -> None:
        if self._kv is not None:
            self._kv.close()
            self._kv = None
            shutil.rmtree(self._scratch, ignore_errors=True)


class _Fates:
    """The table of fates, completed by how pages ended."""

    def __init__(self, fates: Table, ended: Table, *, near_duplicates: bool) -> None:
        self._fates = fates
        self._ended = ended
        self._unwanted = {"duplicate", "near_duplicate", "noindex", "filtered", "redirect"}
        if near_duplicates:
            self._unwanted.discard("near_duplicate")

    def get(self, key: bytes) -> bytes | None:
        noted = self._fates.get(key)
        row = self._ended.get(key) if noted is None else None
        if row is None:
            return noted
        page = EndedPage.unpack(row)
        is_out = page.outcome in self._unwanted or page.status in _GONE
        return NUMBER.pack(page.of) if is_out else None

    def get_many(self, keys: Keys[bytes]) -> list[bytes | None]:
        return [self.get(key) for key in keys]

    def scan(self, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        return self._fates.scan(prefix)
