"""The text of pages, and how alike two of them are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .draws import below, shorts
from .vocabulary import TABLE_SIZE, table

if TYPE_CHECKING:
    from collections.abc import Sequence

_WORD = re.compile(r"[^\W\d_]+")


def article(name: str, language: str, mean: int) -> list[str]:
    """The words of a page's text: between a half and three halves of the mean."""
    return random_words(name, language, mean // 2 + below(f"{name}:length", mean + 1))


def random_words(name: str, language: str, count: int) -> list[str]:
    """That many words of the language."""
    places = table(language)
    return [places[short & (TABLE_SIZE - 1)] for short in shorts(name, count)]


def edited(
    words: list[str], around: int, overlap: float, name: str, language: str, shingle: int = 4
) -> list[str]:
    """The words with one stretch replaced, so that the page resembles the old one to that degree.

    A stretch of m new words takes m + shingle - 1 shingles away and adds as many; `around` is the
    number of words on the page that stay outside of these.
    """
    shingles = max(1, len(words) + around - shingle + 1)
    changed = round(shingles * (1 - overlap) / (1 + overlap)) - shingle + 1
    changed = max(1, min(changed, len(words)))
    first = below(f"{name}:first", len(words) - changed + 1)
    return [
        *words[:first],
        *random_words(name, language, changed),
        *words[first + changed :],
    ]


def paragraphs(words: Sequence[str], name: str) -> list[str]:
    """The words as sentences, and these as paragraphs."""
    lengths = shorts(f"{name}:sentences", len(words) // 6 + 1)
    sentences = []
    position = 0
    for length in lengths:
        if position >= len(words):
            break
        end = position + 6 + (length & 15)
        sentence = " ".join(words[position:end])
        sentences.append(sentence[0].upper() + sentence[1:] + ".")
        position = end
    return [" ".join(sentences[first : first + 4]) for first in range(0, len(sentences), 4)]


def words_of(text: str) -> list[str]:
    """The words in a text, lower case."""
    return _WORD.findall(text.lower())


def shingles(words: Sequence[str], size: int) -> set[tuple[str, ...]]:
    """The distinct runs of that many words; of a shorter text, the text itself."""
    if len(words) <= size:
        return {tuple(words)}
    return set(zip(*(words[start:] for start in range(size)), strict=False))


def jaccard(first: set[tuple[str, ...]], second: set[tuple[str, ...]]) -> float:
    """The share of common shingles among all of both."""
    union = len(first | second)
    return len(first & second) / union if union else 1.0
