"""The row of a page's links: everything comes back, and nothing grows without bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawler.index.links import (
    MAX_TARGETS,
    MAX_TEXT,
    MAX_TEXTS,
    pack_links,
    target_fingerprints,
    unpack_links,
)
from webcrawler.items import Link

SOURCE = "https://a.example/"


def number(url: str) -> int:
    """A fingerprint that can be read: the digits of the URL."""
    digits = "".join(character for character in url if character.isdigit())
    return int(digits or 0) % (1 << 64)


def packed(links: list[Link], **options: bool) -> bytes:
    return pack_links(number(SOURCE), SOURCE, links, number, **options)


def url(page: int) -> str:
    return f"https://t.example/{page}"


@pytest.mark.parametrize("compress", [False, True])
def test_everything_comes_back(compress: bool) -> None:
    links = [
        Link(url(1), "one"),
        Link(url(2), "zwei ü", "nofollow"),
        Link(url(1), "eins", "next"),
        Link(url(1), "one"),
        Link(url(3), ""),
    ]
    row = unpack_links(packed(links, compress=compress))
    assert row.url == SOURCE
    assert [(link.fingerprint, link.url, link.text, link.rel) for link in row] == [
        (1, url(1), "one", ""),
        (1, url(1), "eins", "next"),
        (2, url(2), "zwei ü", "nofollow"),
        (3, url(3), "", ""),
    ]
    assert target_fingerprints(packed(links, compress=compress)) == (1, 2, 3)


def test_a_page_without_links_has_an_empty_row() -> None:
    row = unpack_links(packed([]))
    assert list(row) == []
    assert row.groups() == []


def test_links_to_the_page_itself_are_left_out() -> None:
    links = [Link(url(7), "self"), Link(url(1), "one")]
    row = unpack_links(pack_links(7, url(7), links, number))
    assert row.fingerprints == (1,)


def test_two_spellings_of_a_page_are_one_target() -> None:
    links = [Link(url(1), "one"), Link(url(1) + "?utm", "two")]
    row = unpack_links(packed(links))
    assert row.fingerprints == (1,)
    assert row.texts == ["one", "two"]


def test_groups_leave_out_what_does_not_count() -> None:
    links = [
        Link(url(1), "one"),
        Link(url(1), "uno", "nofollow"),
        Link(url(2), "two", "noopener sponsored"),
        Link(url(3), "three", "noopener"),
        Link(url(4), "four", "ugc"),
        Link(url(4), "four", ""),
    ]
    assert unpack_links(packed(links)).groups() == ["one", None, "three", "four"]


def test_a_row_is_bounded() -> None:
    many = [Link(url(page), "x") for page in range(1, MAX_TARGETS + 100)]
    assert len(unpack_links(packed(many)).urls) == MAX_TARGETS
    texts = [Link(url(1), f"text {n}") for n in range(100)]
    assert len(unpack_links(packed(texts)).texts) == MAX_TEXTS
    long = unpack_links(packed([Link(url(1), "x" * 10_000), Link(url(2) + "x" * 10_000, "y")]))
    assert [(link.url, len(link.text)) for link in long] == [(url(1), MAX_TEXT)]
    rels = [Link(url(page), "x", f"rel{page}") for page in range(1, 600)]
    assert len(list(unpack_links(packed(rels)))) == 599


words = st.text(max_size=20)


@given(st.lists(st.tuples(st.integers(1, 50), words, words)), st.booleans())
def test_no_text_breaks_a_row(found: list[tuple[int, str, str]], compress: bool) -> None:
    """Tabs, new lines, surrogates: one row holds as many targets as went in."""
    links = [Link(url(page), text, rel) for page, text, rel in found]
    data = packed(links, compress=compress)
    row = unpack_links(data)
    assert row.fingerprints == tuple(dict.fromkeys(page for page, _, _ in found))
    assert [number(url) for url in row.urls] == list(row.fingerprints)
    assert len(row.texts) == sum(row.counts) == len(row.rel_of)
    assert len(row.groups()) == len(row.fingerprints)


def test_a_row_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown kind"):
        unpack_links(b"\x09" + bytes(40))
