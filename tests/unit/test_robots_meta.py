"""Finding robots meta tags without a parse, against a parser."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from resiliparse.parse.html import HTMLTree

from webcrawler.robots import may_have_meta, meta_pairs, parse_meta
from webcrawler.robots.quick_meta import SCAN_LIMIT

TAG = '<meta name="robots" content="noindex">'
PAIR = ("robots", "noindex")


@pytest.mark.parametrize(
    "tag",
    [
        TAG,
        "<META NAME=ROBOTS CONTENT=noindex>",
        "<meta content='noindex' name='robots'/>",
        "<meta\n\tname = \"Robots\"\n content\n=\n'noindex' >",
        "<meta name=robots content=noindex/>",
        '<meta data-x="a>b" name="robots" content="noindex">',
        '<meta name="robots" content="noindex" name="other" content="all">',
        '<meta name="robots" content="no&#105;ndex">',
        '<meta/name="robots"/content="noindex">',
        f"<noscript>{TAG}</noscript>",
        f"<!-->{TAG}<!-- x -->",
        f"<!-- a -->{TAG}",
        f"<title><b>a</title>{TAG}",
        f"<script>if (a < b) '<!--'</script>{TAG}",
        f"</head><body><p>{TAG}",
        f"<metadata>{TAG}",
    ],
)
def test_tags_that_count(tag):
    page = f"<!doctype html><html><head>{tag}</head><body>x</body></html>".encode()
    assert may_have_meta(page)
    assert parse_meta(meta_pairs(page), "webcrawler").noindex


@pytest.mark.parametrize(
    "tag",
    [
        "",
        f"<!-- {TAG} -->",
        f"<!-- {TAG}",
        f"<script>document.write('{TAG}')</script>",
        f"<style>{TAG}</style>",
        f"<title>{TAG}</title>",
        f"<textarea>{TAG}</TEXTAREA >",
        f"<template>{TAG}</template>",
        TAG.replace("<", "&lt;"),
        '<meta property="robots" content="noindex">',
        '<meta name="robots">',
        '<metadata name="robots" content="noindex">',
    ],
)
def test_tags_that_do_not_count(tag):
    assert meta_pairs(f"<html><head>{tag}</head>".encode()) == []


def test_the_prescan():
    assert not may_have_meta(b"<html><head><meta charset=utf-8></head>robots")
    assert not may_have_meta(b'<a name="robots">')
    assert not may_have_meta(
        b"<meta name=viewport content=x><p>our robots, webcrawler", "webcrawler"
    )
    assert may_have_meta(b"<meta name='WebCrawler' content=none>", "webcrawler")
    assert not may_have_meta(b"<meta name='WebCrawler' content=none>", "other")
    assert not may_have_meta(b"")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16(encoding):
    page = f"\ufeff<html>{TAG}".encode(encoding)
    assert may_have_meta(page)
    assert meta_pairs(page) == [PAIR]
    assert may_have_meta(page[2:])
    assert meta_pairs(page[2:], encoding) == [PAIR]


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "no-such", "punycode", "idna", "hex", ""])
def test_any_encoding(encoding):
    assert meta_pairs(b"\xff\xe9" + TAG.encode(), encoding) == [PAIR]


@pytest.mark.parametrize(
    "piece",
    [
        "<",
        "<meta ",
        "<meta a=",
        "<meta a='",
        '<meta a="',
        "<meta " + "a " * 99,
        "<meta" + " " * 999,
        "<meta a" + "=" * 999,
        "<meta name=x content=x>",
        "<script>",
        "<!--",
        "<!-- -",
    ],
)
def test_hostile_pages(piece):
    page = (piece * (2 * SCAN_LIMIT // len(piece))).encode()
    assert len(meta_pairs(page)) <= 500
    assert may_have_meta(page) in (True, False)


def test_far_tags_are_not_read():
    page = b"<p>" + b" " * SCAN_LIMIT + TAG.encode()
    assert not may_have_meta(page)
    assert meta_pairs(page) == []


names = st.sampled_from(["robots", "ROBOTS", "description", "webcrawler", "viewport"])
contents = st.text("noidex, f&<>=/'\u00e9", max_size=12)
metas = st.builds(
    lambda tag, name, content, quote, swap: (
        f"<{tag} "
        + " ".join(
            [f"content={quote}{content.replace(quote, '')}{quote}", f"name={quote}{name}{quote}"][
                :: 1 if swap else -1
            ]
        )
        + ">"
    ),
    st.sampled_from(["meta", "META"]),
    names,
    contents,
    st.sampled_from(["'", '"']),
    st.booleans(),
)
others = st.sampled_from(
    [
        "<title>a <meta name=robots content=x></title>",
        "<!-- <meta name=robots content=x> -->",
        "<script>var a = '<meta name=robots content=x>'</script>",
        "<style>a > b {}</style>",
        "<link rel=canonical href=/a>",
        "<base href='/'>",
        "\n",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(metas | others, max_size=8), st.sampled_from(["", "</head><body><p>text"]))
def test_a_parser_finds_the_same(parts, end):
    page = f"<!doctype html><html><head>{''.join(parts)}{end}".encode()
    tree = HTMLTree.parse_from_bytes(page, "utf-8")
    expected = [
        (element.getattr("name"), element.getattr("content"))
        for element in tree.document.query_selector_all("meta[name][content]")
    ]
    assert meta_pairs(page) == expected
    if any(name.lower() in ("robots", "webcrawler") for name, _ in expected):
        assert may_have_meta(page, "webcrawler")


@settings(deadline=None)
@given(st.text("<>!-/='\" meta namecontent robots\n&#;script", max_size=200))
def test_the_prescan_misses_nothing_that_is_found(text):
    page = text.encode()
    if any(name.strip().lower() == "robots" for name, _ in meta_pairs(page)) and "&" not in text:
        assert may_have_meta(page)
