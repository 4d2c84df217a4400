from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.http import Headers, HtmlResponse, JsonResponse, Response, TextResponse, XmlResponse
from scrapy.responsetypes import responsetypes

from webcrawler.download.responses import make_headers, response_class

TYPES = [
    *("text/html", "TEXT/HTML; charset=utf-8", "application/xhtml+xml", "text/plain", "text/xml"),
    *("application/rss+xml", "application/json", "application/javascript", "text/x-odd"),
    *("application/octet-stream", "image/png", "Image/SVG+xml", "application/pdf", "", "nonsense"),
    *("application/zip", "video/mp4", "multipart/form-data", "\xe9/\xff", " text/html"),
]
BODIES = [b"", b"<html><p>x", b"<?xml version='1.0'?>", b"plain", b"\x00\x01\x02\xff" * 10]
URLS = ["http://a/x", "http://a/x.html", "http://a/x.png", "http://a/x.json", "http://a/x.xml.gz"]


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=12), st.binary(max_size=20))))
def test_headers_are_those_scrapy_would_make(pairs: list[tuple[bytes, bytes]]) -> None:
    ours, scrapys = make_headers(pairs), Headers(pairs)
    assert ours == scrapys
    assert list(ours.items()) == list(scrapys.items())


def test_headers_keep_order_bytes_and_duplicates() -> None:
    headers = make_headers([(b"set-cookie", b"a=\xff"), (b"X", b"1"), (b"Set-Cookie", b"b")])
    assert headers.getlist("Set-Cookie") == [b"a=\xff", b"b"]
    assert headers.get("x") == b"1"
    headers["x"] = "2"
    assert headers.getlist("X") == [b"2"]


@pytest.mark.parametrize("content_type", TYPES)
def test_the_class_is_the_one_scrapy_would_choose(content_type: str) -> None:
    headers = make_headers([(b"Content-Type", content_type.encode("latin-1"))])
    for url in URLS:
        for body in BODIES:
            ours = response_class(headers, url, body)
            scrapys = responsetypes.from_args(headers=headers, url=url, body=body)
            if content_type.lower().startswith(("image/", "video/", "application/pdf")) or (
                content_type == "application/zip"
            ):
                # Scrapy guesses on from the URL and the body; a picture stays a picture here.
                assert ours is Response
            else:
                assert ours is scrapys


def test_classes_for_callbacks() -> None:
    def kind(content_type: bytes) -> type[Response]:
        return response_class(make_headers([(b"Content-Type", content_type)]), "http://a/", b"")

    assert kind(b"text/html; charset=x") is HtmlResponse
    assert kind(b"application/xml") is XmlResponse
    assert kind(b"application/json") is JsonResponse
    assert kind(b"text/css") is TextResponse
    assert kind(b"image/gif") is Response


def test_compressed_bodies_wait_for_the_middleware() -> None:
    headers = make_headers([(b"Content-Type", b"text/html"), (b"Content-Encoding", b"gzip")])
    assert response_class(headers, "http://a/x.html", b"\x1f\x8b") is Response


def test_without_a_type_the_content_tells() -> None:
    assert response_class(Headers(), "http://a/", b"<html>") is HtmlResponse
    assert response_class(Headers(), "http://a/", b"\x00\xff\x01") is Response
