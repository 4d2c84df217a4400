"""RobotsEntry: what is remembered of one authority's robots.txt, and its bytes in the store."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from enum import IntEnum
from math import isfinite

from webcrawler.robots.corrections import BODY_LIMIT
from webcrawler.robots.rules import RobotsRules

# Version, kind, status, fetched_at, expires_at, unreachable_since (NaN: it is not), and the
# lengths of detail and problems, which precede the compressed body.
_HEADER = struct.Struct("<BBHdddBB")
_VERSION = 1
_TEXT_LIMIT = 255
_BODY_CEILING = 16 * BODY_LIMIT


class EntryKind(IntEnum):
    """How an authority's robots.txt stands. The numbers are stored: never change one."""

    RULES = 1
    ALLOW_ALL = 2
    DISALLOW_ALL = 3


@dataclass(frozen=True, slots=True)
class RobotsEntry:
    """The state of one authority's robots.txt. Times are seconds since the epoch.

    `fetched_at` is when the rules (or the refusal) were last had from the server, `expires_at`
    when they have to be asked for again. `unreachable_since` is when the first of the failures
    that have lasted until now was met, None while the server answers. `status` is the last
    answer's, 0 where there was none, `detail` the last failure in a few words. `body` is
    compact: the lines that mean something.
    """

    kind: EntryKind
    fetched_at: float
    expires_at: float
    unreachable_since: float | None = None
    status: int = 0
    detail: str = ""
    problems: tuple[str, ...] = ()
    body: bytes = b""

    def is_fresh(self, now: float) -> bool:
        # A time in the future of the fetch by a clock that was wrong must not last for ever.
        return self.fetched_at <= now + 60.0 and now < self.expires_at

    def rules(self) -> RobotsRules:
        """The rules to obey while this entry stands."""
        if self.kind is EntryKind.RULES:
            return RobotsRules(self.body, self.problems)
        if self.kind is EntryKind.ALLOW_ALL:
            return RobotsRules.allow_all()
        return RobotsRules.disallow_all()

    def pack(self) -> bytes:
        """The entry as bytes for a store; `unpack` reads them."""
        detail = self.detail.encode("utf-8", "replace")[:_TEXT_LIMIT]
        problems = " ".join(self.problems).encode("ascii", "replace")[:_TEXT_LIMIT]
        since = float("nan") if self.unreachable_since is None else self.unreachable_since
        status = self.status if 0 <= self.status <= 0xFFFF else 0
        header = _HEADER.pack(
            _VERSION,
            self.kind,
            status,
            self.fetched_at,
            self.expires_at,
            since,
            len(detail),
            len(problems),
        )
        return b"".join((header, detail, problems, zlib.compress(self.body, 6)))

    @classmethod
    def unpack(cls, raw: bytes) -> RobotsEntry | None:
        """The entry in these bytes; None where they are damaged or of another version."""
        try:
            version, kind, status, fetched_at, expires_at, since, detail_size, problems_size = (
                _HEADER.unpack_from(raw)
            )
            if version != _VERSION or not (isfinite(fetched_at) and isfinite(expires_at)):
                return None
            start = _HEADER.size
            detail = raw[start : start + detail_size].decode("utf-8", "replace")
            start += detail_size
            problems = raw[start : start + problems_size].decode("ascii", "replace")
            start += problems_size
            inflater = zlib.decompressobj()
            body = inflater.decompress(raw[start:], _BODY_CEILING)
            if not inflater.eof:
                return None
            return cls(
                EntryKind(kind),
                fetched_at,
                expires_at,
                since if isfinite(since) else None,
                status,
                detail,
                tuple(problems.split()),
                body,
            )
        except (struct.error, zlib.error, ValueError):
            return None
