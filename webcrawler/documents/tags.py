"""The tags of a page, and their attributes, which are read when somebody asks for them."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from webcrawler.documents.references import attribute_unescaped
from webcrawler.documents.tag_kinds import NOSCRIPT, kind_set

if TYPE_CHECKING:
    from collections.abc import Iterator

Positions = npt.NDArray[np.intp]

_NAME = re.compile(r"[^\t\n\f />]*+")
_ATTRIBUTE = re.compile(
    r"([^\t\n\f />][^\t\n\f />=]*+)"
    r"(?:[\t\n\f ]*+=[\t\n\f ]*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\t\n\f >\"'][^\t\n\f >]*+)))?+"
)
_SHORT_TAG: Final = 512


def where(condition: npt.NDArray[np.bool_]) -> Positions:
    """np.flatnonzero without its detours, which take longer than a page's hundred tags."""
    return condition.nonzero()[0]


class Element(NamedTuple):
    """As much of a parent element as anybody asks for."""

    tag: str


class Tag:
    """An opening tag, with as much of a tree's element as reading its attributes needs."""

    __slots__ = ("_attributes", "_number", "_tags", "tag")

    def __init__(self, tags: Tags, number: int) -> None:
        self._tags = tags
        self._number = number
        text = tags.markup[tags.starts[number] : tags.ends[number]]
        read = _read_short if len(text) <= _SHORT_TAG else _read
        self.tag, self._attributes = read(text)

    def getattr(self, name: str, default: str | None = None) -> str | None:
        """The value of an attribute; the first of a name counts."""
        return self._attributes.get(name, default)

    @property
    def parent(self) -> Element | None:
        """Only whether it is a noscript element."""
        return Element("noscript") if self._tags.is_in_noscript(self._number) else None


def _read(tag: bytes) -> tuple[str, dict[str, str]]:
    """The name and the attributes of a tag, of which the last ">" is cut off."""
    text = tag.decode("utf-8", "replace")
    name = _NAME.match(text, 1)
    assert name is not None  # the pattern matches anything
    attributes: dict[str, str] = {}
    for key, *values in _ATTRIBUTE.findall(text, name.end()):
        attributes.setdefault(key.lower(), attribute_unescaped("".join(values)))
    return name[0].lower(), attributes


# The head and the navigation of a site's pages are made of the same tags.
_read_short = lru_cache(maxsize=2_048)(_read)


class Tags:
    """The tags of a page in order: where each begins and ends, and what it is.

    `covers` is where what belongs to a tag ends: the tag itself, or the raw text behind it.
    `title` is what stands in the first title element.
    """

    def __init__(
        self,
        markup: bytes,
        starts: Positions,
        ends: Positions,
        covers: Positions,
        kinds: npt.NDArray[np.uint8],
        is_closing: npt.NDArray[np.bool_],
        title: bytes,
    ) -> None:
        self.markup = markup
        self.starts = starts
        self.ends = ends
        self.covers = covers
        self.kinds = kinds
        self.is_closing = is_closing
        self.title = title

    def opening(self, kinds: npt.NDArray[np.bool_]) -> Positions:
        """The numbers of the opening tags of some kinds (see `kind_set`)."""
        return where(kinds.take(self.kinds) & ~self.is_closing)

    def tags(self, name: str, kind: int) -> Iterator[Tag]:
        """The opening tags of a name, which is of that kind."""
        for number in self.opening(kind_set(kind)).tolist():
            tag = Tag(self, number)
            if tag.tag == name:
                yield tag

    def is_in_noscript(self, number: int) -> bool:
        """Whether a tag stands between the two tags of a noscript element."""
        noscripts = self._noscripts
        after = int(np.searchsorted(noscripts, number))
        if not 0 < after < noscripts.size:
            return False
        is_closed_before, is_closed_after = self.is_closing[noscripts[after - 1 : after + 1]]
        return bool(is_closed_after and not is_closed_before)

    @cached_property
    def _noscripts(self) -> Positions:
        return where(self.kinds == NOSCRIPT)
