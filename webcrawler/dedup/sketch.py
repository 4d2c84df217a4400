"""Sketches: a text's shingles in a few hundred bytes, alike as far as the texts are alike.

The scheme is datasketch's MinHash `affine32` with its permutations, bit for bit, so that a
sketch can be handed to datasketch. What differs is how the least values are found: from hashes
that are an array already, permutation by permutation in blocks that stay in the processor's
cache, instead of in one matrix of all shingles by all permutations.

Stored are the lower 16 bits of each value. Unequal values have equal lower halves once in
65,536, which moves a similarity by less than a thousandth of its own error, and halves what
a page costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

_STORED: Final = np.dtype("<u2")
_EMPTY: Final = 0xFFFFFFFF
# A block of permuted hashes is half a megabyte; best or near it for 40 to 50,000 shingles.
_BLOCK: Final = 1 << 17
_LONGEST: Final = 1 << 13  # shingles in a block
# With its default buffer numpy (2.3 and later) copies short rows that are multiplied by a column
# into buffers first, which takes three times as long as multiplying them where they are.
_NUMPY_BUFFER: Final = 256


class Sketcher:
    """MinHash sketches of arrays of 32-bit hashes, with permutations made once."""

    def __init__(self, factors: bytes, terms: bytes) -> None:
        """With the permutations of `choose_parameters`."""
        self._factors = np.frombuffer(factors, np.uint32).reshape(-1, 1)
        self._terms = np.frombuffer(terms, np.uint32).reshape(-1, 1)
        self.permutations = self._factors.size

    @property
    def arrays(self) -> tuple[bytes, bytes]:
        """The permutations, for another process."""
        return self._factors.tobytes(), self._terms.tobytes()

    def sketch(self, shingles: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
        """The least value of every permutation over the shingles, however often each occurs."""
        least = np.full(self.permutations, _EMPTY, np.uint32)
        if shingles.size:
            buffer = np.setbufsize(_NUMPY_BUFFER)
            try:
                self._find_least(_premixed(shingles), least)
            finally:
                np.setbufsize(buffer)
        return least

    def _find_least(self, hashes: npt.NDArray[np.uint32], least: npt.NDArray[np.uint32]) -> None:
        width = min(hashes.size, _LONGEST)
        height = min(self.permutations, _BLOCK // width)
        room = np.empty((height, width), np.uint32)
        for first in range(0, self.permutations, height):
            rows = slice(first, first + height)
            factors, terms, lowest = self._factors[rows], self._terms[rows], least[rows]
            for start in range(0, hashes.size, width):
                block = hashes[start : start + width]
                permuted = room[: factors.size, : block.size]
                np.multiply(factors, block, out=permuted)
                np.add(permuted, terms, out=permuted)
                np.minimum(lowest, permuted.min(axis=1), out=lowest)


def pack(sketch: npt.NDArray[np.uint32]) -> bytes:
    """A sketch as it is stored and compared: two bytes a permutation."""
    return sketch.astype(_STORED).tobytes()


def unpack(stored: bytes) -> npt.NDArray[np.uint16]:
    """The halves of a sketch's values that are stored."""
    return np.frombuffer(stored, _STORED)


def similarity(one: bytes, other: bytes) -> float:
    """The share of permutations on which two stored sketches agree; 0.0 for unequal lengths."""
    return similarities(one, [other])[0]


def similarities(one: bytes, others: Sequence[bytes]) -> list[float]:
    """The similarities of one stored sketch to many."""
    length = len(one)
    fitting = [other if len(other) == length else b"\0" * length for other in others]
    table = np.frombuffer(b"".join(fitting), _STORED).reshape(len(others), -1)
    agreements = np.count_nonzero(table == unpack(one), axis=1)
    found = (agreements / (length // _STORED.itemsize)).tolist()
    return [
        value if len(other) == length else 0.0 for value, other in zip(found, others, strict=True)
    ]


def _premixed(hashes: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """MurmurHash3's finalizer, which `affine32` applies before its permutations."""
    mixed = hashes ^ (hashes >> np.uint32(16))
    mixed *= np.uint32(0x85EBCA6B)
    mixed ^= mixed >> np.uint32(13)
    mixed *= np.uint32(0xC2B2AE35)
    mixed ^= mixed >> np.uint32(16)
    return mixed
