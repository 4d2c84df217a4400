"""The passage of a page that shows best why it was found, with the places that match.

Text and ranges, no markup: whoever shows it escapes it and marks the ranges in its own way.
Control characters are taken out here, since a page may hold the escape sequences of a terminal.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from webcrawler.index.language import CHARACTERS, WORDS, analyzer

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH = 240
_CONTEXT = 60
_MAX_MATCHES = 200
_WORD = re.compile(r"[^\W_]+")
_SPACE = re.compile(r"\s+")
# Controls, and the marks that turn the direction of writing around.
_UNSAFE = {
    **dict.fromkeys(range(0x20), " "),
    **dict.fromkeys(range(0x7F, 0xA0), " "),
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), " "),
}
# Their stemmers take off beginnings too, so that the first letter says nothing.
_PREFIXING = ("ar", "ta")


@dataclass(frozen=True, slots=True)
class Snippet:
    """A passage, and the half-open ranges of it that match, in order."""

    text: str
    ranges: tuple[tuple[int, int], ...] = ()


def printable(text: str) -> str:
    """The text with white space folded and without what a terminal would obey."""
    return _SPACE.sub(" ", text.translate(_UNSAFE)).strip()


def make_snippet(
    text: str,
    tokens: frozenset[str],
    analysis: str,
    literals: Sequence[str] = (),
    width: int = WIDTH,
) -> Snippet:
    """The best passage of about `width` characters; the beginning where nothing matches.

    `tokens` are those of the query in the analysis of the page, `literals` its words as typed,
    which are looked for where tokens are single characters.
    """
    matches = _matches(text, tokens, analysis, literals)
    first, last = _best(text, matches, width)
    start = max(0, matches[first][0] - _CONTEXT) if matches else 0
    end = min(len(text), start + width)
    if matches:
        end = max(end, matches[last][1])
    if start and (space := text.find(" ", start, matches[first][0])) >= 0:
        start = space + 1  # begin with a whole word
    if end < len(text) and (space := text.rfind(" ", start, end)) > (
        matches[last][1] if matches else start
    ):
        end = space
    return _folded(text, start, end, [span for span in matches if start <= span[0] < end])


def _matches(
    text: str, tokens: frozenset[str], analysis: str, literals: Sequence[str]
) -> list[tuple[int, int]]:
    """Where the words of the query stand, in any of their forms; the first so many places."""
    if analysis == CHARACTERS:
        words = [re.escape(literal) for literal in literals if literal]
        if not words:
            return []
        pattern = re.compile("|".join(words), re.IGNORECASE)
        return [match.span() for match in islice(pattern.finditer(text), _MAX_MATCHES)]
    if not tokens:
        return []
    starts = frozenset(token[0] for token in tokens)
    analyze = analyzer(analysis).analyze
    is_wanted: dict[str, bool] = {}
    found: list[tuple[int, int]] = []
    for match in (_WORD if analysis in _PREFIXING else _words_with(starts)).finditer(text):
        word = match[0]
        wanted = is_wanted.get(word)
        if wanted is None:
            wanted = is_wanted[word] = not tokens.isdisjoint(analyze(word))
        if wanted:
            found.append(match.span())
            if len(found) >= _MAX_MATCHES:
                break
    return found


@lru_cache(maxsize=256)
def _words_with(starts: frozenset[str]) -> re.Pattern[str]:
    """Words that begin with one of some letters, however written.

    Analysing every word of a page would take longer than finding it did; a stem has the first
    letter of its word. The letter comes first and what may not stand before it second, since that
    is several times faster.
    """
    letters = "".join(sorted({form for letter in starts for form in _spellings()[letter]} | starts))
    return re.compile(rf"[{re.escape(letters)}](?<![^\W_].)[^\W_]*", re.DOTALL)


@cache
def _spellings() -> dict[str, set[str]]:
    """Letters by what the analysis makes of them: case and accents folded."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for code in range(0x30, 0x590):
        for token in analyzer(WORDS).analyze(chr(code)):
            found[token[0]].add(chr(code))
    return found


def _best(text: str, matches: list[tuple[int, int]], width: int) -> tuple[int, int]:
    """The first and last match of the passage with the most different words, then the most."""
    best, best_value, last = (0, 0), (0, 0), 0
    room = width - _CONTEXT
    for first, (start, _) in enumerate(matches):
        last = max(last, first)
        while last + 1 < len(matches) and matches[last + 1][1] <= start + room:
            last += 1
        inside = matches[first : last + 1][:20]
        value = (len({text[a:b].lower() for a, b in inside}), len(inside))
        if value > best_value:
            best, best_value = (first, last), value
    return best


def _folded(text: str, start: int, end: int, spans: list[tuple[int, int]]) -> Snippet:
    """The passage with its white space folded, and the ranges moved accordingly."""
    parts: list[str] = []
    ranges: list[tuple[int, int]] = []
    length, at = 0, start
    for begin, stop in [*spans, (end, end)]:
        between = _SPACE.sub(" ", text[at:begin].translate(_UNSAFE))
        if not parts:
            between = between.lstrip()
        match = text[begin:stop].translate(_UNSAFE)
        parts += (between, match)
        length += len(between)
        if match:
            ranges.append((length, length + len(match)))
        length += len(match)
        at = stop
    return Snippet("".join(parts).rstrip(), tuple(ranges))
