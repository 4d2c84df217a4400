"""Markup that is made to exhaust a parser, and how to read it all the same.

The HTML Standard's tree construction has no limits. Unclosed elements make every further tag walk
up all of them; attributes are compared with all earlier ones of their tag; and unclosed <b x=1>,
<b x=2>, ... are cloned into every paragraph that follows, so that 100 kilobytes become 30
gigabytes. All of it is quadratic in what one parse is given, so hostile or huge bodies are cut
into small pieces that are parsed one by one: linear, in bounded memory, with nearly the same links.

The limits are on numbers that no trick can lower (tags, bytes, different formatting tags): closing
tags can be hidden in comments or made to close nothing, and a quoted ">" makes the rest of a tag
look like text. What markup made for these very limits can cost, as measured, is said at each.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterator

# Up to here only attributes count: 1,200 formatting tags times 1,200 paragraphs take 490 megabytes
# and 0.4 seconds. Most pages are recognised by this one count.
_SMALL_TAGS = 2_400

# Up to here a document is parsed as a whole: at worst 0.9 seconds for 22,000 attributes, 0.4 for
# walking up, 380 megabytes of clones. (Twice the bytes would take 5.5 seconds.) Few closing tags
# are the plainest sign of an attack.
_WHOLE_TAGS = 30_000
_WHOLE_BYTES = 1 << 17
_WHOLE_CLONES = 2_000_000
_CLOSED_SHARE = 0.3

# Longer documents too, if no tag can hide many attributes: a megabyte of tags that are as long as
# this takes 0.3 seconds.
_TIDY_WHOLE_BYTES = 1 << 20
_SHORT_TAG = 2_048
_LONG_TAG = re.compile(rb"<[^>]{%d}" % _SHORT_TAG)
# A quoted ">": no other quotation mark of its kind stands between it and the one behind the "=".
_QUOTED_END = re.compile(rb"=[\t\n\f\r ]*+(?:\"[^\">]*+>|'[^'>]*+>)")

# A piece: at worst 0.05 seconds, for attributes. A small one where its formatting tags forbid it.
_PIECE_TAGS = 4_000
_PIECE_BYTES = 1 << 15
_PIECE_CLONES = 200_000
_NESTED_PIECE_TAGS = 1_000
_SMALL_PIECE_TAGS = 250
_MAX_PIECES = 2_000

# A stretch without "<" is a text or one tag, which must not have many attributes. A long one
# begins a piece, since only at the beginning of one is it certain what the parser takes it for.
_LONG_STRETCH = 1 << 13
_MAX_ATTRIBUTES = 1_000

# At most three alike are kept open, of each of the twelve names: the standard's Noah's Ark clause.
_ALIKE = 3
_PLAIN_FORMATTING = 36

# A tag whose first ">" is surely its end: short, and nothing is quoted in unusual places.
_TIDY_BYTES = 512
_TIDY = re.compile(
    rb"<\w++(?:[\t\n\f\r ]++[\w:.-]++(?:=(?:\"[^\"]*+\"|'[^']*+'|[\w:./#%-]++))?)*+[ /]*+"
)
_ATTRIBUTE = re.compile(
    rb"[\t\n\f\r /]*+[^\t\n\f\r />][^\t\n\f\r />=]*+"
    rb"(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:\"[^\"]*+\"|'[^']*+'|[^\t\n\f\r >\"'][^\t\n\f\r >]*+)?)?"
)
_BLOCK = re.compile(
    rb"<(?:p|div|li|tr|dt|dd|h[1-6]|ul|ol|dl|table|section|article|pre|hr)[\t\n\f\r >]",
    re.IGNORECASE,
)
_RAW = re.compile(rb"<(?:(!--)|(script|style)[\t\n\f\r />])", re.IGNORECASE)

Positions = npt.NDArray[np.intp]


def without_scripts(markup: bytes) -> bytes:
    """The markup without comments and the content of scripts and style sheets.

    They make most of many a long page. What only looks like one is lost too: to be counted as
    harmless, and yet be parsed, is what an attack would want.
    """
    parts, position = [], 0
    for begin, end in _Tags(markup).scripts():
        parts.append(markup[position:begin])
        position = end
    parts.append(markup[position:])
    return b"".join(parts)


def is_tame(markup: bytes) -> bool:
    """Whether the markup can be given to a parser as it is."""
    if len(markup) > _WHOLE_BYTES and not _has_short_tags(markup):
        return False
    is_less_than = np.frombuffer(markup, np.uint8) == ord("<")
    if np.count_nonzero(is_less_than) <= _SMALL_TAGS:
        return True
    tags = _Tags(markup, np.flatnonzero(is_less_than))
    count = len(tags.starts)
    if count > _WHOLE_TAGS:
        return False
    if count > _WHOLE_TAGS // 4 and tags.closing_share() < _CLOSED_SHARE:
        return False
    return tags.may_clone(0, count, _WHOLE_CLONES)


def pieces(markup: bytes) -> Iterator[bytes | None]:
    """Cut markup into pieces, at block elements where it can be; None for what is left out."""
    tags = _Tags(markup)
    most = _PIECE_TAGS if tags.closing_share() >= _CLOSED_SHARE else _NESTED_PIECE_TAGS
    stretches = iter((*tags.long_stretches(), len(tags.starts)))
    long = next(stretches)
    start = first = 0
    for _ in range(_MAX_PIECES):
        if start >= len(markup):
            return
        if first == long < len(tags.starts):
            last, long = first + 1, next(stretches)
            is_parsed = tags.has_few_attributes(first)
        else:
            last = tags.border(start, first, min(long, first + most))
            if not tags.may_clone(first, last, _PIECE_CLONES):
                last = min(last, first + _SMALL_PIECE_TAGS)
            is_parsed = True
        end = int(tags.starts[last]) if last < len(tags.starts) else len(markup)
        yield markup[start:end] if is_parsed else None
        start, first = end, last
    if start < len(markup):
        yield None


def _has_short_tags(markup: bytes) -> bool:
    """Whether it is certain that no tag is longer than `_SHORT_TAG`, and so has few attributes.

    A tag ends at the first ">" that is not quoted, and this looks as if none were.
    """
    is_long = len(markup) > _TIDY_WHOLE_BYTES
    return not (is_long or _QUOTED_END.search(markup) or _LONG_TAG.search(markup))


class _Tags:
    """Where the tags of some markup begin, and what can be told of them without parsing."""

    def __init__(self, markup: bytes, starts: Positions | None = None) -> None:
        if starts is None:
            starts = np.flatnonzero(np.frombuffer(markup, np.uint8) == ord("<"))
        self.markup = markup
        self.starts = starts
        # A "<" among the last two bytes begins nothing.
        inner = starts[: np.searchsorted(starts, len(markup) - 2)]
        array = np.frombuffer(markup, np.uint8)
        letters = array[inner + 1].astype(np.uint16) << 8
        letters |= array[inner + 2]
        self.letters = letters
        self.formatting = np.flatnonzero(_MAY_FORMAT[letters])

    def closing_share(self) -> float:
        return float(np.count_nonzero(self.letters >> 8 == ord("/")) / max(1, len(self.letters)))

    def may_clone(self, first: int, last: int, limit: int) -> bool:
        """Whether formatting tags of this range can make at most `limit` elements of themselves."""
        low, high = np.searchsorted(self.formatting, (first, last))
        if (high - low + _PLAIN_FORMATTING) * (last - first - (high - low)) <= limit:
            return True
        markup, different, is_tidy = self.markup, set(), True
        for start in self.starts[self.formatting[low:high]].tolist():
            end = markup.find(b">", start, start + _TIDY_BYTES)
            is_tidy = is_tidy and end > 0
            different.add(markup[start:end])
        count = high - low
        if is_tidy and all(map(_TIDY.fullmatch, different)):
            count = min(count, _ALIKE * len(different))
        return bool((count + _PLAIN_FORMATTING) * (last - first - (high - low)) <= limit)

    def border(self, start: int, first: int, last: int) -> int:
        """Where a piece that begins so should end: not too far on, and at a block element."""
        starts = self.starts
        last = min(last, max(first + 1, int(np.searchsorted(starts, start + _PIECE_BYTES))))
        if last >= len(starts):
            return last
        for index in range(last, max(first, last - 100), -1):
            if _BLOCK.match(self.markup, int(starts[index])):
                last = index
                break
        return last

    def scripts(self) -> Iterator[tuple[int, int]]:
        """(begin, end) of comments, and of what is in scripts and style sheets."""
        lowered = self.markup.lower()
        unclosed: set[bytes] = set()
        end = 0
        for begin in self.starts[: len(self.letters)][_MAY_BE_SCRIPT[self.letters]].tolist():
            match = _RAW.match(self.markup, begin) if begin >= end else None
            if match is None:
                continue
            closing = b"-->" if match[1] else b"</" + match[2].lower()
            if closing in unclosed:
                continue
            found = lowered.find(closing, begin + 2)
            if found < 0:
                unclosed.add(closing)
                continue
            if match[1]:
                end = found + len(closing)
                yield begin, end
            else:
                # The tag itself says where a script comes from.
                end = found
                yield lowered.find(b">", begin, end) + 1 or end, end

    def long_stretches(self) -> list[int]:
        """The tags after which no other begins for long."""
        lengths = np.diff(self.starts, append=len(self.markup))
        return [int(index) for index in np.flatnonzero(lengths > _LONG_STRETCH)]

    def has_few_attributes(self, index: int) -> bool:
        """Whether this tag, if markup begins with it and ends before the next, has not too many."""
        begin = int(self.starts[index])
        end = int(self.starts[index + 1]) if index + 1 < len(self.starts) else len(self.markup)
        position = begin + 1
        for _ in range(_MAX_ATTRIBUTES):
            match = _ATTRIBUTE.match(self.markup, position, end)
            if match is None:
                return True
            position = match.end()
        return False


def _table(*beginnings: str) -> npt.NDArray[np.bool_]:
    """For each two bytes after a "<", whether they are one of these, in either case."""
    table = np.zeros(1 << 16, np.bool_)
    for beginning in beginnings:
        first, second = beginning[0], beginning[1]
        for one in {first.lower(), first.upper()}:
            for other in {second.lower(), second.upper()}:
                table[(ord(one) << 8) | ord(other)] = True
    return table


_MAY_FORMAT = _table(
    *(name + space for name in "bius" for space in "\t\n\f\r /"),
    *("em", "tt", "bi", "co", "fo", "no", "sm", "st"),
)
_MAY_BE_SCRIPT = _table("!-", "sc", "st")
