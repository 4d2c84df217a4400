"""The BASE tag: in its place, once, right, and nothing else changed."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from resiliparse.parse.html import HTMLTree

from webcrawler.archive import with_base

URL = "http://example.org/a/page.html?x=1&y=2"
TAG = '<base href="http://example.org/a/page.html?x=1&amp;y=2">'


def based(html: str, url: str = URL) -> str:
    return with_base(html.encode(), url).decode()


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<html><head><title>t</title>", f"<html><head>{TAG}<title>t</title>"),
        ("<HEAD lang='>'>x", f"<HEAD lang='>'>{TAG}x"),
        ("<!doctype html><html lang=en><body>x",
         f"<!doctype html><html lang=en><head>{TAG}</head><body>x"),
        ("<!DOCTYPE html><title>t</title>", f"<!DOCTYPE html><head>{TAG}</head><title>t</title>"),
        ("<!-- <head> --><p>x", f"<!-- <head> --><head>{TAG}</head><p>x"),
        ("plain words", f"<head>{TAG}</head>plain words"),
        ("", f"<head>{TAG}</head>"),
        ("<p>x<head>", f"<head>{TAG}</head><p>x<head>"),
        ("<header>x</header>", f"<head>{TAG}</head><header>x</header>"),
        # The encoding stays where browsers look for it.
        ("<head>\n<meta charset=utf-8><title>", f"<head>\n<meta charset=utf-8>{TAG}<title>"),
        ("<head><meta name=a><meta charset=b>", f"<head>{TAG}<meta name=a><meta charset=b>"),
        # A base without an address is none.
        ("<head><base target=_blank>", f"<head>{TAG}<base target=_blank>"),
        ("<head><basefont href=x>", f"<head>{TAG}<basefont href=x>"),
        # What only looks like one.
        ("<head><script>'<base href=x>'</script>", f"<head>{TAG}<script>'<base href=x>'</script>"),
        ("<head><title><base href=x></title>", f"<head>{TAG}<title><base href=x></title>"),
        ("<head><!--<base href=x>--></head>", f"<head>{TAG}<!--<base href=x>--></head>"),
        ('<head><a title="<base href=x>">', f'<head>{TAG}<a title="<base href=x>">'),
        ("<head><script><base href=x>", f"<head>{TAG}<script><base href=x>"),
    ],
)  # fmt: skip
def test_a_tag_is_added_where_it_belongs(html, expected):
    assert based(html) == expected


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("<base href='/b/'>", '<base href="http://example.org/b/">'),
        ("<base href=c/d>", '<base href="http://example.org/a/c/d">'),
        ('<BASE target="_top" HREF = "//x.org/?a&amp;b">',
         '<BASE target="_top" href="http://x.org/?a&amp;b">'),
        ("<base/href='?q'/>", '<base/href="http://example.org/a/page.html?q"/>'),
        ("<base href>", '<base href="http://example.org/a/page.html?x=1&amp;y=2">'),
        ("<base title='href=x' href='y'>", "<base title='href=x' href=\"http://example.org/a/y\">"),
        ("<base href='javascript:alert(1)'>",
         '<base href="http://example.org/a/page.html?x=1&amp;y=2">'),
        ("<base href='http://['>", '<base href="http://example.org/a/page.html?x=1&amp;y=2">'),
        ("<base href='http://other.org/z/'>", "<base href='http://other.org/z/'>"),
    ],
)  # fmt: skip
def test_an_existing_base_is_made_absolute(given, made):
    assert based(f"<head>{given}</head>") == f"<head>{made}</head>"


def test_the_first_base_counts_wherever_it_is():
    html = "<p><base target=x><style>a{}</style><base href=one><base href=two>"
    assert based(html) == html.replace("href=one", 'href="http://example.org/a/one"')


@pytest.mark.parametrize(
    "encoding", ["utf-16-le", "utf-16-be", "utf-16", "shift_jis", "windows-1251"]
)
def test_other_encodings_keep_their_bytes(encoding):
    html = "<html><head><title>Страница</title></head>"
    expected = html.replace("<head>", f"<head>{TAG}")
    codec = "utf-16-le" if encoding == "utf-16" else encoding
    assert with_base(html.encode(codec), URL, encoding) == expected.encode(codec)


@pytest.mark.parametrize(
    ("mark", "codec"),
    [(b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")],
)
def test_a_byte_order_mark_stays_first_and_decides(mark, codec):
    html = mark + "<p>ж".encode(codec)
    expected = mark + f"<head>{TAG}</head><p>ж".encode(codec)
    assert with_base(html, URL, "windows-1252") == expected


def test_what_is_not_its_encoding_is_left_alone():
    assert with_base(b"abc", URL, "utf-16") == b"abc"
    assert with_base(b"abcd", URL, "utf-16-nonsense") == b"abcd"
    assert TAG.encode() in with_base(b"\xff\xff<p>", URL, "no-such-thing")


def test_an_address_cannot_leave_its_attribute():
    html = based("<head>", "http://example.org/\"><script>é'")
    assert re.fullmatch(r'<head><base href="[^"<>]*">', html)


SCRAPS = [
    "<base href=x>", "<base target=y>", "<base ", "href='z'", "<html>", "<head>", "</head>",
    "<body>", "<!doctype html>", "<!--", "-->", "<script>", "</script>", "<title>", "</title>",
    "<style>", "<p>", "<a ", ">", "'", '"', "=", "/", "<", " ", "text",
    "<meta charset=utf-8>", "<textarea>",
]  # fmt: skip


@settings(max_examples=500)
@given(st.lists(st.sampled_from(SCRAPS), max_size=12).map("".join))
@example("<base href=x")
@example("<head><base href='x")
@example('<a ="<head>')
@example("<!--><base href=a>")
@example("<!-->-->")
def test_browsers_see_one_right_base_in_any_soup(soup):
    html = with_base(soup.encode(), URL).decode()
    bases = HTMLTree.parse_from_bytes(html.encode()).document.query_selector_all("base")
    addresses = [base["href"] for base in bases if base.hasattr("href")]
    assert addresses[0].startswith("http://example.org/")
    if "href" not in soup:
        assert soup in (html.replace(TAG, ""), html.replace(f"<head>{TAG}</head>", ""))


@pytest.mark.parametrize(
    "hostile",
    ["<a " * 200_000, "<!--" * 200_000, "<a ='" * 200_000, "<base " * 100_000, "<head><meta "
     + "charset " * 100_000, "<script>" * 100_000, "<base a=\"" * 100_000, "</" * 300_000],
)  # fmt: skip
def test_hostile_pages_cost_one_pass(hostile):
    """Would take minutes if the time grew with the square of the length."""
    assert len(with_base(hostile.encode(), URL)) >= len(hostile)
