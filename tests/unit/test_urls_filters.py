"""The URL filter and the table of extensions."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawler.urls import (
    DEFAULT_DENIED_EXTENSIONS,
    URLFilter,
    compile_patterns,
    extensions_to_skip,
    normalize,
)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://example.org/", None),
        ("https://example.org/a.html?b=c.zip", None),
        ("http://example.zip/", None),
        ("http://example.zip/x", None),
        ("http://example.org/x.zip/y", None),
        ("http://example.org/zip", None),
        ("http://example.org/.zip", "extension"),
        ("http://example.org/x.zip", "extension"),
        ("http://example.org/x.ZIP?y=z", "extension"),
        ("http://example.org/x.tar.gz", "extension"),
        ("http://example.org/x.jpg;v=1", "extension"),
        ("http://example.org/x.jpg.html", None),
        ("http://example.org/x.pdf", None),
        ("ftp://example.org/", "scheme"),
        ("mailto:x@example.org", "scheme"),
        ("httpsx://example.org/", "scheme"),
        ("", "scheme"),
        ("http://example.org/" + "x" * 2029, None),
        ("http://example.org/" + "x" * 2030, "length"),
        ("http://example.org/a/b/a/b/a/b/a/b", None),
        ("http://example.org/a/b/a/b/a/b/a/b/a", "trap"),
        ("http://example.org/a/a/a/a", None),
        ("http://example.org/a/a/a/a/a", "trap"),
        ("http://example.org/a/a/a/a?a/a/a", None),
        ("http://example.org//////", "trap"),
        ("http://example.org/1/2/3/4/5/6/7/8/9/10/", None),
        ("http://example.org/" + "/".join(map(str, range(32))), None),
        ("http://example.org/" + "/".join(map(str, range(33))), "trap"),
        ("http://example.org/?" + "&".join("x" * 32), None),
        ("http://example.org/?" + "&".join("x" * 33), "trap"),
    ],
)
def test_the_usual_filter(url: str, reason: str | None) -> None:
    assert URLFilter().reason(url) == reason


def test_limits_are_told() -> None:
    strict = URLFilter(
        schemes=["HTTPS"],
        max_length=40,
        denied_extensions=[".PDF", "html"],
        max_repeats=1,
        max_segments=3,
        max_parameters=1,
    )
    assert strict.reason("http://a/") == "scheme"
    assert strict.reason("https://a/" + "x" * 31) == "length"
    assert strict.reason("https://a/x.Pdf") == "extension"
    assert strict.reason("https://a/x.html") == "extension"
    assert strict.reason("https://a/x.zip") is None
    assert strict.reason("https://a/x/y/z") is None
    assert strict.reason("https://a/x/x") == "trap"
    assert strict.reason("https://a/w/x/y/z") == "trap"
    assert strict.reason("https://a/?x=1") is None
    assert strict.reason("https://a/?x=1&y=2") == "trap"
    assert URLFilter(max_segments=2, max_repeats=9).reason("https://a/x/y/z") == "trap"
    assert URLFilter(denied_extensions=()).reason("https://a/x.zip") is None


def test_domains() -> None:
    judge = URLFilter(allowed_domains=["Example.org", ".b.test"], denied_domains=["x.example.org"])
    assert judge.reason("http://example.org/") is None
    assert judge.reason("http://www.example.org:8080/") is None
    assert judge.reason("http://a.b.test/") is None
    assert judge.reason("http://x.example.org/") == "domain"
    assert judge.reason("http://y.x.example.org/") == "domain"
    assert judge.reason("http://notexample.org/") == "domain"
    assert judge.reason("http://evil.test/example.org/") == "domain"
    assert URLFilter(denied_domains=["a.test"]).reason("http://b.test/") is None
    with pytest.raises(ValueError, match="not a host name"):
        URLFilter(allowed_domains=["no domain"])


def test_prefixes() -> None:
    judge = URLFilter(prefixes=["https://a.test/x", "http://b.test/"])
    assert judge.reason("https://a.test/xy") is None
    assert judge.reason("http://b.test/") is None
    assert judge.reason("http://a.test/x") == "prefix"


def test_expressions() -> None:
    judge = URLFilter(
        allow=[r"/docs/", re.compile("/BLOG/", re.IGNORECASE)], deny=[r"\?print", "old"]
    )
    assert judge.reason("http://a/docs/x") is None
    assert judge.reason("http://a/blog/x") is None
    assert judge.reason("http://a/DOCS/x") == "allow"
    assert judge.reason("http://a/docs/x?print=1") == "deny"
    assert judge.reason("http://a/old/") == "deny"
    assert URLFilter(deny=["old"]).reason("http://a/new/") is None


def test_a_bad_expression_is_refused() -> None:
    for keyword in ("allow", "deny"):
        with pytest.raises(re.error):
            URLFilter(**{keyword: ["(unclosed"]})
    with pytest.raises(re.error):
        compile_patterns(["fine", "*"])
    compiled = re.compile("x", re.IGNORECASE)
    assert compile_patterns([compiled, "y"]) == [compiled, re.compile("y")]


def test_extensions_of_unwanted_types_are_skipped() -> None:
    html = extensions_to_skip({"text/html"})
    assert html >= {"pdf", "jpg", "zip", "css", "js", "txt", "xml", "docx", "mp4", "woff2", "exe"}
    pages = {
        "html",
        "htm",
        "xhtml",
        "shtml",
        "php",
        "php5",
        "asp",
        "aspx",
        "jsp",
        "do",
        "cgi",
        "pl",
    }
    unknown = {"", "com", "org", "md", "py", "c", "5", "0", "a", "html5", "whatever"}
    for wanted in ({"text/html"}, {"application/pdf"}, set(), {"nonsense"}):
        assert not extensions_to_skip(wanted) & (pages | unknown)
    assert html - extensions_to_skip({"text/html", "application/pdf"}) == {"pdf"}
    assert html - extensions_to_skip(["Text/Plain; charset=utf-8"]) == {"txt"}
    assert {"rss", "xml"} <= html - extensions_to_skip({"application/rss+xml"})
    assert {"jpg", "png", "ico"} <= html - extensions_to_skip({"image/*"})
    assert "mp3" in extensions_to_skip({"image/*"})
    assert extensions_to_skip({"*/*"}) == extensions_to_skip({"*"}) == frozenset()


def test_the_usual_extensions_are_of_media_and_not_of_texts() -> None:
    usual = set(DEFAULT_DENIED_EXTENSIONS)
    assert usual >= {"jpg", "png", "svg", "mp3", "mp4", "zip", "gz", "exe", "iso", "woff2"}
    assert not usual & {"pdf", "txt", "xml", "rss", "doc", "html", "json"}
    assert usual <= extensions_to_skip({"text/html"})


@given(st.text(st.characters(codec=None, exclude_categories=()), max_size=80))
def test_no_text_raises(text: str) -> None:
    words = {None, "length", "scheme", "extension", "trap", "domain", "allow"}
    judge = URLFilter(denied_domains=["a.test"], allowed_domains=["b.test"], allow=["x"])
    for url in (text, f"http://{text}", normalize(text, "http://b.test/") or ""):
        assert judge.reason(url) in words
