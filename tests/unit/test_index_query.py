"""Queries as people type them, and as people should not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawler.index.errors import QueryError
from webcrawler.index.query import MAX_CLAUSES, Clause, parse_query


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("zebra", [Clause("zebra")]),
        ("  zebra\tlion ", [Clause("zebra"), Clause("lion")]),
        ('"striped zebra" lion', [Clause("striped zebra"), Clause("lion")]),
        ("„striped zebra“", [Clause("striped zebra")]),
        ("zebra -lion", [Clause("zebra"), Clause("lion", "", True)]),
        ("zebra \u2212lion", [Clause("zebra"), Clause("lion", "", True)]),
        ('zebra -"sea lion"', [Clause("zebra"), Clause("sea lion", "", True)]),
        ("zebra - lion", [Clause("zebra"), Clause("lion")]),
        ("title:zebra", [Clause("zebra", "title")]),
        ('Title:"a zebra"', [Clause("a zebra", "title")]),
        ("anchor:zebra", [Clause("zebra", "anchors")]),
        ("url:docs/zebra", [Clause("docs/zebra", "url")]),
        ("site:Example.ORG zebra", [Clause("example.org", "host"), Clause("zebra")]),
        ("site:bücher.example", [Clause("xn--bcher-kva.example", "host")]),
        ("site:https://a.example/x", [Clause("a.example", "host")]),
        ("site:*.a.example", [Clause("a.example", "host")]),
        ("site:127.0.0.1:8000", [Clause("127.0.0.1:8000", "host")]),
        ("zebra -site:a.example", [Clause("zebra"), Clause("a.example", "host", True)]),
        ("std::vector state-of-the-art", [Clause("std::vector"), Clause("state-of-the-art")]),
        ("foo:bar", [Clause("foo:bar")]),
        ("C++ +++", [Clause("C++")]),
        ("zebra* /x.*/ lion~2", [Clause("zebra*"), Clause("/x.*/"), Clause("lion~2")]),
        ('a"b c"d', [Clause("a"), Clause("b c"), Clause("d")]),
    ],
)
def test_what_people_type(text: str, clauses: list[Clause]) -> None:
    assert list(parse_query(text).clauses) == clauses


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the query is empty"),
        ("   ", "the query is empty"),
        ('zebra "lion', "the quotation mark before 'lion' is not closed"),
        ("-zebra", "only says what is not wanted"),
        ("-site:a.example", "only says what is not wanted"),
        ("title:", "there is no word after title:"),
        ('title:""', "there is no word after title:"),
        ("site:", "site: needs a host"),
        ('site:"a b"', "site: needs a host"),
        ("site:%%%", "site: needs a host"),
        ("!!! ???", "there is no word to search for"),
        ("-", "there is no word to search for"),
        ("x" * 1001, "1001 characters"),
        ("x " * 200, "200 parts"),
        ('"' + "x " * 50 + '"', "50 words"),
        ("x-" * 50, "50 words"),
    ],
)
def test_what_makes_no_sense_gets_one_clear_sentence(text: str, sentence: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse_query(text)
    message = str(caught.value)
    assert sentence in message
    assert "\n" not in message
    assert len(message) < 200
    assert isinstance(caught.value, ValueError)


pieces = st.sampled_from(
    [
        '"',
        "-",
        ":",
        "title:",
        "site:",
        "url:",
        "a.example",
        "zebra",
        " ",
        "(",
        ")",
        "*",
        "~",
        "ü",
        "北",
    ]
)


@given(st.one_of(st.text(max_size=1200), st.lists(pieces, max_size=60).map("".join)))
def test_any_text_is_a_query_or_an_error(text: str) -> None:
    try:
        query = parse_query(text)
    except QueryError as error:
        sentence = str(error)
    else:
        assert 1 <= len(query.clauses) <= MAX_CLAUSES
        assert query.wanted
        return
    assert sentence
    assert "\n" not in sentence
