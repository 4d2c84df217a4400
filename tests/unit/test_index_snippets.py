"""Snippets: the best passage, with the right places marked, and nothing that bites."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawler.index.language import CHARACTERS, WORDS, analyzer
from webcrawler.index.snippets import WIDTH, Snippet, make_snippet, printable


def snippet(text: str, query: str, analysis: str = "en") -> Snippet:
    tokens = frozenset(analyzer(analysis).analyze(query))
    return make_snippet(text, tokens, analysis, query.split())


def marked(found: Snippet) -> list[str]:
    return [found.text[start:end] for start, end in found.ranges]


FILLER = "lorem ipsum dolor sit amet " * 50


def test_the_words_are_marked_in_all_their_forms() -> None:
    text = "Libraries are what a library is; the librarian's LIBRARY."
    assert marked(snippet(text, "library")) == ["Libraries", "library", "LIBRARY"]


def test_the_passage_with_most_of_the_words_is_shown() -> None:
    text = f"a zebra here {FILLER} a zebra and a lion there {FILLER} lion lion lion"
    found = snippet(text, "zebra lion")
    assert marked(found) == ["zebra", "lion"]
    assert len(found.text) <= WIDTH
    assert not found.text.startswith("a zebra here")


def test_without_a_match_the_beginning_is_shown() -> None:
    found = snippet(f"The beginning. {FILLER}", "zebra")
    assert found.text.startswith("The beginning.")
    assert found.ranges == ()
    assert len(found.text) <= WIDTH


def test_short_and_empty_texts() -> None:
    assert snippet("", "zebra") == Snippet("")
    assert snippet("zebra", "zebra") == Snippet("zebra", ((0, 5),))
    assert make_snippet("zebra", frozenset(), "en") == Snippet("zebra")


def test_white_space_is_folded_and_the_ranges_follow() -> None:
    found = snippet("  a\n\n\n  big \t zebra\n\n lion  ", "zebra lion")
    assert found == Snippet("a big zebra lion", ((6, 11), (12, 16)))


def test_accents_and_other_scripts() -> None:
    assert marked(snippet("un café, des CAFÉS", "cafe", "fr")) == ["café", "CAFÉS"]
    assert marked(snippet("Die Häuser und das Haus", "haus", "de")) == ["Häuser", "Haus"]
    assert marked(snippet("старые дома и дом", "дом", "ru")) == ["дома", "дом"]
    assert marked(snippet("المكتبة والكتب", "المكتبة", "ar"))[0] == "المكتبة"
    assert marked(snippet("欢迎来到北京大学", "北京", CHARACTERS)) == ["北京"]
    assert marked(snippet("Zażółć gęślą jaźń", "gesla", WORDS)) == ["gęślą"]


def test_words_inside_words_are_not_marked() -> None:
    assert marked(snippet("concatenate cat_food cat", "cat")) == ["cat", "cat"]


def test_what_a_terminal_would_obey_is_taken_out() -> None:
    found = snippet("\x1b[2J zebra\x07 \x9b31m \u202elion\u2066", "zebra")
    assert marked(found) == ["zebra"]
    assert not any(ord(character) < 32 or 0x7F <= ord(character) < 0xA0 for character in found.text)
    assert "\u202e" not in found.text
    assert printable("\x1b[31m a \n b\u202e") == "[31m a b"


def test_a_megabyte_of_one_word_is_bounded() -> None:
    found = snippet("zebra " * 200_000, "zebra")
    assert len(found.text) <= WIDTH + 20
    assert snippet("zebra" * 200_000, "zebra").ranges == ()


@given(st.text(max_size=400), st.sampled_from(["zebra", "a", "ü", "zebra a 1"]))
@pytest.mark.parametrize("analysis", ["en", WORDS, CHARACTERS])
def test_ranges_are_inside_in_order_and_apart(analysis: str, text: str, query: str) -> None:
    found = snippet(text + " zebra", query, analysis)
    at = 0
    for start, end in found.ranges:
        assert at <= start < end <= len(found.text)
        at = end
