"""Ending: how a URL ended, and the row that remains of it."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from webcrawler.tables import Batch

if TYPE_CHECKING:
    from webcrawler.frontier.record import Record

Outcome = Literal[
    "stored",
    "duplicate",
    "near_duplicate",
    "noindex",
    "refused",
    "redirect",
    "not_modified",
    "failed",
    "filtered",
    "errand",
]
OUTCOMES: tuple[str, ...] = get_args(Outcome)
_NUMBERS = {outcome: number for number, outcome in enumerate(OUTCOMES)}
# One of our own records, for a robots.txt that was moved to another host: no URL of the crawl, and
# none of its reports.
ERRAND = "errand"
# Endings that count as a page: a document was fetched and looked at.
PAGE_OUTCOMES = frozenset({"stored", "duplicate", "near_duplicate", "noindex", "not_modified"})

# outcome, status, ended_at, depth, digest, referrer's fingerprint, fingerprint of the original
_ROW = struct.Struct("<BHdHQQQ")


@dataclass(slots=True)
class Ending:
    """A record's ending with everything that is committed together with it.

    `links` are candidates: those already known are left out by the store. `batch` carries what
    other parts keep of the page. `of` is the fingerprint of what it is a copy of.
    """

    record: Record
    outcome: str
    at: float
    status: int = 0
    digest: int = 0
    of: int = 0
    links: list[Record] = field(default_factory=list)
    batch: Batch = field(default_factory=Batch)

    def pack_row(self) -> bytes:
        record = self.record
        return (
            _ROW.pack(
                _NUMBERS[self.outcome],
                self.status,
                self.at,
                min(record.depth, 65_535),
                self.digest,
                record.via,
                self.of,
            )
            + record.url.encode()
        )


@dataclass(frozen=True, slots=True)
class EndedPage:
    """The row that remains of a URL that ended."""

    url: str
    outcome: str
    status: int
    at: float
    depth: int
    digest: int
    via: int
    of: int

    @classmethod
    def unpack(cls, data: bytes) -> EndedPage:
        outcome, status, at, depth, digest, via, of = _ROW.unpack_from(data)
        url = data[_ROW.size :].decode()
        return cls(url, OUTCOMES[outcome], status, at, depth, digest, via, of)
