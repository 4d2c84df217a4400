"""What a body is: by its header, its first bytes, its URL."""

from __future__ import annotations

import gzip

import pytest

from webcrawler.documents import can_parse, mime_of, open_document, parse_content_type
from webcrawler.documents.document import Document

SITEMAP = "application/x-sitemap+xml"
URLSET = b'<?xml version="1.0"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
RSS = b'<?xml version="1.0"?><!-- c --><rss version="2.0"><channel>'
ATOM = b'<feed xmlns="http://www.w3.org/2005/Atom">'
PNG = b"\x89PNG\r\n\x1a\n\0\0\0"


def packed(data: bytes) -> bytes:
    """Without the time in it: the names of the tests must be the same at every collection."""
    return gzip.compress(data, mtime=0)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("text/html", ("text/html", "")),
        ("Text/HTML; Charset=UTF-8", ("text/html", "utf-8")),
        ('text/html;charset="iso-8859-1"; x=y', ("text/html", "iso-8859-1")),
        ("text/html; charset='koi8-r'", ("text/html", "koi8-r")),
        ("text/html; x=y; charset = latin1 ", ("text/html", "latin1")),
        ("text/html, text/plain; charset=utf-8", ("text/plain", "utf-8")),
        ("text/html; charset=utf-8, */*", ("*/*", "")),
        ("html", ("", "")),
        ("", ("", "")),
        (";;;,,,", ("", "")),
        ("text/html; charset=", ("text/html", "")),
    ],
)
def test_headers(header: str, expected: tuple[str, str]) -> None:
    assert parse_content_type(header) == expected


@pytest.mark.parametrize(
    ("header", "url", "body", "expected"),
    [
        # Believed.
        ("text/html", "/", b"<!doctype html><p>", "text/html"),
        ("text/html", "/", b"plain words", "text/html"),
        ("text/html", "/", b"\n\n <p>x", "text/html"),
        ("text/html", "/", b"\xef\xbb\xbf<html>", "text/html"),
        ("text/html", "/", b"<?xml version='1.0'?><!DOCTYPE html><html>", "text/html"),
        ("application/json", "/", b"{}", "application/json"),
        ("image/png", "/", b"<html>", "image/png"),
        ("text/css", "/", b"p {}", "text/css"),
        ("application/xhtml+xml", "/", b"<html>", "application/xhtml+xml"),
        ("text/plain", "/", b"<html> as a text", "text/plain"),
        ("application/pdf", "/", b"%PDF-1.4", "application/pdf"),
        # Wrong.
        ("text/html", "/", b"%PDF-1.4", "application/pdf"),
        ("text/html", "/", PNG, "image/png"),
        ("text/html", "/", RSS, "application/rss+xml"),
        ("text/html", "/", b"  " + ATOM, "application/atom+xml"),
        ("text/html", "/", URLSET, SITEMAP),
        ("text/plain", "/", b"%PDF-1.4", "application/pdf"),
        ("text/plain", "/", b"a\0b", "application/octet-stream"),
        ("text/plain", "/sitemap.txt", b"http://a.example/\nhttp://a.example/b\n", SITEMAP),
        ("text/plain", "/urls.txt", b"http://a.example/\nhttp://a.example/b\n", "text/plain"),
        ("application/pdf", "/x.pdf", b"<html>404", "text/html"),
        # XML of any kind.
        ("text/xml", "/", URLSET, SITEMAP),
        ("application/xml", "/", b"<sitemapindex>", SITEMAP),
        ("application/xml", "/", b"<s:urlset xmlns:s='x'>", SITEMAP),
        ("application/xml", "/", RSS, "application/rss+xml"),
        ("application/rss+xml", "/", ATOM, "application/atom+xml"),
        (
            "application/rdf+xml",
            "/",
            b"<rdf:RDF xmlns='http://purl.org/rss/1.0/'>",
            "application/rss+xml",
        ),
        ("text/xml", "/", b"<html xmlns='x'>", "application/xhtml+xml"),
        ("text/xml", "/", b"<!DOCTYPE x [<!ENTITY a 'b'>]><thing/>", "application/xml"),
        ("application/xml", "/", "\ufeff<urlset>".encode("utf-16-le"), SITEMAP),
        # Said by whoever found it listed as a sitemap.
        (SITEMAP, "/x", b"http://a.example/", SITEMAP),
        (SITEMAP, "/x", packed(packed(URLSET)), SITEMAP),
        (SITEMAP, "/x", b"<!doctype html><title>Not found", "text/html"),
        # Says nothing.
        ("", "/", b"<!DOCTYPE HTML PUBLIC", "text/html"),
        ("", "/", b"  \n<TITLE>", "text/html"),
        ("application/octet-stream", "/", b"<html >", "text/html"),
        ("application/octet-stream", "/", b"words", "text/plain"),
        ("", "/", PNG, "image/png"),
        ("", "/", URLSET, SITEMAP),
        ("*/*", "/", ATOM, "application/atom+xml"),
        ("", "/", b"<?xml version='1.0'?><thing/>", "application/xml"),
        # Compressed.
        ("application/x-gzip", "/sitemap.xml.gz", packed(URLSET), SITEMAP),
        ("application/octet-stream", "/x", packed(URLSET), SITEMAP),
        ("text/xml", "/x", packed(URLSET), SITEMAP),
        ("application/gzip", "/x", packed(b"http://a.example/x\n"), SITEMAP),
        ("application/gzip", "/x.tar.gz", packed(b"\0" * 1000), "application/gzip"),
        ("application/gzip", "/x", b"\x1f\x8b\x08broken", "application/gzip"),
        # No body: the header, else the extension.
        ("text/html", "/x.pdf", b"", "text/html"),
        ("", "/x.pdf?a=b.html", b"", "application/pdf"),
        ("", "/dir/", b"", "text/html"),
        ("", "/x.HTM#f", b"", "text/html"),
        ("", "/x.zip", b"", "application/octet-stream"),
        ("", "http://[", b"", "application/octet-stream"),
    ],
)
def test_mime_of(header: str, url: str, body: bytes, expected: str) -> None:
    url = f"http://a.example{url}" if url.startswith("/") else url
    assert mime_of(header, url, body) == expected


def test_what_can_be_parsed() -> None:
    assert can_parse("text/html")
    assert can_parse("application/pdf")
    assert not can_parse("image/png")
    assert not can_parse("application/json")


def test_a_document_of_another_type_is_empty() -> None:
    document = open_document(PNG, "HTTP://A.example", "image/png")
    assert type(document) is Document
    assert document.url == document.base_url == "http://a.example/"
    assert (document.text, document.links, document.title, document.main_text) == ("", [], "", "")
    assert (document.canonical, document.refresh, document.robots_meta) == (None, None, [])
    assert document.problems == []
