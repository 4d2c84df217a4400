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
from typing import Final

import numpy as np
import numpy.typing as npt

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
from webcrawler.documents.tags import Positions, Tags, where

# Arrays take up to 60 bytes for each mark. What has more is left to the parser and its pieces.
_MOST_BYTES: Final = 4 << 20
_MOST_MARKS: Final = 1 << 19
_MOST_ODD: Final = 10_000  # comments, raw texts, tags with apostrophes: looked at one by one
# Attributes and references are read one by one too, several times as slowly as a parser does it.
# In a page up to the first of these sizes there cannot be too many.
_FEW_BYTES: Final = 1 << 18
_MOST_READ: Final = 1 << 15
_MOST_READ_BYTES: Final = 5 << 18
_MOST_REFERENCES: Final = 1 << 16

_LESS, _GREATER, _QUOTE, _APOSTROPHE = b"<>\"'"
_PADDING: Final = b"\n" * 8

_RAW_NAMES: Final = {
    SCRIPT: b"script",
    STYLE: b"style",
    TITLE: b"title",
    TEXTAREA: b"textarea",
    IFRAME: b"iframe",
}
# How each of them begins and ends: the names that begin with the same four letters are others.
_RAW_TAGS: Final = {
    kind: (
        re.compile(rb"<(?i:%b)[\t\n\f />]" % name),
        re.compile(rb"</(?i:%b)[\t\n\f />]" % name),
    )
    for kind, name in _RAW_NAMES.items()
}
_MAY_HIDE: Final = kind_set(COMMENT, *_RAW_NAMES)
_IS_READ: Final = kind_set(A, AREA, BASE, IFRAME, IMG, LINK, META)
_IS_FORBIDDEN_IN_SELECT: Final = _IS_READ | kind_set(STYLE, TEXTAREA, TITLE)

_EMPTY_COMMENT = re.compile(rb"<!---?>")
_COMMENT_END = re.compile(rb"--!?>")
# What may stand before a quotation mark that begins a value.
_MAY_PRECEDE_VALUE: Final = np.isin(np.arange(256), list(b"\t\n\f ="))
# A tag whose quotation marks stand where they should.
_QUOTED_TAG = re.compile(
    rb"<[^\t\n\f />\"'<]++"
    rb"(?:[\t\n\f /]++|[^\t\n\f />=\"'<]++(?:[\t\n\f ]*+=[\t\n\f ]*+"
    rb"(?:\"[^\"<>]*+\"|'[^'<>]*+'|[^\t\n\f >\"'<=`][^\t\n\f >\"'<]*+))?+)*+>"
)


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
        numbers = where(_MAY_HIDE.take(kinds) & ~is_closing)
        if numbers.size > _MOST_ODD:
            return False
        foreign = where(kinds == FOREIGN)
        foreign_at = int(starts[foreign[0]]) if foreign.size else len(markup)
        if foreign.size and b"<![CDATA[" in markup:
            return False
        position, has_title = 0, False
        for number, start in zip(numbers.tolist(), starts[numbers].tolist(), strict=True):
            if start < position:
                continue  # within what is hidden itself
            kind = int(kinds[number])
            if kind == COMMENT:
                closing = _EMPTY_COMMENT.match(markup, start) or _COMMENT_END.search(
                    markup, start + 4
                )
                if closing is None:
                    return False
                position = closing.end()
                self._add(start + 1, position - 1)
                continue
            opening_tag, closing_tag = _RAW_TAGS[kind]
            if opening_tag.match(markup, start) is None:
                kinds[number] = GAP
                continue
            inner = markup.find(b">", start) + 1
            closing = closing_tag.search(markup, inner) if inner else None
            if closing is None:
                return False
            end = closing.start()
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
    marks = where(is_mark)
    if marks.size > _MOST_MARKS:
        return None
    characters = array[marks]
    less = where(characters == _LESS)
    starts = marks[less]
    kinds, is_closing = kinds_of(markup, array, starts)
    literal = where(kinds == LITERAL)
    hidden = _Hidden()
    if literal.size > _MOST_ODD or not hidden.find(markup, starts, kinds, is_closing):
        return None
    is_left = hidden.leave(marks)
    is_left[less[literal]] = False
    is_tag = is_left[less]
    starts, kinds, is_closing = starts[is_tag], kinds[is_tag], is_closing[is_tag]
    marks, characters = marks[is_left], characters[is_left]
    less = where(characters == _LESS)
    if not less.size:
        return None
    closers = _find_closers(less, where(characters == _GREATER))
    if closers is None or not _is_plain(kinds, is_closing):
        return None
    ends = marks[closers]
    may_begin_value = _MAY_PRECEDE_VALUE.take(array.take(marks - 1))
    if not _are_quotes_closed(markup, starts, ends, characters, may_begin_value, less, closers):
        return None
    if len(markup) > _FEW_BYTES and not _is_read_soon(markup, starts, ends, kinds, is_closing):
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
    if not _take_turns(is_closing[kinds == A]):
        return False
    selects = where(kinds == SELECT)
    if selects.size:
        if not _take_turns(is_closing[selects]):
            return False
        forbidden = where(_IS_FORBIDDEN_IN_SELECT.take(kinds))
        if (np.searchsorted(selects, forbidden) % 2).any():
            return False
    return True


def _take_turns(is_closing: npt.NDArray[np.bool_]) -> bool:
    """Whether each opening tag is followed by a closing one before the next opens."""
    return not (is_closing.size % 2 or is_closing[0::2].any()) and bool(is_closing[1::2].all())


def _are_quotes_closed(
    markup: bytes,
    starts: Positions,
    ends: Positions,
    characters: npt.NDArray[np.uint8],
    may_begin_value: npt.NDArray[np.bool_],
    less: Positions,
    closers: Positions,
) -> bool:
    """Whether each tag's ">" is outside of quotation marks.

    It is where the marks in between, all of one sort, in turn may begin a value and may not.
    """
    may_begin_value[less] = False
    may_begin_value[closers] = True
    is_odd = characters == _APOSTROPHE
    is_odd[:-1] |= may_begin_value[:-1] == may_begin_value[1:]
    odd = where(is_odd)
    owners = np.searchsorted(less, odd, "right") - 1
    suspects = np.unique(owners[(owners >= 0) & (odd < closers[owners])])
    if suspects.size > _MOST_ODD:
        return False
    for start, end in zip(starts[suspects].tolist(), ends[suspects].tolist(), strict=True):
        tag = _QUOTED_TAG.match(markup, start)
        if tag is None or tag.end() != end + 1:
            return False
    return True


def _is_read_soon(
    markup: bytes,
    starts: Positions,
    ends: Positions,
    kinds: npt.NDArray[np.uint8],
    is_closing: npt.NDArray[np.bool_],
) -> bool:
    """Whether not too much of the page is to be read one by one."""
    read = where(_IS_READ.take(kinds) & ~is_closing)
    if read.size > _MOST_READ or (ends[read] - starts[read]).sum() > _MOST_READ_BYTES:
        return False
    return markup.count(b"&") <= _MOST_REFERENCES
