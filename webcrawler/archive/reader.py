"""A stored page, found by its URL and put together again.

With the crawl's table a page is one or two reads away. Without it, or where the table does not
fit the files (moved, recovered, from elsewhere), the files are gone through record by record.
A revisit record holds no payload: it is looked up in the record it refers to.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from webcrawler.archive.dates import microseconds, parse_warc_date
from webcrawler.archive.files import find_file
from webcrawler.archive.http import HeaderBlock, decode_content, parse_header_block, unchunk
from webcrawler.archive.index import dated_key, entries, entry_of, latest_key, unpack
from webcrawler.archive.listing import has_http, list_records
from webcrawler.archive.members import BrokenMember, Member
from webcrawler.archive.record import NOT_MODIFIED
from webcrawler.urls import Canonicalizer, normalize

if TYPE_CHECKING:
    from collections.abc import Callable

    from webcrawler.archive.files import Folders
    from webcrawler.archive.index import Entry
    from webcrawler.tables import Table

#: How many bytes of a page are read into memory, and made of it by decoding.
MAX_PAGE = 256 << 20
#: The problem of a revisit whose payload is nowhere to be found.
NO_ORIGINAL = "no-original"
_MAX_STEPS = 4
_canonicalizer = Canonicalizer()


@dataclass(frozen=True, slots=True)
class Capture:
    """One archived answer of a URL.

    `payload` is the body as transferred, with the chunked transfer encoding taken off;
    `original_url` and `original_at` say where it was found when the record itself is a revisit.
    `problems` are short names of what is not as it should be; a page with problems is what could
    be had of it.
    """

    kind: str
    url: str
    fetched_at: float
    file: str
    offset: int
    header_block: HeaderBlock
    payload: bytes
    profile: str = ""
    original_url: str = ""
    original_at: float | None = None
    problems: tuple[str, ...] = ()

    @property
    def status(self) -> int | None:
        """The HTTP status, None where the record holds none."""
        return self.header_block.status

    def body(self, limit: int = MAX_PAGE) -> tuple[bytes, tuple[str, ...]]:
        """The body with its content encodings taken off, and the names of what went wrong."""
        encodings = self.header_block.get_all("content-encoding")
        return decode_content(self.payload, encodings, limit)


def fingerprint(url: str) -> int:
    """The fingerprint by which records are found unless the crawl uses another."""
    return _canonicalizer.fingerprint(normalize(url) or url)


class ArchiveReader:
    """Finds pages in an archive's folder or folders, by the crawl's table where there is one.

    `fingerprint_of` must be the one the table was written with. Nothing raises but StoreError,
    when the folder itself cannot be read.
    """

    def __init__(
        self,
        folder: Folders,
        table: Table | None = None,
        fingerprint_of: Callable[[str], int] = fingerprint,
        limit: int = MAX_PAGE,
    ) -> None:
        self._folder = folder
        self._table = table
        self._fingerprint_of = fingerprint_of
        self._limit = limit

    def get(self, url: str, when: float | None = None) -> Capture | None:
        """The latest answer of a URL, or the one nearest to a time; None when there is none.

        Captures whose payload cannot be found are passed over for others, and given only when
        there is no better.
        """
        wanted = self._fingerprint_of(url)
        found: Capture | None = None
        if self._table is not None:
            rows = self._table.scan(latest_key(wanted))
            found = self._best(entries(rows), wanted, when)
        if found is None or NO_ORIGINAL in found.problems:
            known = _scan(self._folder, lambda other: self._fingerprint_of(other) == wanted)
            found = self._best(known, wanted, when) or found
        return found

    def read(self, entry: Entry) -> Capture | None:
        """The record at an entry's place, as it is; None where there is no such record."""
        path = find_file(self._folder, entry.file)
        if path is None:
            return None
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except OSError:
            return None
        try:
            return _capture(Member(descriptor, entry.offset), entry.file, self._limit)
        except (BrokenMember, OSError):
            return None
        finally:
            os.close(descriptor)

    def resolve(self, revisit: Capture) -> Capture:
        """A revisit with the payload of what it refers to; with a problem where that is missing."""
        original = revisit
        for _ in range(_MAX_STEPS):
            found = self._find_original(original.original_url, original.original_at)
            if found is None:
                break
            original = found
            if original.kind != "revisit":
                # A 304 has no headers to speak of: its page has those it was once sent with.
                is_unchanged = revisit.profile == NOT_MODIFIED
                return replace(
                    revisit,
                    header_block=original.header_block if is_unchanged else revisit.header_block,
                    payload=original.payload,
                    original_url=original.url,
                    original_at=original.fetched_at,
                    problems=original.problems,
                )
        return replace(revisit, problems=(NO_ORIGINAL,))

    def _best(self, known: list[Entry], wanted: int, when: float | None) -> Capture | None:
        """The first capture that can be read whole; without one, the first of the others."""
        second_best: Capture | None = None
        if when is None:
            known.sort(key=lambda entry: entry.fetched_at, reverse=True)
        else:
            known.sort(key=lambda entry: abs(entry.fetched_at - when))
        for entry in known:
            capture = self.read(entry)
            # A fingerprint may be shared, and a file may have been exchanged: the record decides.
            if capture is None or self._fingerprint_of(capture.url) != wanted:
                continue
            if capture.kind == "revisit":
                capture = self.resolve(capture)
            if NO_ORIGINAL not in capture.problems:
                return capture
            second_best = second_best or capture
        return second_best

    def _find_original(self, url: str, fetched_at: float | None) -> Capture | None:
        if not url or fetched_at is None:
            return None
        if self._table is not None:
            key = dated_key(self._fingerprint_of(url), fetched_at)
            entry = unpack(self._table.get(key))
            capture = self.read(entry) if entry is not None else None
            if capture is not None and capture.url == url:
                return capture
        time = microseconds(fetched_at)
        for entry in _scan(self._folder, lambda other: other == url):
            if microseconds(entry.fetched_at) == time:
                return self.read(entry)
        return None


def get(
    folder: Folders,
    url: str,
    when: float | None = None,
    table: Table | None = None,
    fingerprint_of: Callable[[str], int] = fingerprint,
) -> Capture | None:
    """The latest answer of a URL, or the one nearest to a time; None when there is none."""
    return ArchiveReader(folder, table, fingerprint_of).get(url, when)


def _scan(folder: Folders, is_wanted: Callable[[str], bool]) -> list[Entry]:
    """The entries of all records whose URL is wanted, from the files themselves."""
    found = []
    for record in list_records(folder):
        if record.url and is_wanted(record.url):
            entry = entry_of(record)
            if entry is not None:
                found.append(entry)
    return found


def _capture(member: Member, file: str, limit: int) -> Capture | None:
    """What a record holds, its payload unchunked; None when it holds no answer."""
    fields = member.fields
    kind = fields.get("warc-type", "")
    if kind not in ("response", "revisit", "resource"):
        return None
    block, problems = _read_block(member, limit)
    header_block = HeaderBlock(b"", (), 0)
    if has_http(member):
        parsed = parse_header_block(block)
        if parsed is None and block:
            problems = (*problems, "no-http-head")
        header_block = parsed or header_block
    payload = block[header_block.length :]
    if "chunked" in header_block.get_all("transfer-encoding")[-1:] and payload:
        payload, is_whole = unchunk(payload)
        if not is_whole:
            problems = (*problems, "broken-chunks")
    return Capture(
        kind=kind,
        url=fields.get("warc-target-uri", "").strip("<>"),
        fetched_at=parse_warc_date(fields.get("warc-date", "")) or 0.0,
        file=file,
        offset=member.offset,
        header_block=header_block,
        payload=payload,
        profile=fields.get("warc-profile", ""),
        original_url=fields.get("warc-refers-to-target-uri", "").strip("<>"),
        original_at=parse_warc_date(fields.get("warc-refers-to-date", "")),
        problems=problems,
    )


def _read_block(member: Member, limit: int) -> tuple[bytes, tuple[str, ...]]:
    """A record's block as far as it goes, at most `limit` bytes, and what is wrong with it."""
    left = min(member.content_length, limit)
    pieces = []
    try:
        while left > 0 and (piece := member.read(min(left, 1 << 20))):
            pieces.append(piece)
            left -= len(piece)
        if member.content_length > limit:
            return b"".join(pieces), ("page-too-large",)
        if left:
            return b"".join(pieces), ("short-record",)
        member.end()  # compares the checksum
    except BrokenMember as error:
        return b"".join(pieces), (error.problem,)
    return b"".join(pieces), ()
