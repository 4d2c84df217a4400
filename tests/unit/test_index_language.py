"""Languages: told apart well enough, and each analysed in its own way."""

from __future__ import annotations

import pytest

from webcrawler.index.language import (
    ANALYSES,
    CHARACTERS,
    MAX_TOKEN_BYTES,
    WORDS,
    analysis_of,
    analyzer,
    declared_language,
    detect_language,
)

GERMAN = "Die Häuser der alten Stadt wurden im Krieg zerstört und danach wieder aufgebaut. " * 4
FRENCH = "Les maisons de la vieille ville ont été détruites pendant la guerre et rebâties. " * 4
RUSSIAN = "Дома старого города были разрушены во время войны и затем восстановлены. " * 4
CHINESE = "北京是中华人民共和国的首都也是全国的政治中心和文化中心。" * 8
JAPANESE = "東京は日本の首都であり、世界でも最大級の都市のひとつです。" * 8


@pytest.mark.parametrize(
    ("text", "declared", "language"),
    [
        (GERMAN, "", "de"),
        (FRENCH, "", "fr"),
        (RUSSIAN, "", "ru"),
        (CHINESE, "", "zh"),
        (JAPANESE, "", "ja"),
        (GERMAN, "de-AT", "de"),
        (RUSSIAN, "en", "ru"),  # a template's claim, and Cyrillic letters
        (CHINESE, "en-US", "zh"),
        (GERMAN, "zh", "de"),
        ("short", "", ""),
        ("short", "fr", "fr"),
        ("", "", ""),
    ],
)
def test_languages_are_told_apart(text: str, declared: str, language: str) -> None:
    assert detect_language(text, declared) == language


@pytest.mark.parametrize(
    ("declared", "language"),
    [
        ("en", "en"),
        ("EN-us", "en"),
        ("de_DE", "de"),
        ("de-AT, en", "de"),
        (" nb ", "no"),
        ("", ""),
        ("x", ""),
        ("english", ""),
        ("<script>", ""),
    ],
)
def test_what_pages_declare(declared: str, language: str) -> None:
    assert declared_language(declared) == language


@pytest.mark.parametrize(
    ("language", "text", "analysis"),
    [
        ("en", "", "en"),
        ("de", "", "de"),
        ("zh", "", CHARACTERS),
        ("th", "", CHARACTERS),
        ("pl", "", WORDS),
        ("", "whatever", "en"),
        ("", CHINESE, CHARACTERS),
    ],
)
def test_analyses(language: str, text: str, analysis: str) -> None:
    assert analysis_of(language, text) == analysis


@pytest.mark.parametrize("analysis", ANALYSES)
def test_every_analysis_folds_case_and_bounds_its_tokens(analysis: str) -> None:
    tokens = analyzer(analysis).analyze("ZEBRA zebra " + "x" * 10_000)
    assert len(tokens) == 2
    assert tokens[0] == tokens[1]
    assert all(len(token.encode()) <= MAX_TOKEN_BYTES for token in tokens)


def test_stems_are_those_of_the_language() -> None:
    assert analyzer("en").analyze("libraries library running") == ["librari", "librari", "run"]
    assert analyzer("de").analyze("Häuser Haus") == ["haus", "haus"]
    assert analyzer(WORDS).analyze("libraries Café") == ["libraries", "cafe"]


def test_scripts_without_spaces_become_characters_and_words_stay_words() -> None:
    assert analyzer(CHARACTERS).analyze("北京 python3") == ["北", "京", "python3"]
