"""The meaning of a meta refresh, by the cases of the web platform tests."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.suites import suite_path
from webcrawler.documents import open_document, parse_refresh


def test_suite() -> None:
    cases = json.loads(suite_path("html/wpt_meta_refresh.json").read_text())
    wrong = []
    for case in cases:
        expected = (case["seconds"], case["url"]) if case["refreshes"] else None
        if parse_refresh(case["content"]) != expected:
            wrong.append((case, parse_refresh(case["content"])))
    assert len(cases) > 70
    assert wrong == []


@given(st.text())
def test_any_text(content: str) -> None:
    parsed = parse_refresh(content)
    assert parsed is None or parsed[0] >= 0


def test_a_million_digits() -> None:
    parsed = parse_refresh("9" * 1_000_000 + ";url=x")
    assert parsed is not None
    assert parsed[0] >= 10**9
    assert parsed[1] == "x"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("5; url=/next", (5, "http://a.example/next")),
        ("0", (0, "http://a.example/d/")),
        ("0; url=//b.example/x#f", (0, "http://b.example/x")),
        ("0; url=javascript:alert(1)", None),
        ("url=/next", None),
    ],
)
def test_of_a_page(content: str, expected: tuple[int, str] | None) -> None:
    body = f'<meta http-equiv=Refresh content="{content}">'.encode()
    assert open_document(body, "http://a.example/d/", "text/html").refresh == expected


def test_it_is_a_link_unless_it_reloads() -> None:
    def kinds(content: str) -> list[str]:
        body = f'<meta http-equiv=refresh content="{content}">'.encode()
        return [link.kind for link in open_document(body, "http://a.example/", "text/html").links]

    assert kinds("1; url=/x") == ["refresh"]
    assert kinds("1") == []


def test_one_for_readers_without_scripts_is_ignored() -> None:
    body = b'<noscript><meta http-equiv=refresh content="0; url=/excuse"></noscript>'
    assert open_document(body, "http://a.example/", "text/html").refresh is None
