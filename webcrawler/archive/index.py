"""Where a URL's records lie, kept in the crawl's own store, in the commit that ends the page.

Two keys a record. The eight bytes of the URL's fingerprint lead to the latest response that was
stored in full: one read says what a page is a copy of, or unchanged from. The fingerprint with
the time behind it leads to each record, in the order of time. A table can always be thrown
away: the archive's files hold everything it says.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct, error
from typing import TYPE_CHECKING

from webcrawler.archive.dates import microseconds
from webcrawler.archive.digests import ALGORITHMS, label, parse_label
from webcrawler.archive.exchange import Original

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webcrawler.archive.exchange import Stored
    from webcrawler.archive.listing import Listed
    from webcrawler.tables import Batch, Table

TABLE = "archive"
#: The kinds of record that answer for a URL, by their place in packed entries.
KINDS = ("response", "revisit", "resource")
_LATEST = Struct(">Q")
_DATED = Struct(">QQ")
# Kind, digest algorithm, time in microseconds, offset, length; then digest and file name.
_ENTRY = Struct(">BBQQI")
_SUFFIX = ".warc.gz"
_LABELS = {number: (name, length) for name, (number, length) in ALGORITHMS.items()}


@dataclass(frozen=True, slots=True)
class Entry:
    """One record of a URL: its place, its time and its payload's digest."""

    kind: str
    fetched_at: float
    file: str
    offset: int
    length: int
    payload_digest: str

    def original(self, url: str) -> Original | None:
        """What a later exchange may call its original; None where the record is no response."""
        if self.kind != "response" or not self.payload_digest:
            return None
        return Original(url, self.fetched_at, self.payload_digest)


def latest_key(fingerprint: int) -> bytes:
    """The key of a URL's latest full response; also the prefix of all its keys."""
    return _LATEST.pack(fingerprint)


def dated_key(fingerprint: int, fetched_at: float) -> bytes:
    """The key of one record of a URL."""
    return _DATED.pack(fingerprint, microseconds(fetched_at))


def put(batch: Batch, fingerprint: int, stored: Stored) -> None:
    """Note where a URL's record lies, in the batch of its page."""
    value = pack(stored)
    batch.put(TABLE, dated_key(fingerprint, stored.fetched_at), value)
    if stored.kind == "response":
        batch.put(TABLE, latest_key(fingerprint), value)


def pack(place: Stored | Entry | Listed) -> bytes:
    """An entry's bytes."""
    digest = parse_label(place.payload_digest)
    number, value = (ALGORITHMS[digest[0]][0], digest[1]) if digest else (0, b"")
    head = _ENTRY.pack(
        KINDS.index(place.kind) if place.kind in KINDS else len(KINDS),
        number,
        microseconds(place.fetched_at),
        place.offset,
        min(place.length, 0xFFFFFFFF),  # a hint only: a member knows its own end
    )
    return b"".join((head, value, place.file.removesuffix(_SUFFIX).encode()))


def unpack(value: bytes | None) -> Entry | None:
    """The entry in a table's value; None for None and for bytes that are no entry."""
    if value is None:
        return None
    try:
        kind, algorithm, time, offset, length = _ENTRY.unpack_from(value)
        name, size = _LABELS.get(algorithm, ("", 0))
        digest = value[_ENTRY.size : _ENTRY.size + size]
        file = value[_ENTRY.size + size :].decode()
    except (error, UnicodeDecodeError):
        return None
    if kind >= len(KINDS) or len(digest) != size or not file:
        return None
    return Entry(
        kind=KINDS[kind],
        fetched_at=time / 1_000_000,
        file=file + _SUFFIX,
        offset=offset,
        length=length,
        payload_digest=label(name, digest) if name else "",
    )


def entries(rows: Iterable[tuple[bytes, bytes]]) -> list[Entry]:
    """The entries of one URL, oldest first, from the rows that begin with its `latest_key`."""
    found = (unpack(value) for key, value in rows if len(key) == _DATED.size)
    return [entry for entry in found if entry is not None]


def counted_places(table: Table) -> set[tuple[str, int]]:
    """File and offset of every record that the crawl counts.

    A record is written before its page ends. Where the page then did not end (the process died, or
    another worker has it), the record stays in its file and is not counted.
    """
    found = (unpack(value) for key, value in table.scan() if len(key) == _DATED.size)
    return {(entry.file, entry.offset) for entry in found if entry is not None}


def entry_of(record: Listed) -> Entry | None:
    """The entry of a record found in a file; None where it does not answer for a URL."""
    if record.kind not in KINDS:
        return None
    return Entry(
        kind=record.kind,
        fetched_at=record.fetched_at,
        file=record.file,
        offset=record.offset,
        length=record.length,
        payload_digest=record.payload_digest,
    )
