"""The text between the tags of tidy markup, with a space wherever a reader sees a gap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from webcrawler.documents.html_text import fold
from webcrawler.documents.references import text_unescaped
from webcrawler.documents.tag_kinds import (
    BODY,
    BOGUS,
    COMMENT,
    INLINE,
    LITERAL,
    SCRIPT,
    STYLE,
    A,
    kind_set,
)

if TYPE_CHECKING:
    from webcrawler.documents.tags import Tags

_MAKES_GAP: Final = ~kind_set(INLINE, LITERAL, BOGUS, COMMENT, A, SCRIPT, STYLE)
_BODY: Final = kind_set(BODY)
_SPACE: Final = ord(" ")

# From here on operations on arrays fold white space sooner than taking the words apart does.
_LONG: Final = 512
_AS_SPACES: Final = bytes(_SPACE if chr(n).isspace() and n < 128 else n for n in range(256))
# What is left to be folded where any of these stands in a text without runs of ASCII white space.
_UNFOLDED: Final = ("  ", *(chr(n) for n in range(0x3001) if chr(n).isspace() and n != _SPACE))


class MarkupText:
    """All text of a page, and where in it the tags stood."""

    def __init__(self, tags: Tags) -> None:
        self._tags = tags
        array = np.frombuffer(tags.markup, np.uint8).copy()
        # Of a tag that makes a gap its "<" is left, as a space.
        is_gap = _MAKES_GAP.take(tags.kinds)
        array[tags.starts[is_gap]] = _SPACE
        borders = np.empty(2 * tags.starts.size, np.intp)
        borders[0::2] = tags.starts + is_gap
        borders[1::2] = tags.covers + 1
        lengths = np.diff(borders, prepend=0, append=array.size)
        is_text = np.zeros(lengths.size, np.bool_)
        is_text[0::2] = True
        self.raw = array[np.repeat(is_text, lengths)].tobytes()
        self.places = np.cumsum(lengths[0::2])  # where in it each tag stood

    def between(self, begin: int, end: int) -> str:
        """The text between two of its places, white space folded."""
        return unescaped(self.raw[begin:end])

    def body(self) -> str | None:
        """What a reader sees, folded; None where only a parser knows where that begins."""
        bodies = self._tags.opening(_BODY)
        begin = int(self.places[bodies[0]]) if bodies.size else 0
        if self.raw[:begin].strip():
            return None  # text before the body begins it early
        return self.between(begin, len(self.raw))


def unescaped(raw: bytes) -> str:
    """Bytes of markup without tags as the text that they stand for, white space folded."""
    if len(raw) < _LONG:
        return fold(text_unescaped(raw.decode("utf-8", "replace")))
    text = text_unescaped(_without_runs(raw).decode("utf-8", "replace"))
    return fold(text) if any(map(text.__contains__, _UNFOLDED)) else text.strip(" ")


def _without_runs(raw: bytes) -> bytes:
    """Every run of ASCII white space as one space."""
    array = np.frombuffer(raw.translate(_AS_SPACES), np.uint8)
    is_space = array == _SPACE
    is_kept = np.ones(array.size, np.bool_)
    np.logical_and(is_space[1:], is_space[:-1], out=is_kept[1:])
    np.logical_not(is_kept[1:], out=is_kept[1:])
    return array[is_kept].tobytes()
