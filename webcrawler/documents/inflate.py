"""Gzip, decompressed no further than asked for."""

from __future__ import annotations

import zlib
from typing import NamedTuple

GZIP_MAGIC = b"\x1f\x8b\x08"

_GZIP_WINDOW = 31  # zlib's word for: expect a gzip header
_STEP = 1 << 20


class Inflated(NamedTuple):
    """What came out. `is_whole` is false if it was cut at the limit, or is damaged or cut off."""

    data: bytes
    is_whole: bool


def inflate(body: bytes, limit: int) -> Inflated:
    """At most `limit` bytes of a gzip body, all members; of a damaged one what can be had."""
    parts: list[bytes] = []
    room = limit
    while body.startswith(GZIP_MAGIC):
        member = zlib.decompressobj(_GZIP_WINDOW)
        while not member.eof:
            try:
                part = member.decompress(body, min(room, _STEP) if room else 1)
            except zlib.error:
                return Inflated(b"".join(parts), False)
            if not room and part:
                return Inflated(b"".join(parts), False)
            parts.append(part)
            room -= len(part)
            body = member.unconsumed_tail
            if not part and not body and not member.eof:
                return Inflated(b"".join(parts), False)  # the body ends before the member does
        body = member.unused_data
    return Inflated(b"".join(parts), True)
