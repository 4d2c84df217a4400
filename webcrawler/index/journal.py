"""What is still to be done to the index: the promise that a finished page is found.

The index commits rarely, pages end all the time. So the batch of a page's ending also holds a
note of what is to be indexed (`IndexJournal.add`), and the note is deleted only after the index has
committed. A crash in between leaves the note, the next start reads it (`waiting`), and putting a
page twice leaves it once, since a put replaces.

A page that must not be in the index (noindex, a copy, gone) is noted with its fate, so that neither
its old text nor the anchors that point at it bring it back. A copy's anchors, and those of a URL
that redirects, go to the page it is a copy of.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING

from webcrawler.index.layout import (
    INDEX_ALIASES,
    INDEX_FATE,
    INDEX_NEW,
    NUMBER,
    number_key,
    pair_key,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawler.tables import Batch, Table

MAX_BODY = 200_000  # characters that are indexed of a page, and shown from
MAX_TITLE = 500

_PUT, _REMOVE = 1, 2
# kind, fingerprint, fetched at, rank, depth, lengths of: URL, title, language
_HEADER = Struct("<BQdfHHHB")
_REMOVAL = Struct("<BQQ")


@dataclass(frozen=True, slots=True)
class IndexedPage:
    """What the index knows of a page from its own text. `fetched_at` 0: known by anchors only.

    `language` is what the page declares, in any form; the index's thread finds out whether to
    believe it.
    """

    fingerprint: int
    url: str
    title: str = ""
    body: str = ""
    language: str = ""
    fetched_at: float = 0.0
    depth: int = 0
    rank: float = 0.0

    def pack(self) -> bytes:
        url = self.url.encode("utf-8", "replace")[:0xFFFF]
        title = self.title[:MAX_TITLE].encode("utf-8", "replace")
        language = self.language[:8].encode("ascii", "replace")
        return b"".join(
            (
                _HEADER.pack(
                    _PUT,
                    self.fingerprint,
                    self.fetched_at,
                    self.rank,
                    min(max(self.depth, 0), 0xFFFF),
                    len(url),
                    len(title),
                    len(language),
                ),
                url,
                title,
                language,
                self.body[:MAX_BODY].encode("utf-8", "replace"),
            )
        )

    @classmethod
    def unpack(cls, row: bytes) -> IndexedPage:
        _, fingerprint, fetched_at, rank, depth, *lengths = _HEADER.unpack_from(row)
        at = _HEADER.size
        words = []
        for length in lengths:
            words.append(row[at : at + length].decode("utf-8", "replace"))
            at += length
        url, title, language = words
        body = row[at:].decode("utf-8")
        return cls(fingerprint, url, title, body, language, fetched_at, depth, rank)


@dataclass(frozen=True, slots=True)
class Removal:
    """A page to be taken out of the index; its anchors go to `alias_of`, 0 where to none."""

    fingerprint: int
    alias_of: int = 0


@dataclass(frozen=True, slots=True)
class Note:
    """An entry of the journal: the key to delete when it is done, and what is to be done."""

    key: bytes
    work: IndexedPage | Removal


class IndexJournal:
    """Writes notes into batches of pages, and reads them back."""

    def add(self, batch: Batch, page: IndexedPage, sequence: int) -> Note:
        """Note that the page is to be in the index as it is now."""
        key = number_key(sequence)
        batch.put(INDEX_NEW, key, page.pack())
        batch.delete(INDEX_FATE, NUMBER.pack(page.fingerprint))
        return Note(key, page)

    def remove(self, batch: Batch, fingerprint: int, sequence: int, alias_of: int = 0) -> Note:
        """Note that the page is not to be in the index, whatever points at it."""
        if alias_of == fingerprint:
            alias_of = 0
        key = number_key(sequence)
        batch.put(INDEX_NEW, key, _REMOVAL.pack(_REMOVE, fingerprint, alias_of))
        batch.put(INDEX_FATE, NUMBER.pack(fingerprint), NUMBER.pack(alias_of))
        if alias_of:
            batch.put(INDEX_ALIASES, pair_key(alias_of, fingerprint), b"")
        return Note(key, Removal(fingerprint, alias_of))

    def waiting(self, table: Table) -> Iterator[Note]:
        """What was noted and not yet done, in the order it was noted: read at every start."""
        for key, row in table.scan():
            if row[0] == _REMOVE:
                _, fingerprint, alias_of = _REMOVAL.unpack(row)
                yield Note(key, Removal(fingerprint, alias_of))
            else:
                yield Note(key, IndexedPage.unpack(row))


def fate(row: bytes | None) -> int | None:
    """Where the anchors of a page go: None to itself, 0 nowhere, else to another page."""
    return None if row is None else NUMBER.unpack(row)[0]
