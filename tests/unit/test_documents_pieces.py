"""Markup made to exhaust a parser: each kind in a process of its own, with little memory."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawler.documents import Options, html, open_document
from webcrawler.documents.pieces import is_tame, pieces, without_scripts

HOSTILE = {
    "100,000 nested elements": "'<div>' * 100_000",
    "nested and closed": "'<div>' * 50_000 + '</div>' * 50_000",
    "nested lists": "'<ul><li>' * 50_000",
    "closed in comments only": "'<div><!--</div>-->' * 50_000",
    "closing tags that close nothing": "'<span>' * 30_000 + '</x>' * 30_000",
    "formatting cloned into paragraphs": (
        "'<p>' + ''.join(f'<b {i}>' for i in range(5000)) + '<p>x' * 20_000"
    ),
    "the same, small": "'<p>' + ''.join(f'<b {i}>' for i in range(890)) + '<p>x' * 890",
    "the same, hidden by quotes": (
        "'<p>' + ''.join(f'<b x=\">{i}\">' for i in range(5000)) + '<p>x' * 20_000"
    ),
    "100,000 attributes": "'<a ' + ' '.join(f'a{i}' for i in range(100_000)) + '>'",
    "100,000 attributes with <": "'<a ' + ' '.join(f'a{i}<' for i in range(100_000)) + '>'",
    "100,000 attributes with quoted >": (
        "'<a ' + ' '.join(f'a{i}' + '=\"<>\"' * (i % 800 == 0) for i in range(100_000)) + '>'"
    ),
    "100,000 attributes with > in single quotes": (
        "'<a ' + ' '.join(f'a{i}' + '= \\'\">\\'' * (i % 200 == 0) for i in range(100_000)) + '>'"
    ),
    "a megabyte of tags of two kilobytes": (
        "('<a ' + ' '.join(f'a{i}' for i in range(350)) + '>x</a>') * 500"
    ),
    "100,000 attributes in what looks like a script": (
        "'<x y=\"<script>\">' + '<a ' + ' '.join(f'a{i}' for i in range(100_000)) + '></script>'"
    ),
    "an attribute of 8 megabytes": "'<a href=' + 'x' * 8_000_000 + '>y</a>'",
    "nested links": "'<a href=y>t<object>' * 5000",
    "empty lists": "'<ul></ul><p>x</p>' * 50_000",
    "zeros": "'\\0' * 3_000_000",
    "ampersands": "'&' * 3_000_000",
    "less than": "'<' * 1_000_000",
    "unclosed comments": "'<!--' * 500_000",
    "unclosed scripts": "'<script>' * 200_000",
    "half tags": "'<a href=' * 300_000",
    "50 megabytes": "'<p>word ' * 6_250_000",
}
PROGRAM = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
from webcrawler.documents import Options, open_document
body = ("<a href=/first>1</a>" + {body} + "\\n<a href=/last>2</a>").encode()
document = open_document(body, "http://a.example/", "text/html; charset=utf-8")
document.title, document.language, document.main_text, document.text
print(document.links[0].url, document.problems)
"""


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_markup(kind: str) -> None:
    program = PROGRAM.replace("{body}", HOSTILE[kind])
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False
    )
    assert answer.returncode == 0, answer.stderr[-2000:]
    assert answer.stdout.startswith("http://a.example/first ")
    assert "unparseable" not in answer.stdout


def test_a_link_behind_deep_nesting_is_found() -> None:
    body = b"<div>" * 40_000 + b"<a href=/deep>text</a>"
    document = open_document(body, "http://a.example/", "text/html")
    assert [(link.url, link.text) for link in document.links] == [("http://a.example/deep", "text")]


def test_ordinary_pages_are_tame() -> None:
    row = b"<tr><td><a class=x href=/a/b/c>link</a></td><td><b class=y>bold</b> text</td></tr>\n"
    for rows in (1, 100, 1000, 1400):
        assert is_tame(b"<html><body><table>" + row * rows + b"</table>")
    script = b"<script>" + b"if (a<b) x = {'a b': '<p>'};" * 100_000 + b"</script>"
    assert is_tame(without_scripts(b"<html>" + script + b"<p>text</p>" * 100))


@pytest.mark.parametrize(
    ("markup", "rest"),
    [
        (b"<p>a<script src=x>b<c</script>d", b"<p>a<script src=x></script>d"),
        (b"a<!-- <p> -->b<!-->c", b"abc"),
        (b"<STYLE>x</Style >y", b"<STYLE></Style >y"),
        (b"<script>never closed <p>", b"<script>never closed <p>"),
        (b"<!-- never closed <p>", b"<!-- never closed <p>"),
        (b"<strong>x</strong><scripted>y", b"<strong>x</strong><scripted>y"),
        (b"<script", b"<script"),
        (b"", b""),
    ],
)
def test_without_scripts(markup: bytes, rest: bytes) -> None:
    assert without_scripts(markup) == rest


def test_a_long_page_that_is_mostly_script_is_read_as_a_whole() -> None:
    body = (
        b"<title>T</title><script src=s.js>" + b"x = '<a href=/no>';" * 50_000 + b"</script>"
        b"<nav><a href=/nav>Navigation</a></nav><main><p>"
        + b"The story is long. " * 40
        + b"</main>"
    )
    document = open_document(
        body, "http://a.example/", "text/html", options=Options(resources=True)
    )
    assert [link.url.rpartition("/")[2] for link in document.links] == ["s.js", "nav"]
    assert document.text.startswith("Navigation The story")
    assert document.main_text.startswith("The story")
    assert document.problems == []


@pytest.mark.parametrize(
    ("tag", "is_whole"),
    [
        (b"<a href='x' title=\"it's > 1\">", False),
        (b"<a href='x>y'>", False),
        (b'<a href = "x>y">', False),
        (b'<a href="x" title="y">', True),
        (b"<a href='x' alt=\"\" title=it's>", True),
        (b'<p>he said "<b>no</b>", or 1 > 0', True),
        (b"<a " + b"x " * 1_200 + b">", False),
        (b"<a " + b"x " * 900 + b">", True),
    ],
)
def test_a_long_page_is_read_as_a_whole_if_no_tag_can_be_long(tag: bytes, is_whole: bool) -> None:
    assert is_tame(b"<p>some words</p>" * 9_000 + tag + b"<p>more</p>") is is_whole


def test_hostile_ones_are_not() -> None:
    assert not is_tame(b"<div>" * 8_000)
    assert not is_tame(b"".join(b"<b %d>" % i for i in range(2000)) + b"<p>x" * 2000)
    assert not is_tame(b"<a " + b" ".join(b"a%d" % i for i in range(50_000)) + b">")
    assert not is_tame(b"<p>x</p>" * 100_000)


@given(st.binary(max_size=2000), st.integers(1, 60))
def test_pieces_lose_nothing(markup: bytes, times: int) -> None:
    whole = (markup + b"<p>x") * times * 20
    found = list(pieces(whole))
    assert None in found or b"".join(piece or b"" for piece in found) == whole


def test_pieces_are_small_and_cut_at_blocks() -> None:
    whole = b"<div><p>some text <b>bold</b></p></div>\n" * 5_000
    found = list(pieces(whole))
    assert None not in found
    assert b"".join(piece or b"" for piece in found) == whole
    for piece in found:
        assert piece is not None
        assert piece.count(b"<") <= 4_000
        assert piece.startswith((b"<div>", b"<p>"))


def test_the_same_links_and_text_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "".join(
        f"<div class=row><p>Row {i}: <a href=/r/{i} rel=nofollow>link <b>{i}</b></a></p>"
        f"<ul><li>one<li>two <img src=x></ul><script>'<a href=/no>'</script><!-- <p> --></div>"
        for i in range(3_000)
    )
    body = f"<html lang=en><head><base href=/b/><title>T</title></head><body>{rows}".encode()

    def read() -> tuple[object, ...]:
        document = open_document(body, "http://a.example/", "text/html; charset=utf-8")
        return document.links, document.text, document.title, document.language, document.problems

    in_pieces = read()
    monkeypatch.setattr(html, "is_tame", lambda markup: True)
    assert in_pieces == read()
