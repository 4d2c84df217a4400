"""Shingles: every run of a few consecutive words of a text, each as one 32-bit hash.

A text becomes an array of code points and stays an array: a word's hash is a polynomial in
its letters' values, summed for all words at once. Splitting the text in Python and hashing the
words by xxhash with a cache takes three times as long, and for Greek six times; and there is
no cache that hostile pages could fill.

A word is a run of letters, marks, digits and underscores, in small letters. Scripts that are
written without spaces (Chinese, Japanese, Thai, Lao, Khmer, Myanmar) have no such runs: there,
every character begins a word of up to three characters, so that a shingle of four words is
a window of six characters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from xxhash import xxh3_64_digest

from webcrawler.dedup.characters import (
    FIRST_UNSPACED,
    IGNORED,
    LETTER,
    SOFT_HYPHEN,
    UNSPACED,
    characters,
)

if TYPE_CHECKING:
    import numpy.typing as npt

_MASK: Final = (1 << 64) - 1
_BASE: Final = 0xD1342543DE82EF95
_INVERSE: Final = pow(_BASE, -1, 1 << 64)
# Weights of a character's neighbours in an unspaced word, and the seed of a shingle's weights.
_SECOND: Final = np.uint64(0xA0761D6478BD642F)
_THIRD: Final = np.uint64(0xE7037ED1A0B428DB)
_WEIGHT: Final = 0x8EBC6AF09C88C6E3


class Shingler:
    """Words and shingles of texts; equal texts give equal hashes on every machine.

    Of a longer text only the first `max_characters` count: two books that begin alike for
    so long are called alike. Memory is bounded by it too, at about 40 bytes a character.
    """

    def __init__(self, size: int = 4, max_characters: int = 500_000) -> None:
        if size < 1 or max_characters < 1:
            raise ValueError(f"shingle size {size}, max_characters {max_characters}: at least 1")
        self.size = size
        self.max_characters = max_characters
        self._kinds, self._values = characters()
        self._weights = [np.uint64(_WEIGHT ** (2 * i + 1) & _MASK) for i in range(size)]
        self._powers = self._inverses = np.ones(1, np.uint64)

    def words(self, text: str) -> npt.NDArray[np.uint64]:
        """The hashes of a text's words, in order."""
        text = text[: self.max_characters]
        if SOFT_HYPHEN in text:
            text = text.replace(SOFT_HYPHEN, "")
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
        if not codes.size:
            return np.empty(0, np.uint64)
        values = self._values.take(codes, mode="clip")
        begins = None
        if codes.max() >= FIRST_UNSPACED:
            values, begins = self._unspaced(codes, values)
        if begins is None:
            inside = values != 0
            begins = inside.copy()
            begins[1:] &= ~inside[:-1]
        starts = np.flatnonzero(begins)
        if not starts.size:
            return np.empty(0, np.uint64)
        # Each word is weighted as if it began at position 0: times the power of its characters'
        # positions, divided by that of its own. Gaps have the value 0 and add nothing.
        self._grow(values.size)
        values *= self._powers[: values.size]
        words: npt.NDArray[np.uint64] = np.add.reduceat(values, starts)
        words *= self._inverses.take(starts)
        return words

    def shingles(self, words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint32]:
        """The hashes of all runs of `size` words; empty where there are fewer words."""
        count = words.size - self.size + 1
        if count < 1:
            return np.empty(0, np.uint32)
        sums = words[:count] * self._weights[0]
        for i in range(1, self.size):
            sums += words[i : i + count] * self._weights[i]
        sums >>= np.uint64(32)
        return sums.astype(np.uint32)

    def exact(self, words: npt.NDArray[np.uint64]) -> bytes:
        """Eight bytes, equal for texts of the same words in the same order."""
        return xxh3_64_digest(words.astype("<u8", copy=False).tobytes())

    def _unspaced(
        self, codes: npt.NDArray[np.uint32], values: npt.NDArray[np.uint64]
    ) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_] | None]:
        """Values and word beginnings of a text that may have unspaced or ignored characters.

        The beginnings are None where the text turned out to have no unspaced ones.
        """
        kinds = self._kinds.take(codes, mode="clip")
        highest = kinds.max()
        if highest == IGNORED:
            kept = kinds != IGNORED
            kinds, values = kinds[kept], values[kept]
            highest = kinds.max(initial=0)
        if highest < UNSPACED:
            return values, None
        unspaced = kinds == UNSPACED
        pairs = unspaced[:-1] & unspaced[1:]
        triples = pairs[:-1] & unspaced[2:]
        grams = values.copy()
        grams[:-1] += values[1:] * pairs * _SECOND
        grams[:-2] += values[2:] * triples * _THIRD
        letters = kinds == LETTER
        begins = letters.copy()
        begins[1:] &= ~letters[:-1]
        begins |= unspaced
        return grams, begins

    def _grow(self, size: int) -> None:
        """Have the base's powers up to a position; they double, up to `max_characters`."""
        if size <= self._powers.size:
            return
        length = min(max(size, 2 * self._powers.size, 1 << 14), self.max_characters)
        powers = np.full(length, _BASE, np.uint64)
        inverses = np.full(length, _INVERSE, np.uint64)
        powers[0] = inverses[0] = 1
        # Inverses first: another thread that sees the longer powers sees these as well.
        self._inverses = np.cumprod(inverses)
        self._powers = np.cumprod(powers)
