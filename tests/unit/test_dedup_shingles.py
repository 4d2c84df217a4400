"""Words and shingles of texts in any script."""

from __future__ import annotations

import random
import re
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webcrawler.dedup import Shingler
from webcrawler.dedup.characters import GAP, IGNORED, LETTER, UNSPACED, characters

SHINGLER = Shingler()
FIXED_WORDS = [
    27712868245477758,
    15338709458522903816,
    14281711510687668775,
    12128350484535866001,
    3546748414856867105,
    15122305628625925368,
]
FIXED_SHINGLES = [3574040754, 2127902409, 2420349043]
PROSE = "the quick brown fox jumps over the lazy dog and then the quick brown fox sleeps"


def words(text: str) -> list[int]:
    return SHINGLER.words(text).tolist()


def overlap(one: str, other: str) -> float:
    """The exact Jaccard similarity of two texts' shingles."""
    a, b = (set(SHINGLER.shingles(SHINGLER.words(text)).tolist()) for text in (one, other))
    return len(a & b) / len(a | b)


def test_a_word_hashes_alike_wherever_it_stands() -> None:
    found = words(PROSE)
    assert len(found) == 16
    names = PROSE.split()
    for i, name in enumerate(names):
        for j, other in enumerate(names):
            assert (found[i] == found[j]) == (name == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Straße ÉCOLE Ωμέγα", "straße école ωμέγα"),
        ("ΟΔΥΣΣΕΥΣ", "οδυσσευς"),
        ("one, two; (three)", "one two three"),
        ("don\u2019t \u201cquote\u201d \u2014 really\u2026", 'don\'t "quote" - really...'),
        ("data\u00adbase", "database"),
        ("zero\u200dwidth\u200b", "zerowidth"),
        ("heart\ufe0f \u2764\ufe0f", "heart \u2764"),
        ("a\u00a0b\u3000c\u2028d\x00e", "a b c d e"),
        ("İstanbul", "istanbul"),
    ],
)
def test_what_readers_do_not_see_makes_no_difference(one: str, other: str) -> None:
    assert words(one) == words(other)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        (" \n\t.,;", 0),
        ("\u2764 \U0001f600", 0),
        ("word", 1),
        ("snake_case 42 a1", 3),
        ("हिन्दी में लिखा", 3),  # vowel signs belong to their words
        ("한국어 텍스트", 2),  # Korean has spaces
        ("漢字仮名", 4),
        ("Python入門book", 4),
        ("ภาษาไทย", 7),
        ("\U00020000\U00020001", 2),
        ("\U000e0041\U0010ffff", 0),
        ("lone \ud800 surrogate", 2),
    ],
)
def test_how_many_words_a_text_has(text: str, count: int) -> None:
    assert len(words(text)) == count


@settings(deadline=None)
@given(st.text(st.characters(max_codepoint=0x0DFF)))
def test_words_are_those_of_the_regular_expression(text: str) -> None:
    """Against Python's \\w, where that has no vowel signs to lose and nothing is invisible."""
    text = "".join(c for c in text if unicodedata.category(c)[0] != "M" and c != "\u00ad")
    text = text.replace("\u0130", "i")
    expected = re.findall(r"\w+", text.lower().replace("\u03c2", "\u03c3"))
    found = words(text)
    assert len(found) == len(expected)
    assert len(set(found)) == len(set(expected))


@settings(deadline=None)
@given(st.text(max_size=200), st.integers(1, 6))
def test_any_text_has_words_and_shingles(text: str, size: int) -> None:
    shingler = Shingler(size)
    found = shingler.words(text)
    shingles = shingler.shingles(found)
    assert found.dtype == np.uint64
    assert shingles.dtype == np.uint32
    assert len(shingles) == max(0, len(found) - size + 1)


@settings(deadline=None)
@given(st.lists(st.sampled_from(["alpha", "βήτα", "語彙", "ไทย", "e\u0301", "x"]), max_size=20))
def test_what_stands_around_a_text_does_not_change_its_words(parts: list[str]) -> None:
    text = " ".join(parts)
    found = words(text)
    assert words(f" \u2019 {text}\n") == found
    assert words(f"{text} . {text}") == found + found


def test_words_of_many_letters_do_not_collide() -> None:
    generator = random.Random(5)
    names = {
        "".join(generator.choices("abcdefgh", k=generator.randint(1, 12))) for _ in range(20000)
    }
    names |= {name[::-1] for name in names}
    assert len(set(words(" ".join(names)))) == len(names)


def test_shingles_depend_on_the_order_of_words() -> None:
    found = {
        SHINGLER.shingles(SHINGLER.words(text)).tolist()[0]
        for text in ("a b c d", "b a c d", "d c b a", "a b d c", "ab c d e", "a bc d e")
    }
    assert len(found) == 6


def test_the_size_of_shingles_can_be_set() -> None:
    one, other = "a b c d e f", "a b x d e f"
    for size, shared in ((1, 5), (2, 3), (3, 1), (4, 0)):
        shingler = Shingler(size)
        a, b = (set(shingler.shingles(shingler.words(text)).tolist()) for text in (one, other))
        assert len(a & b) == shared


@settings(deadline=None)
@given(st.text(st.characters(max_codepoint=0x24F, categories=["Lu", "Ll", "Nd"]), min_size=1))
def test_a_word_is_the_polynomial_of_its_letters(word: str) -> None:
    """The same sum, letter by letter, as the arrays compute for all words at once."""
    mask, total, power = (1 << 64) - 1, 0, 1
    for letter in word.replace("\u0130", "i").lower():
        state = (ord(letter) + 1) * 0x9E3779B97F4A7C15 & mask
        state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & mask
        state = (state ^ state >> 27) * 0x94D049BB133111EB & mask
        total += (state ^ state >> 31) * power
        power = power * 0xD1342543DE82EF95 & mask
    assert words(f"before {word} after")[1] == total & mask


def test_hashes_are_the_same_on_every_machine() -> None:
    """Stored sketches depend on them: a change here needs a new version in `parameters`."""
    found = SHINGLER.words("Héllo wörld 漢字 one two")
    assert found.tolist() == FIXED_WORDS
    assert SHINGLER.shingles(found).tolist() == FIXED_SHINGLES


@pytest.mark.parametrize(
    "sentence",
    [
        "近似重複とは、ほとんど同じ内容を持つ二つの文書のことである。",
        "网络爬虫必须识别几乎相同的网页否则索引会充满重复的内容。",
        "โปรแกรมรวบรวมข้อมูลต้องรู้จักหน้าเว็บที่เกือบเหมือนกัน",
        "ဝက်ဘ်စာမျက်နှာများသည် တူညီနိုင်သည်။ ထပ်နေသောစာ",
        "កម្មវិធីរុករកត្រូវស្គាល់ទំព័រដែលស្រដៀងគ្នា",
    ],
)
def test_scripts_without_spaces_are_compared_by_characters(sentence: str) -> None:
    letters = sorted({c for c in sentence if unicodedata.category(c)[0] in "LM"})
    generator = random.Random(3)
    text = "".join(generator.choices(letters, k=600))
    changed = text[:300] + letters[0] + letters[1] + text[302:]
    unrelated = "".join(generator.choices(letters, k=600))
    assert len(words(text)) == 600
    assert overlap(text, changed) > 0.95
    assert overlap(text, "。" + text) == 1.0
    assert overlap(text, unrelated) < 0.05


def test_a_mixed_text_keeps_both_kinds_of_words() -> None:
    assert words("abc漢字def") == [*words("abc"), *words("漢字"), *words("def")]
    assert words("漢字 abc") == [*words("漢字"), *words("abc")]
    # The same two characters apart are two words of one character, not one word of two.
    assert words("漢 字") != words("漢字")


def test_of_a_long_text_the_beginning_counts() -> None:
    shingler = Shingler(max_characters=1000)
    long = "word " * 1000
    assert len(shingler.words(long)) == 200
    assert len(shingler.words("x" * 5000)) == 1


@pytest.mark.parametrize(
    ("character", "count"), [("a", 1), ("漢", 500_000), ("a ", 250_000), ("\u200b", 0), ("\xad", 0)]
)
def test_hostile_texts_have_bounded_words(character: str, count: int) -> None:
    assert len(words(character * 3_000_000)) == count


def test_exact_bytes_are_equal_for_the_same_words_only() -> None:
    exact = {text: SHINGLER.exact(SHINGLER.words(text)) for text in ("a b", "A, b!", "b a", "ab")}
    assert exact["a b"] == exact["A, b!"]
    assert len(set(exact.values())) == 3
    assert {len(value) for value in exact.values()} == {8}


@pytest.mark.parametrize("arguments", [{"size": 0}, {"max_characters": 0}])
def test_impossible_parameters_are_refused(arguments: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Shingler(**arguments)


@pytest.mark.parametrize(
    ("character", "kind"),
    [
        (" ", GAP),
        ("a", LETTER),
        ("\u0301", LETTER),
        ("가", LETTER),
        ("漢", UNSPACED),
        ("カ", UNSPACED),
        ("ก", UNSPACED),
        ("。", GAP),
        ("\U0001f600", GAP),
        ("\u200d", IGNORED),
    ],
)
def test_kinds_of_characters(character: str, kind: int) -> None:
    kinds, values = characters()
    assert kinds[ord(character)] == kind
    assert (values[ord(character)] == 0) == (kind in (GAP, IGNORED))
