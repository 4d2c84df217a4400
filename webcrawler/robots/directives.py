"""Directives: what X-Robots-Tag headers and robots meta tags say of one page.

Whatever speaks to every crawler and whatever speaks to ours by name is combined, and the most
restrictive wins: a page with `noindex` for all and `index` for us is not indexed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_tz
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_VALUES_LIMIT = 100
_VALUE_LENGTH_LIMIT = 4_096
_DATE_LENGTH_LIMIT = 64

# "none" is both; Bing's "nocache" is noarchive. What asks for nothing is known all the same.
_MEANING: dict[str, tuple[str, ...]] = {
    "noindex": ("noindex",),
    "nofollow": ("nofollow",),
    "none": ("noindex", "nofollow"),
    "noarchive": ("noarchive",),
    "nocache": ("noarchive",),
    "nosnippet": ("nosnippet",),
    "noimageindex": ("noimageindex",),
    "notranslate": ("notranslate",),
    "all": (),
    "index": (),
    "follow": (),
    "archive": (),
    "snippet": (),
    "noodp": (),
    "noydir": (),
    "indexifembedded": (),
}
# Directives written name: value. Any other name before a colon is a crawler's.
_VALUED = frozenset(("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"))
_NAME_AND_COLON = re.compile(r"([A-Za-z][A-Za-z0-9_.*-]*)\s*:\s*")
_SEPARATORS = re.compile("[,;|]")


@dataclass(frozen=True, slots=True)
class Directives:
    """What a page asks of a crawler; the default asks nothing.

    `unavailable_after` is the earliest such time, aware of its zone; once it has passed the
    page is as if `noindex` (ask `forbids_index`). `names` are the directives found, known ones
    only, sorted; `problems` what could not be understood, as short names.
    """

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    nosnippet: bool = False
    noimageindex: bool = False
    notranslate: bool = False
    unavailable_after: datetime | None = None
    names: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def forbids_index(self, now: datetime) -> bool:
        """Whether the page must not be indexed at this (aware) time."""
        return self.noindex or (
            self.unavailable_after is not None and self.unavailable_after <= now
        )

    def merge(self, other: Directives) -> Directives:
        """Both together: whatever either forbids is forbidden."""
        if self is _NOTHING or self is other:
            return other
        if other is _NOTHING:
            return self
        times = [time for time in (self.unavailable_after, other.unavailable_after) if time]
        return Directives(
            **{flag: getattr(self, flag) or getattr(other, flag) for flag in _FLAGS},
            unavailable_after=min(times, default=None),
            names=tuple(sorted({*self.names, *other.names})),
            problems=tuple(sorted({*self.problems, *other.problems})),
        )


_NOTHING = Directives()
_LONG_VALUE = Directives(problems=("long_value",))
_TOO_MANY = Directives(problems=("too_many",))
_FLAGS = tuple(field.name for field in fields(Directives) if isinstance(field.default, bool))


def parse_meta(pairs: Iterable[tuple[str, str]], agent: str) -> Directives:
    """The directives in (name, content) pairs of meta tags, for a product token."""
    agent = agent.lower()
    ours: list[str] = []
    for name, content in pairs:
        name = name.strip().lower()
        if name == "robots" or (name and name == agent):
            ours.append(content)
    return _together(ours, None)


def parse_headers(values: Iterable[bytes | str], agent: str) -> Directives:
    """The directives in the values of X-Robots-Tag headers, for a product token.

    A name and a colon before directives (`googlebot: noindex, nofollow`) give them, to the end
    of the value or the next such name, to that crawler alone.
    """
    texts = [value.decode("latin-1") if isinstance(value, bytes) else value for value in values]
    return _together(texts, agent.lower())


def _together(values: Sequence[str], agent: str | None) -> Directives:
    directives = _NOTHING
    for value in values[:_VALUES_LIMIT]:
        if len(value) > _VALUE_LENGTH_LIMIT:
            directives = directives.merge(_LONG_VALUE)
            value = value[:_VALUE_LENGTH_LIMIT]
        directives = directives.merge(_read(value, agent))
    return directives if len(values) <= _VALUES_LIMIT else directives.merge(_TOO_MANY)


# Half the web says "index, follow".
@lru_cache(maxsize=1_024)
def _read(value: str, agent: str | None) -> Directives:
    """One value; `agent` None: names of crawlers have no meaning here (a meta tag)."""
    found = _Found()
    found.read(value, agent)
    return found.directives()


class _Found:
    """Directives being collected."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.times: list[datetime] = []
        self.problems: set[str] = set()

    def directives(self) -> Directives:
        if not self.names and not self.problems:
            return _NOTHING
        flags = {flag for name in self.names for flag in _MEANING.get(name, ())}
        return Directives(
            **dict.fromkeys(flags, True),
            unavailable_after=min(self.times, default=None),
            names=tuple(sorted(self.names)),
            problems=tuple(sorted(self.problems)),
        )

    def read(self, value: str, agent: str | None) -> None:
        ours = True
        pieces = _SEPARATORS.split(value)
        position = 0
        while position < len(pieces):
            piece = pieces[position].strip()
            position += 1
            for name, rest in _names_and_rest(piece):
                if name in _VALUED:
                    if name == "unavailable_after":
                        taken = self._read_time(rest, pieces[position : position + 2], ours)
                        position += taken
                    elif ours:
                        self.names.add(name)
                    piece = ""
                    break
                if agent is None or name in _MEANING:
                    piece = piece.replace(":", " ")
                    break
                ours = name.removesuffix("*") == agent
                piece = rest
            # People write directives apart by white space alone, too.
            if ours and piece:
                self._add_words(piece)

    def _add_words(self, piece: str) -> None:
        for word in piece.lower().split():
            word = word.strip("'\"./")
            if word in _MEANING:
                self.names.add(word)

    def _read_time(self, text: str, following: list[str], ours: bool) -> int:
        """Read a date that may itself hold commas; says how many further pieces it took."""
        time = parse_time(text)
        taken = 0
        for piece in following:
            directive = piece.strip().lower()
            if time or directive in _MEANING or _NAME_AND_COLON.match(directive):
                break
            text = f"{text},{piece}"
            taken += 1
            time = parse_time(text)
        if ours:
            if time is None:
                self.problems.add("bad_date")
            else:
                self.names.add("unavailable_after")
                self.times.append(time)
        return taken if time else 0


def parse_time(text: str) -> datetime | None:
    """A time in the forms of RFC 822, RFC 850 and ISO 8601; UTC where no zone is named."""
    text = text.strip()
    if not 8 <= len(text) <= _DATE_LENGTH_LIMIT:
        return None
    try:
        if text[:4].isdigit():
            time = datetime.fromisoformat(_iso(text))
            return time if time.tzinfo else time.replace(tzinfo=UTC)
        # Zone and time of day may be missing.
        forms = (text, f"{text} UTC", f"{text} 00:00:00 UTC")
        parsed = next(filter(None, map(parsedate_tz, forms)), None)
        if parsed is None:
            return None
        offset = timedelta(seconds=parsed[9] or 0)
        return datetime(*parsed[:6], tzinfo=timezone(offset) if offset else UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _iso(text: str) -> str:
    """ISO 8601 as Python reads it: a zone's name instead of an offset is UTC."""
    text = text.upper()
    for zone in (" UTC", " GMT", "UTC", "GMT"):
        if text.endswith(zone):
            return text.removesuffix(zone) + "+00:00"
    # "2030-12-31 23:00:00 +0100": no space before the offset.
    head, space, tail = text.rpartition(" ")
    return head + tail if space and tail[:1] in "+-Z" else text


def _names_and_rest(piece: str) -> Iterator[tuple[str, str]]:
    """At most two names before colons at the beginning of a piece, each with what follows it."""
    position = 0
    for _ in range(2):
        match = _NAME_AND_COLON.match(piece, position)
        if match is None:
            break
        position = match.end()
        yield match[1].lower(), piece[position:]
