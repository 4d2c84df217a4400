"""The language a text is in, and how it is analysed for it.

An analysis is what tokens and stems are made by. Each language that has a stemmer has its own;
scripts without spaces between words are indexed by character, so that any word is a phrase of
them; everything else is split at what is neither letter nor digit. All fold case, and accents
after stemming.
"""

from __future__ import annotations

import re
from functools import cache

from resiliparse.parse.lang import detect_fast
from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

#: Languages with a stemmer, by their two letters.
STEMMERS = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}

#: Analyses besides those of languages: by character, and by word without stems.
CHARACTERS, WORDS = "characters", "words"
ANALYSES = (*STEMMERS, CHARACTERS, WORDS)

MAX_TOKEN_BYTES = 60

_UNSPACED_LANGUAGES = frozenset({"zh", "ja", "th", "lo", "km", "my"})
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_UNSPACED_PATTERN = rf"[{_UNSPACED}]|[[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]+"
# The same for re, which knows no scripts: Thai to Myanmar, Khmer, kana, Han.
_UNSPACED_CHARACTER = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003134f]"
)
_SAMPLE = 1200
_ENOUGH = 60  # characters; the detector guesses wildly on less
_ALIASES = {"nb": "no", "nn": "no", "iw": "he", "in": "id", "cmn": "zh", "yue": "zh"}
_LANGUAGE = re.compile(r"\s*([a-zA-Z]{2,3})(?:[-_]|\s*$)")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
# Declared languages whose texts are nearly all ASCII: a claim that can be tested for nothing.
_ASCII_LANGUAGES = frozenset({"en", "nl", "id", "sw", "la"})


def detect_language(text: str, declared: str = "") -> str:
    """Two letters, or the empty string where nobody can say.

    What the page declares is believed (it costs nothing and is mostly right) unless its
    characters speak against it: many a template says "en" whatever is filled in.
    """
    sample = text[:_SAMPLE] if len(text) <= 2 * _SAMPLE else text[_SAMPLE : 2 * _SAMPLE]
    unspaced = len(_UNSPACED_CHARACTER.findall(sample))
    claim = declared_language(declared)
    if claim and bool(unspaced * 5 > len(sample)) == (claim in _UNSPACED_LANGUAGES):
        foreign = 0 if claim not in _ASCII_LANGUAGES else len(_NOT_ASCII.findall(sample))
        if foreign * 10 <= len(sample):
            return claim
    if unspaced * 5 > len(sample):
        return _unspaced_language(sample)
    if len(sample) < _ENOUGH:
        return claim
    found = str(detect_fast(sample)[0])
    return claim if found == "unknown" else found


def declared_language(declared: str) -> str:
    """The language of a lang attribute or a Content-Language header: `de` for `de-AT, en`."""
    match = _LANGUAGE.match(declared.split(",", 1)[0])
    if match is None:
        return ""
    letters = match[1].lower()
    return _ALIASES.get(letters, letters)[:2]


def analysis_of(language: str, text: str = "", default: str = "en") -> str:
    """By which analysis a text is indexed; `default` is the language where none is known."""
    language = language or default
    if language in _UNSPACED_LANGUAGES:
        return CHARACTERS
    sample = text[:_SAMPLE]
    if sample and not sample.isascii() and _is_unspaced(sample):
        return CHARACTERS
    return language if language in STEMMERS else WORDS


@cache
def analyzer(analysis: str) -> TextAnalyzer:
    """What makes tokens of a text, for documents and queries alike."""
    by_character = analysis == CHARACTERS
    builder = TextAnalyzerBuilder(
        Tokenizer.regex(_UNSPACED_PATTERN) if by_character else Tokenizer.simple()
    )
    # Before stemming: hostile "words" of a megabyte are not worth the time.
    builder = builder.filter(Filter.remove_long(MAX_TOKEN_BYTES)).filter(Filter.lowercase())
    if analysis in STEMMERS:
        builder = builder.filter(Filter.stemmer(STEMMERS[analysis]))
    return builder.filter(Filter.ascii_fold()).build()


def _is_unspaced(sample: str) -> bool:
    return len(_UNSPACED_CHARACTER.findall(sample)) * 5 > len(sample)


def _unspaced_language(sample: str) -> str:
    if re.search("[\u3040-\u30ff]", sample):
        return "ja"
    if re.search("[\u4e00-\u9fff]", sample):
        return "zh"
    for language, block in (
        ("th", "[\u0e00-\u0e7f]"),
        ("lo", "[\u0e80-\u0eff]"),
        ("km", "[\u1780-\u17ff]"),
    ):
        if re.search(block, sample):
            return language
    return "my"
