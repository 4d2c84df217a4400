"""Numbers drawn from a name: the same name gives the same numbers, on any machine, for ever.

The digests of hashlib are fixed by standards, which the methods of `random` (apart from one) are
not; and one digest gives all the numbers of a page at once, which keeps a page cheap.
"""

from __future__ import annotations

from hashlib import blake2b, shake_128
from math import isqrt
from struct import unpack


def number(name: str) -> int:
    """The one 64-bit number that belongs to the name."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")


def shorts(name: str, count: int) -> tuple[int, ...]:
    """That many 16-bit numbers."""
    return unpack(f"<{count}H", shake_128(name.encode()).digest(2 * count))


def longs(name: str, count: int) -> tuple[int, ...]:
    """That many 64-bit numbers."""
    return unpack(f"<{count}Q", shake_128(name.encode()).digest(8 * count))


def below(name: str, limit: int) -> int:
    """A whole number from 0 up to, and without, the limit."""
    return (number(name) * limit) >> 64


def heavy(name: str, typical: int, limit: int) -> int:
    """A whole number of that mean, with a long tail that is cut at the limit."""
    return min(limit, (typical << 31) // (isqrt(number(name)) + 1))
