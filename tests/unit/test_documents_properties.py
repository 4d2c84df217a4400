"""Whatever the bytes: no document raises, and every link is one that `normalize` gives."""

from __future__ import annotations

import gzip
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webcrawler.documents import DOCUMENTS, SITEMAP, Options, mime_of, open_document
from webcrawler.urls import normalize

HEADERS = sorted(
    {*DOCUMENTS, "", "text/xml", "application/gzip", "nonsense", "image/png"} - {"application/pdf"}
)
CHARSETS = ["", "utf-8", "utf-16", "shift_jis", "gbk", "iso-2022-jp", "windows-1252", "klingon"]
SNIPPETS = [
    b"<a href=x>text</a>",
    b'<a href="/y?a=1&amp;b">',
    b"<base href=//b.example/>",
    b"<meta charset=koi8-r>",
    b"<meta http-equiv=refresh content='0; url=z'>",
    b"<meta name=robots content=noindex>",
    b"<link rel=canonical href=c>",
    b"<script>",
    b"</script>",
    b"<!--",
    b"-->",
    b"<template>",
    b"<svg>",
    b"<table><td>",
    b"<b class=x>",
    b"</p>",
    b"<select><option>",
    b"<frameset>",
    b"<urlset>",
    b"<url><loc>http://a.example/x</loc>",
    b"<rss><channel><item><title>t</title><link>u</link>",
    b"<feed><entry><link href=v />",
    b"<![CDATA[",
    b"]]>",
    b"<!DOCTYPE x [<!ENTITY y 'z'>]>",
    b"&y;",
    b"&#0;",
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\x1f\x8b\x08",
    b"http://a.example/q",
]
BODIES = st.one_of(
    st.binary(max_size=500),
    st.lists(st.one_of(st.sampled_from(SNIPPETS), st.binary(max_size=8)), max_size=40).map(
        b"".join
    ),
)


def ask_everything(body: bytes, header: str, options: Options) -> None:
    document = open_document(body, "http://a.example/dir/", header, options=options)
    assert isinstance(document.text, str)
    assert isinstance(document.main_text, str)
    assert isinstance(document.title, str)
    assert isinstance(document.language, str)
    assert isinstance(document.encoding, str)
    assert isinstance(document.base_url, str)
    assert len(document.text) <= options.max_text_chars
    assert len(document.links) <= options.max_links
    for link in document.links:
        assert normalize(link.url) == link.url
        assert (
            link.text == " ".join(link.text.split()) or len(link.text) == options.max_anchor_chars
        )
        assert link.rel == link.rel.lower()
    for text in (document.text, document.title, *(link.text for link in document.links)):
        text.encode("utf-8")
    for name, content in document.robots_meta:
        assert name == name.lower()
        assert content == content.lower()
    assert document.refresh is None or document.refresh.seconds >= 0
    assert document.canonical is None or normalize(document.canonical) == document.canonical
    assert len(set(document.problems)) == len(document.problems)


@settings(max_examples=400, deadline=None)
@given(BODIES, st.sampled_from(HEADERS), st.sampled_from(CHARSETS))
def test_any_bytes_as_any_type(body: bytes, mime: str, charset: str) -> None:
    header = f"{mime}; charset={charset}" if charset else mime
    ask_everything(body, header, Options(max_links=20, max_text_chars=300, resources=True))


@settings(max_examples=100, deadline=None)
@given(BODIES)
def test_any_bytes_compressed(body: bytes) -> None:
    ask_everything(gzip.compress(body), SITEMAP, Options(max_sitemap_bytes=1000))


@settings(max_examples=6, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_as_pdf(body: bytes) -> None:
    ask_everything(b"%PDF-1.7\n" + body, "application/pdf", Options())


@settings(deadline=None)
@given(st.text(max_size=100), st.text(max_size=100), st.binary(max_size=200))
def test_any_header_and_url(header: str, url: str, body: bytes) -> None:
    assert re.fullmatch(r"[^/\s]+/[^/\s]+", mime_of(header, url, body))
    document = open_document(body, url, header)
    assert isinstance(document.links, list)
    assert isinstance(document.url, str)


HREFS = st.one_of(
    st.text(max_size=40),
    st.text(alphabet="abAB./?#:%2e@\\ \t\n-_~;=&é[]", max_size=30),
    st.sampled_from(["http://b.example", "//b.example/x", "../../..", "?", "a:b", "/.%2e/x", "."]),
)


@settings(max_examples=500, deadline=None)
@given(
    st.lists(HREFS, min_size=1, max_size=6),
    st.sampled_from(
        ["http://a.example/d/e.html?q", "https://a.example:8443", "http://a.example/d/"]
    ),
)
def test_links_are_what_normalize_says(hrefs: list[str], url: str) -> None:
    # What the parser itself changes within an attribute is left out.
    hrefs = [re.sub('["&\0\r\ud800-\udfff]', "", href) for href in hrefs]
    body = "".join(f'<a href="{href}">x</a>' for href in hrefs).encode()
    found = [link.url for link in open_document(body, url, "text/html; charset=utf-8").links]
    expected = []
    for href in hrefs:
        target = normalize(href, url) if href else None
        if target is not None and target != normalize(url):
            expected.append(target)
    skipped = ("javascript:", "mailto:", "data:", "tel:", "about:", "blob:", "sms:")
    assert found == [target for target in expected if not target.startswith(skipped)]


@pytest.mark.parametrize("mime", sorted(DOCUMENTS))
def test_nothing_at_all(mime: str) -> None:
    ask_everything(b"", mime, Options())
