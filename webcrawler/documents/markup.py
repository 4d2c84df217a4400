"""Tidy markup: its tags, found without a parser.

Nearly all pages are tidy enough to be read like this: no "<" or ">" inside of attributes, comments
and raw texts (scripts, style sheets) that end, links that are closed before the next one begins.
There a tag is what stands between a "<" and the next ">", and all tags of a page are found by a
few operations on arrays, in a fraction of the time that a parser takes to make a tree of them.
What the standard's tree construction adds, elements that are implied, moved or cloned, says
nothing to a crawler.

`find_tags` refuses what it might not read as a browser does; the parser reads that. Its time is
linear in the page, whatever stands in it: there is no tree to be exhausted.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from webcrawler.documents.references import attribute_unescaped
from webcrawler.documents.tag_kinds import (
    AREA,
    BASE,
    COMMENT,
    FOREIGN,
    GAP,
    IFRAME,
    IMG,
    LINK,
    LITERAL,
    META,
    NOSCRIPT,
    SCRIPT,
    SELECT,
    STYLE,
    TEXTAREA,
    TITLE,
    UNUSUAL,
    A,
    kind_set,
    kinds_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

Positions = npt.NDArray[np.intp]

# Arrays take up to 60 bytes for each mark. What has more is left to the parser and its pieces.
_MOST_BYTES: Final = 4 << 20
_MOST_MARKS: Final = 1 << 19
_MOST_ODD: Final = 10_000  # comments, raw texts, tags with apostrophes: looked at one by one

_LESS, _GREATER, _QUOTE, _APOSTROPHE = b"<>\"'"
_PADDING: Final = b"\n" * 8

_RAW_NAMES: Final = {
    SCRIPT: b"script",
    STYLE: b"style",
    TITLE: b"title",
    TEXTAREA: b"textarea",
    IFRAME: b"iframe",
}
_MAY_HIDE: Final = kind_set(COMMENT, *_RAW_NAMES)
_IS_FORBIDDEN_IN_SELECT: Final = kind_set(A, AREA, BASE, IFRAME, IMG, LINK, META)

_NAME_ENDS: Final = frozenset(b"\t\n\f />")
_NAME = re.compile(r"[^\t\n\f />]*+")
_COMMENT_END = re.compile(rb"--!?>")
# A tag whose quotation marks stand where they should.
_QUOTED_TAG = re.compile(
    rb"<[^\t\n\f />\"'<]++"
    rb"(?:[\t\n\f /]++|[^\t\n\f />=\"'<]++(?:[\t\n\f ]*+=[\t\n\f ]*+"
    rb"(?:\"[^\"<>]*+\"|'[^'<>]*+'|[^\t\n\f >\"'<=`][^\t\n\f >\"'<]*+))?+)*+>"
)
_ATTRIBUTE = re.compile(
    r"([^\t\n\f />][^\t\n\f />=]*+)"
    r"(?:[\t\n\f ]*+=[\t\n\f ]*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\t\n\f >\"'][^\t\n\f >]*+)))?+"
)
_SHORT_TAG: Final = 512


def _where(condition: npt.NDArray[np.bool_]) -> Positions:
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
        tags = self._tags
        is_before = _where(tags.kinds[: self._number] == NOSCRIPT)
        is_within = is_before.size and not tags.is_closing[is_before[-1]]
        return Element("noscript") if is_within else None


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
_read_short = lru_cache(maxsize=4_096)(_read)


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
        return _where(kinds.take(self.kinds) & ~self.is_closing)

    def tags(self, name: str, kind: int) -> Iterator[Tag]:
        """The opening tags of a name, which is of that kind."""
        for number in self.opening(kind_set(kind)).tolist():
            tag = Tag(self, number)
            if tag.tag == name:
                yield tag


class _Hidden:
    """What looks like markup and is none: comments, and the content of elements of raw text."""

    def __init__(self) -> None:
        self.begins: list[int] = []
        self.ends: list[int] = []
        self.raw: list[tuple[int, int]] = []  # (start of the tag, end of its content)
        self.title = b""

    def find(
        self,
        markup: bytes,
        starts: Positions,
        kinds: npt.NDArray[np.uint8],
        is_closing: npt.NDArray[np.bool_],
    ) -> bool:
        """Whether all of it could be told."""
        numbers = _where(_MAY_HIDE.take(kinds) & ~is_closing)
        if numbers.size > _MOST_ODD:
            return False
        foreign = _where(kinds == FOREIGN)
        foreign_at = int(starts[foreign[0]]) if foreign.size else len(markup)
        if foreign.size and b"<![CDATA[" in markup:
            return False
        position, has_title = 0, False
        for number, start in zip(numbers.tolist(), starts[numbers].tolist(), strict=True):
            if start < position:
                continue  # within what is hidden itself
            kind = int(kinds[number])
            if kind == COMMENT:
                closing = _COMMENT_END.search(markup, start + 2)
                if closing is None:
                    return False
                position = closing.end()
                self._add(start + 1, position - 1)
                continue
            name, inner = _RAW_NAMES[kind], markup.find(b">", start) + 1
            if not _is_named(markup, start + 1, name):
                kinds[number] = GAP
                continue
            end = _find_closing(markup, inner, name) if inner else None
            if end is None:
                return False
            is_odd = start > foreign_at or kind == TEXTAREA or (kind == TITLE and has_title)
            if is_odd and (b"<" in markup[inner:end] or markup[inner - 2] == ord("/")):
                return False
            if kind == SCRIPT and b"<!--" in markup[inner:end]:
                return False  # such a script may hold another one
            if kind == TITLE and (not is_odd or not self.title):
                # That of a drawing only where there is no other.
                self.title, has_title = markup[inner:end], not is_odd
            if kind not in (TITLE, TEXTAREA) or not is_odd:
                self._add(inner, end)
                self.raw.append((start, end - 1))
                position = end
        return True

    def _add(self, begin: int, end: int) -> None:
        self.begins.append(begin)
        self.ends.append(end)

    def leave(self, marks: Positions) -> npt.NDArray[np.bool_]:
        """Which marks are not hidden."""
        is_left = np.ones(marks.size, np.bool_)
        first, last = np.searchsorted(marks, (self.begins, self.ends))
        for begin, end in zip(first.tolist(), last.tolist(), strict=True):
            is_left[begin:end] = False
        return is_left


def find_tags(markup: bytes) -> Tags | None:
    """The tags of a page in UTF-8; None where only a parser can tell."""
    if len(markup) > _MOST_BYTES or b"\0" in markup:
        return None
    if b"\r" in markup:
        markup = markup.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    markup += _PADDING
    array = np.frombuffer(markup, np.uint8)
    is_mark = array == _LESS
    for other in (_GREATER, _QUOTE, _APOSTROPHE):
        is_mark |= array == other
    marks = _where(is_mark)
    if marks.size > _MOST_MARKS:
        return None
    characters = array[marks]
    less = _where(characters == _LESS)
    starts = marks[less]
    kinds, is_closing = kinds_of(markup, array, starts)
    literal = _where(kinds == LITERAL)
    hidden = _Hidden()
    if literal.size > _MOST_ODD or not hidden.find(markup, starts, kinds, is_closing):
        return None
    is_left = hidden.leave(marks)
    is_left[less[literal]] = False
    is_tag = is_left[less]
    starts, kinds, is_closing = starts[is_tag], kinds[is_tag], is_closing[is_tag]
    marks, characters = marks[is_left], characters[is_left]
    less = _where(characters == _LESS)
    if not less.size:
        return None
    closers = _find_closers(less, _where(characters == _GREATER))
    if closers is None or not _is_plain(kinds, is_closing):
        return None
    ends = marks[closers]
    if not _are_quotes_closed(markup, starts, ends, characters, less, closers):
        return None
    covers = ends.copy()
    if hidden.raw:
        raw, raw_ends = zip(*hidden.raw, strict=True)
        covers[np.searchsorted(starts, raw)] = np.maximum(
            ends[np.searchsorted(starts, raw)], raw_ends
        )
    return Tags(markup, starts, ends, covers, kinds, is_closing, hidden.title)


def _find_closers(less: Positions, greater: Positions) -> Positions | None:
    """For each "<" the next ">"; None where another "<" comes first. All are numbers of marks."""
    if less.size == greater.size and (less < greater).all():
        closers = greater
    else:
        which = np.searchsorted(greater, less)
        if which.size and which[-1] == greater.size:
            return None
        closers = greater[which]
    return closers if (closers[:-1] < less[1:]).all() else None


def _is_plain(kinds: npt.NDArray[np.uint8], is_closing: npt.NDArray[np.bool_]) -> bool:
    """Whether no tag is read otherwise than it stands, and links are closed one by one."""
    if (kinds == UNUSUAL).any():
        return False
    closing_links = is_closing[kinds == A]
    if closing_links.size % 2 or closing_links[0::2].any() or not closing_links[1::2].all():
        return False
    selects = _where(kinds == SELECT)
    if selects.size:
        closing_selects = is_closing[selects]
        if selects.size % 2 or closing_selects[0::2].any() or not closing_selects[1::2].all():
            return False
        forbidden = _where(_IS_FORBIDDEN_IN_SELECT.take(kinds))
        if (np.searchsorted(selects, forbidden) % 2).any():
            return False
    return True


def _are_quotes_closed(
    markup: bytes,
    starts: Positions,
    ends: Positions,
    characters: npt.NDArray[np.uint8],
    less: Positions,
    closers: Positions,
) -> bool:
    """Whether each tag's ">" is outside of quotation marks."""
    is_suspect = (closers - less) % 2 == 0  # an odd number of marks in between
    apostrophes = _where(characters == _APOSTROPHE)
    if apostrophes.size:
        owners = np.searchsorted(less, apostrophes) - 1
        is_suspect[owners[(owners >= 0) & (apostrophes < closers[owners])]] = True
    suspects = _where(is_suspect)
    if suspects.size > _MOST_ODD:
        return False
    for start, end in zip(starts[suspects].tolist(), ends[suspects].tolist(), strict=True):
        tag = _QUOTED_TAG.match(markup, start)
        if tag is None or tag.end() != end + 1:
            return False
    return True


def _is_named(markup: bytes, start: int, name: bytes) -> bool:
    end = start + len(name)
    return markup[start:end].lower() == name and markup[end] in _NAME_ENDS


def _find_closing(markup: bytes, start: int, name: bytes) -> int | None:
    """Where the closing tag of a name begins."""
    start = markup.find(b"</", start)
    while start >= 0:
        if _is_named(markup, start + 2, name):
            return start
        start = markup.find(b"</", start + 2)
    return None
