"""Reading pages off their tags: as the parser reads them, or not at all."""

from __future__ import annotations

from html import unescape
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webcrawler.documents import HTMLDocument, Options
from webcrawler.documents.markup import find_tags
from webcrawler.documents.markup_text import unescaped
from webcrawler.documents.references import attribute_unescaped, text_unescaped
from webcrawler.documents.tag_kinds import META

URL = "http://a.example/dir/page.html"
ANSWERS = ("title", "language", "robots_meta", "canonical", "refresh", "base_url", "text")
DOC = Path("/usr/share/doc")


def page(markup: str | bytes) -> HTMLDocument:
    """A page that is read off its tags if it can be, however short it is."""
    body = markup if isinstance(markup, bytes) else markup.encode()
    document = HTMLDocument(body, URL, "text/html", "utf-8", options=Options())
    document.__dict__["_tags"] = find_tags(body)
    return document


def parsed(markup: str | bytes) -> HTMLDocument:
    """The same page, but read from the parser's tree."""
    document = page(markup)
    document.__dict__["_tags"] = None
    document.__dict__["_markup_text"] = None
    return document


def links(document: HTMLDocument) -> list[tuple[str, str, str, str]]:
    """Without white space: the tree's texts of links have none between blocks."""
    return [(url, "".join(text.split()), rel, kind) for url, text, rel, kind in document.links]


def assert_same(markup: str | bytes) -> None:
    ours, theirs = page(markup), parsed(markup)
    assert {name: getattr(ours, name) for name in ANSWERS} == {
        name: getattr(theirs, name) for name in ANSWERS
    }
    assert links(ours) == links(theirs)


def within(body: str, head: str = "") -> str:
    return f"<!doctype html><html lang=en><head>{head}</head><body>{body}</body></html>"


TIDY = {
    "plain": '<p>one <a href="x.html">two</a> three',
    "gaps": "<p>one</p><p>two</p>th<b>re</b>e<br>four<hr>five<i>six</i>",
    "quotes": '<a href=\'x y\' title="it\'s">x</a><a href=bare>y</a><a HREF = "z">z</a>',
    "no target": '<a name="here">x</a><a href="">y</a><a href="#z">z</a><a>w</a>',
    "fragments": '<a href="x#y">x</a><a href=" x #y">x</a><a href="x #">x</a><a href="#">y</a>',
    "references": '<a href="?a=1&amp;b=2&copy=3&copy;&#x41;&#65">&lt;x &amp;amp; &eacute</a>',
    "references without a semicolon": "<p>&copy2 &ampx &notit; &noti; &unknown; &#0; &#x110000; &",
    "rel": '<a rel="NoFollow  ugc" href="x">x</a><a href="y" rel=nofollow>y</a>',
    "twice": '<a href="x" href="y" HREF="z">x</a>',
    "images": '<a href="x"><img src=i alt="a picture"></a><a href=y>text <img alt=more></a>',
    "borrowed": '<a href="x" title="a title"></a><a href=y title=t><img alt=alt></a>',
    "comments": '<p>a<!-- <a href="no">no</a> -->b<!--> <a href="x">c</a><!--->d<!-- -- --!>e',
    "declarations": '<?php echo "x" ?><p>a<!ELEMENT x>b</ bogus>c<a href="x">d</a>',
    "scripts": "<p>a<script>if (a<b && c>d) '<a href=no>'; </scrip></script>b<style>a>b{}</style>c",
    "literal": '<p>1 < 2 and 3 > 2, <3, a<= b <a href="x">x</a> <',
    "area": '<map><area href="x" alt="an area"><area></map><iframe src="y" title=t>z</iframe>',
    "select": '<select><option>one<option>two</select><a href="x">x</a>',
    "drawing": '<svg><title>drawn</title><style>a{}</style><a href="x">x</a></svg>',
    "unknown": "<x-y>a</x-y><a-b href=no>b</a-b><basefont href=no>c<header>d</header>",
    "upper": '<P>ONE<A HREF="X.html">TWO</A><SCRIPT>"<a>"</SCRIPT>THREE<SPAN>FOUR</SPAN>',
    "carriage returns": '<p>one\r\ntwo\rthree <a\rhref="x"\r\n>x</a>',
    "accents": '<p>Größe <a href="größe.html?ü">日本語</a> 한국어',
    "slashes": '<br/><a href="x"/>y</a><a/href=z>z</a><img/alt=w>',
    "empty": "",
    "noscript": '<noscript><meta http-equiv=refresh content="0;url=no"><a href=x>x</a></noscript>',
    "textarea": '<textarea rows=2>some words</textarea><a href="x">x</a>',
    "no words": "<p> \n\t </p>",
    "end": "<p>x</p",
    "comments that begin like ends": '<!--!> <a href="no">x</a> --><!---!><a href=no>x</a>--><p>y',
    "an image of old": '<a href="x"><image alt="a picture"></a>',
    "an image after another link": '<a href="x"><area href="y"><img alt="a picture"></a>',
    "spaces around equals": '<a href = "x" title= "y">z</a><a href ="?q=">w</a>',
    "long numbers": f'<a href="x&#{"9" * 5_000};&#x{"0" * 5_000}41">x</a>&#{"9" * 5_000};',
    "a short number before letters": '<a href="x&#65;abcdef12">&#65abcdef12</a>',
    "numbers of no meaning": '<a href="x&#1;y&#xFFFE;z&#128;">x</a>',
    "an unclosed noscript": '<div><noscript>x</div><meta http-equiv=refresh content="0;url=y">',
}


@pytest.mark.parametrize("body", TIDY.values(), ids=TIDY)
def test_reads_as_the_parser_does(body: str) -> None:
    assert_same(within(body))
    assert_same(body)


HEADS = {
    "meta": '<meta name=Robots content="NOINDEX, follow"><meta name=x content=y>',
    "canonical": '<link rel=canonical href="other.html#x"><link rel="alternate stylesheet" href=y>',
    "alternate": '<link rel="ALTERNATE" hreflang=de href=de.html title="auf Deutsch">',
    "refresh": "<meta http-equiv=Refresh content='5; url=there.html'>",
    "base": '<base target=x><base href="/else/"><base href="/third/"><title>t</title>',
    "title": "<title>\n one &lt; <b>two</b> </title><title>three</title>",
    "language": '<meta http-equiv=content-language content="fr">',
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_reads_heads_as_the_parser_does(head: str) -> None:
    body = '<p>a <a href="x.html">b</a> <a href="#c">c</a>'
    assert find_tags(within(body, head).encode()) is not None
    assert_same(within(body, head))


REFUSED = {
    "a tag in an attribute": '<p title="<a href=no>x</a>">y',
    "an end in an attribute": '<p title="a > b"><a href="x">y</a>',
    "both in an attribute": '<p onclick="a > b && c < d"><a href="x">y</a>',
    "apostrophes": "<p title='a > b' x=\"it's\"><a href='x'>y</a>",
    "an unclosed quotation": '<p title="a><a href="x">y</a>',
    "an unclosed comment": "<p>x<!-- y <a href=z>z</a>",
    "an unclosed script": "<p>x<script> y <a href=z>z</a>",
    "a script in a script": "<script><!-- <script> </script> <a href=no>x</a> --></script>",
    "a template": "<template><a href=no>x</a></template>",
    "frames": "<frameset><frame src=x></frameset>",
    "plain text": "<plaintext><a href=no>x</a>",
    "an unclosed link": "<p><a href=x>x<p>y<p>z",
    "a link in a select": "<select><a href=x>x</a></select>",
    "characters of no meaning": "<p>a\0b",
    "CDATA": "<svg><![CDATA[ <a href=no>x</a> ]]></svg>",
    "markup in a drawing's style": "<svg><style><a href=x>y</a></style></svg>",
    "markup in a text area": "<textarea><a href=no>x</a></textarea>",
    "a tag in a tag": "<p <a href=x>y</a>",
    "a quotation after a stray mark": '<p a=x" b="><meta name=robots content=noindex>">y',
    "a quotation after a name of marks": '<p " b="><meta name=robots content=noindex>">y',
    "a quotation after a mark in a value": '<p a=b=" c= "><meta name=robots content=noindex>">y',
    "a style sheet in a select": "<select><style><a href=x>y</a></style></select>",
}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_leaves_the_rest_to_the_parser(body: str) -> None:
    assert find_tags(within(body).encode()) is None
    assert_same(within(body))


def test_a_late_title_is_a_title_and_no_text() -> None:
    document = page(within("<p>a</p><title>late &amp; <b>raw</b></title>"))
    assert (document.title, document.text) == ("late & <b>raw</b>", "a")


def test_text_before_the_body_is_left_to_the_parser() -> None:
    assert_same("<html><head>early</head><body>late")
    assert_same("early <body>late")
    assert_same("<p>no body at all <a href=x>x</a>")


def test_many_marks_are_left_to_the_parser() -> None:
    assert find_tags(b"<p>" * 300_000) is None
    assert find_tags(b"<" * 20_000 + b">") is None
    assert find_tags(b"<!---->" * 20_000) is None
    assert find_tags(b"<p x=''>" * 20_000) is None
    assert find_tags(b"x" * (5 << 20)) is None


@pytest.mark.parametrize(
    "part",
    [
        "<meta name=robots content=noindex{}>",
        "<area href=mailto:{}>",
        "<a {} " + "b " * 200 + "></a>",
        '<p>{}<a href="' + "&amp" * 1_000 + '"></a>',
        "<p>{}" + "&#65" * 100,
    ],
)
def test_what_is_slowly_read_one_by_one_is_left_to_the_parser(part: str) -> None:
    few, many = (
        "".join(part.format(number) for number in range(count))
        for count in (10, (2 << 20) // len(part))
    )
    assert find_tags(within(few).encode()) is not None
    assert find_tags(within(many).encode()) is None


def test_noscript_elements_are_looked_for_once() -> None:
    refresh = '<noscript><meta http-equiv=refresh content="0;url=no"></noscript>'
    tags = find_tags(within(refresh * 1_000).encode())
    assert tags is not None
    found = list(tags.tags("meta", META))
    assert all(tag.parent is not None for tag in found)
    assert tags._noscripts is tags._noscripts
    assert len(found) == 1_000


def test_a_long_text_without_tags_is_parsed() -> None:
    document = page(b"<!-- -->" + b"word " * 200_000)
    assert document.text.startswith("word word")
    assert "unparseable" not in document.problems
    assert parsed(b"word " * 2_000_000).text.startswith("word word")


WORDS = st.sampled_from(
    ["one", "zwei", "x=1", "a < b", "&amp;", "&nbsp;", "é", "\n", "'", '"', ">", ""]
)
VALUES = st.sampled_from(["x.html", "/y?a=1&amp;b=2", "#z", "", "b c", "http://b.example/", "it's"])
NAMES = st.sampled_from(["href", "HREF", "title", "rel", "alt", "class", "src", "name", "content"])


@st.composite
def attributes(draw: st.DrawFn) -> str:
    name, value = draw(NAMES), draw(VALUES)
    quote = draw(st.sampled_from(["'", '"', '"', '"', ""]))
    if quote in value or (not quote and (" " in value or not value or value.endswith("/"))):
        quote = '"'
    return f" {name}={quote}{value}{quote}"


VOID = st.sampled_from(["br", "img", "hr", "meta", "link", "input", "wbr"])
FLOW = st.sampled_from(
    ["div", "section", "blockquote", "span", "code", "b", "h1", "x-y", "article"]
)


def elements(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    inner = st.lists(children, max_size=4).map("".join)
    marks = st.lists(attributes(), max_size=3).map("".join)
    return st.one_of(
        st.builds(lambda tag, marks, inner: f"<{tag}{marks}>{inner}</{tag}>", FLOW, marks, inner),
        st.builds(lambda tag, marks: f"<{tag}{marks}>", VOID, marks),
        st.builds(lambda inner: f"<!-- {inner} -->", inner.filter(lambda text: "-" not in text)),
        st.builds(lambda inner: f"<script>{inner}</script>", WORDS),
    )


LINKS = st.builds(
    lambda marks, words: f"<a{marks}>{words}</a>",
    st.lists(attributes(), max_size=3).map("".join),
    st.lists(WORDS, max_size=3).map("".join),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.recursive(st.one_of(WORDS, LINKS), elements, max_leaves=12), max_size=6))
def test_reads_any_tidy_page_as_the_parser_does(parts: list[str]) -> None:
    assert_same(within("".join(parts)))


@settings(max_examples=300, deadline=None)
@given(st.text("<>/!-='\" \nabpscriptyle&;", max_size=60))
def test_reads_no_rubbish_that_the_parser_does_not(rubbish: str) -> None:
    document = page(rubbish)
    for name in (*ANSWERS, "links"):
        getattr(document, name)
    assert document.problems == []


@pytest.mark.parametrize(
    "folder", ["python3.11/html", "postgresql-doc-15/html", "installation-guide-amd64"]
)
def test_reads_real_pages_as_the_parser_does(folder: str) -> None:
    files = sorted((DOC / folder).rglob("*.html"))
    if not files:
        pytest.skip(f"{DOC / folder} is not installed")
    read = 0
    for file in files[:: max(1, len(files) // 60)]:
        body = file.read_bytes()
        if len(body) > 1 << 17:
            continue  # the parser reads these in pieces, with gaps of its own
        read += find_tags(body) is not None
        assert_same(body)
    assert read > 40


def test_short_pages_are_parsed_and_others_are_not() -> None:
    assert HTMLDocument(b"<p>x", URL, "text/html", "utf-8")._tags is None
    assert HTMLDocument(b"<p>x" * 10_000, URL, "text/html", "utf-8")._tags is not None
    assert HTMLDocument("<p>ö".encode("latin-1") * 10_000, URL, "text/html", "utf-8")._tags is None


def test_references_in_attributes_and_texts() -> None:
    assert attribute_unescaped("?a&copy=1&copy;&copy&amp&#x41;&#65&x;") == "?a&copy=1©©&A" + "A&x;"
    assert text_unescaped("&copy=1 &amp;lt; &quot;&#39;") == "©=1 &lt; \"'"


BLANKS = (" ", "  ", "\n", "\t\x0c\r", "\x1c", "\x85", "\xa0", "\u2003", "\u3000")
REFERENCES = ("&amp;", "&lt;", "&nbsp;", "&#10;", "&#32;", "&#x2003;", "&#0;", "&#128;", "&x;")
ODD_REFERENCES = ("&ampx", "&amp;lt;", "&#38;gt;", "&", "&notit;", "&copy", ";", "&" + "q" * 40)
PIECES = (*BLANKS, *REFERENCES, *ODD_REFERENCES, "a", "bc", "é", "“", "\ufffd")


@given(st.lists(st.sampled_from(PIECES)), st.integers(0, 1))
def test_long_texts_are_read_as_python_reads_them(pieces: list[str], is_long: int) -> None:
    text = "".join(pieces) + " word" * 200 * is_long
    assert text_unescaped(text) == unescape(text)
    assert unescaped(text.encode()) == " ".join(unescape(text).split())


@given(st.binary(), st.binary())
def test_long_texts_of_any_bytes(before: bytes, after: bytes) -> None:
    raw = before + b" word" * 200 + after
    expected = " ".join(text_unescaped(raw.decode("utf-8", "replace")).split())
    assert unescaped(raw) == expected
