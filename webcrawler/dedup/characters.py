"""What each character is to a shingle: part of a word, a word of its own, nothing, or a gap.

Whole texts are turned into arrays of code points and looked up in two tables, so that
no Python code runs for a character or a word. The tables cover planes 0 to 3, where all scripts
are; higher code points are gaps, which `take(..., mode="clip")` finds in the last entry.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

GAP, LETTER, UNSPACED, IGNORED = range(4)

# Below this code point nothing is UNSPACED or IGNORED, but the soft hyphen ought to be.
FIRST_UNSPACED: Final = 0x0E00
SOFT_HYPHEN: Final = "\u00ad"

_COVERED: Final = 0x40000
_LISTED: Final = 0x20000  # from here to _COVERED all is Chinese

# Scripts written without spaces between words.
_UNSPACED_RANGES: Final = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19FF),  # Tai Le, New Tai Lue, Khmer symbols
    (0x1A20, 0x1AAF),  # Tai Tham
    (0x2E80, 0x2FDF),  # radicals
    (0x3005, 0x3007),  # ideographic iteration mark, closing mark, zero
    (0x3021, 0x312F),  # Hangzhou numerals, Hiragana, Katakana, Bopomofo
    (0x31A0, 0x31FF),  # extended Bopomofo, Katakana
    (0x3400, 0x4DBF),  # Chinese
    (0x4E00, 0xA4CF),  # Chinese, Yi
    (0xA9E0, 0xA9FF),  # Myanmar
    (0xAA60, 0xAADF),  # Myanmar, Tai Viet
    (0xF900, 0xFAFF),  # Chinese, compatibility
    (0xFF66, 0xFF9F),  # Katakana, half width
    (0x1AFF0, 0x1B16F),  # Kana supplements
)


class Characters(NamedTuple):
    """`kinds` (uint8) and `values` by code point.

    A value is 64 random-looking bits, the same for a letter's cases and always the same; it is
    0 exactly for gaps and ignored characters.
    """

    kinds: npt.NDArray[np.uint8]
    values: npt.NDArray[np.uint64]


@cache
def characters() -> Characters:
    """The tables, built on first use (about 50 ms, 2.4 MB)."""
    kinds = np.zeros(_COVERED + 1, np.uint8)
    text = "".join(map(chr, range(_LISTED)))
    for word in re.finditer(r"\w+", text):
        kinds[word.start() : word.end()] = LETTER
    for code in np.flatnonzero(kinds[:_LISTED] == GAP).tolist():
        category = unicodedata.category(text[code])
        if category[0] == "M":  # vowel signs and accents: \w leaves them out
            kinds[code] = LETTER
        elif category == "Cf" and code >= FIRST_UNSPACED:  # invisible joiners, direction marks
            kinds[code] = IGNORED
    kinds[0xFE00:0xFE10] = IGNORED  # how to draw the character before
    kinds[_LISTED:_COVERED] = LETTER
    for first, last in (*_UNSPACED_RANGES, (_LISTED, _COVERED - 1)):
        block = kinds[first : last + 1]
        block[block == LETTER] = UNSPACED

    folded = np.arange(_COVERED + 1, dtype=np.uint64)
    # One character for one: the only one whose small letter is two characters goes first,
    # and the sigma that looks otherwise at a word's end comes back to the usual one.
    small = text.replace("\u0130", "i").lower().replace("\u03c2", "\u03c3")
    folded[:_LISTED] = np.frombuffer(small.encode("utf-32-le", "surrogatepass"), "<u4")
    values = _mixed(folded)
    values[(kinds == GAP) | (kinds == IGNORED)] = 0
    return Characters(kinds, values)


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The splitmix64 sequence at these numbers: a fixed bijection that spreads them."""
    state = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: npt.NDArray[np.uint64] = state ^ (state >> np.uint64(31))
    return mixed
