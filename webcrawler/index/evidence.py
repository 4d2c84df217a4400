"""How specific a text is: what tells "click here" from the name of a page, in any language.

Two things are counted. For how many targets a site uses a text: one that stands for hundreds of
them says nothing of each. And how many sites use it at all: what every site says ("contact",
"terms"), each of another page, is furniture. Both are sets of which only the size matters, kept as
256 bits a set: filling them twice changes nothing, so folding again after a crash does no harm, and
above a thousand the logarithm that is taken of the count hardly moves.

Only texts that were met with several targets in one fold are written; the others, nearly all,
need no row to be known as specific.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from xxhash import xxh3_64_intdigest

from webcrawler.index.layout import PAGE

if TYPE_CHECKING:
    from collections.abc import Iterable

_BITS = 256
_BYTES = _BITS // 8
_EVERYWHERE = 0


def normal_text(text: str) -> str:
    """The form in which texts are compared: case, quotes, arrows and brackets do not matter."""
    folded = text.casefold()
    if folded[:1].isalnum() and folded[-1:].isalnum():
        return folded
    start, end = 0, len(folded)
    while start < end and not folded[start].isalnum():
        start += 1
    while end > start and not folded[end - 1].isalnum():
        end -= 1
    return folded[start:end]


def text_hash(normal: str) -> int:
    """What a text in its normal form is known by in keys."""
    return xxh3_64_intdigest(normal.encode("utf-8", "replace"))


def targets_key(text: int, site: int) -> bytes:
    """Where it is kept for how many targets a site uses a text."""
    return PAGE.pack(site, text)


def sites_key(text: int) -> bytes:
    """Where it is kept how many sites use a text."""
    return PAGE.pack(_EVERYWHERE, text)


def site_of(key: bytes) -> int:
    """The site whose use of a text a key is of; 0 for all."""
    site: int = PAGE.unpack(key)[0]
    return site


def fill(row: bytes | None, members: Iterable[int]) -> bytes:
    """The row with these members in its set."""
    bits = int.from_bytes(row, "little") if row else 0
    for member in members:
        bits |= 1 << (member % _BITS)
    return bits.to_bytes(_BYTES, "little")


def size(row: bytes | None) -> float:
    """About how many members a set has; 1 where nothing is known against a text."""
    if not row:
        return 1.0
    empty = _BITS - int.from_bytes(row, "little").bit_count()
    return -_BITS * math.log(max(empty, 0.5) / _BITS)
