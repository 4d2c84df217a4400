"""One index from everything that is at hand: the texts of archives, the links of crawls.

The new index is built beside the place where it shall be and moved there when it is whole, so that
a search meets the old one or the new one.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from heapq import merge as merge_sorted
from itertools import groupby
from typing import TYPE_CHECKING

from webcrawler.index.anchors import AnchorReader
from webcrawler.index.fulltext import DEFAULT_HEAP, FullTextIndex
from webcrawler.index.journal import IndexedPage, fate
from webcrawler.index.language import detect_language
from webcrawler.index.layout import (
    INDEX_ALIASES,
    INDEX_FATE,
    INLINKS,
    NUMBER,
    TEXTS,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from webcrawler.tables import Table

_COMMIT_PAGES = 2000


@dataclass(frozen=True, slots=True)
class Built:
    """What went into an index."""

    fetched: int
    unfetched: int
    replaced: int


def build_index(
    folder: Path,
    pages: Iterable[IndexedPage],
    tables: Sequence[Mapping[str, Table]] = (),
    *,
    with_unfetched: bool = True,
    default_language: str = "en",
    heap_bytes: int = DEFAULT_HEAP,
) -> Built:
    """Build the index of a folder anew from pages and from the tables of any number of crawls.

    Of several versions of a page the newest is taken; about 100 bytes of memory a page remember
    which that was. Pages of which a crawl says that they must not be indexed are left out.
    """
    temporary = folder.with_name(folder.name + ".new")
    shutil.rmtree(temporary, ignore_errors=True)
    together = {name: JoinedTable([each[name] for each in tables]) for name in _READ}
    reader = AnchorReader(together)
    fates = together[INDEX_FATE]
    newest: dict[int, float] = {}
    replaced = unfetched = 0
    with FullTextIndex(
        temporary, default_language=default_language, heap_bytes=heap_bytes
    ) as index:
        for page in pages:
            known = newest.get(page.fingerprint)
            if known is not None:
                replaced += 1
                if known > page.fetched_at:
                    continue
            elif fates.get(NUMBER.pack(page.fingerprint)) is not None:
                continue
            newest[page.fingerprint] = page.fetched_at
            language = detect_language(page.body, page.language)
            if language != page.language:
                page = replace(page, language=language)
            index.put(page, reader.anchors(page.fingerprint, page.url))
            if index.pending >= _COMMIT_PAGES:
                index.commit()
        if with_unfetched:
            for target in _targets(together[INLINKS]):
                if target in newest or fate(fates.get(NUMBER.pack(target))) is not None:
                    continue
                inlinks, _ = reader.inlinks(target)
                anchors = reader.weigh(inlinks)
                if inlinks is not None and inlinks.url and any(a.repeats for a in anchors):
                    index.put(IndexedPage(target, inlinks.url), anchors)
                    unfetched += 1
                    if index.pending >= _COMMIT_PAGES:
                        index.commit()
    _replace(folder, temporary)
    return Built(len(newest), unfetched, replaced)


_READ = (INLINKS, TEXTS, INDEX_FATE, INDEX_ALIASES)


class JoinedTable:
    """Tables of several crawls read as one; the first that has a key answers for it."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self._tables = tables

    def get(self, key: bytes) -> bytes | None:
        for table in self._tables:
            value = table.get(key)
            if value is not None:
                return value
        return None

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        found: list[bytes | None] = [None] * len(keys)
        for table in self._tables:
            values = table.get_many(keys)
            found = [
                old if old is not None else new for old, new in zip(found, values, strict=True)
            ]
        return found

    def scan(self, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        yield from merge_sorted(*[table.scan(prefix) for table in self._tables])


def _targets(table: JoinedTable) -> Iterator[int]:
    for target, _ in groupby(table.scan(), key=lambda row: row[0][: NUMBER.size]):
        yield NUMBER.unpack(target)[0]


def _replace(folder: Path, temporary: Path) -> None:
    old = folder.with_name(folder.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.replace(old)
    temporary.replace(folder)
    shutil.rmtree(old, ignore_errors=True)
