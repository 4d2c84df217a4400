"""HTML: what one parse gives."""

from __future__ import annotations

import pytest

from webcrawler.documents import HTMLDocument, Options, Refresh, open_document
from webcrawler.items import Link
from webcrawler.urls import normalize

URL = "http://a.example/dir/page.html"


def page(body: str | bytes, url: str = URL, **options: object) -> HTMLDocument:
    data = body.encode() if isinstance(body, str) else body
    document = open_document(
        data,
        url,
        "text/html; charset=utf-8",
        options=Options(**options),  # type: ignore[arg-type]
    )
    assert isinstance(document, HTMLDocument)
    return document


def urls(body: str, url: str = URL, **options: object) -> list[str]:
    return [link.url for link in page(body, url, **options).links]


def only(body: str, **options: object) -> Link:
    (link,) = page(body, **options).links
    return link


# -- links


def test_where_links_come_from() -> None:
    document = page("""
        <link rel=canonical href=c><link rel=alternate href=al title="Deutsch">
        <link rel=next href=n><link rel=prev href=p><link rel=stylesheet href=s.css>
        <link rel="alternate stylesheet" href=as.css><link rel=icon href=i.png>
        <meta http-equiv=refresh content="3; url=r">
        <body><a href=one>1</a><map><area href=ar alt="An area"></map>
        <iframe src=if title="A frame"></iframe><img src=x.png><script src=x.js></script>
        <video><source src=v.mp4></video><a name=here>no link</a>""")
    assert [(link.kind, link.url.rpartition("/")[2], link.text) for link in document.links] == [
        ("link", "c", ""),
        ("link", "al", "Deutsch"),
        ("link", "n", ""),
        ("link", "p", ""),
        ("refresh", "r", ""),
        ("a", "one", "1"),
        ("area", "ar", "An area"),
        ("iframe", "if", "A frame"),
    ]
    assert document.problems == []


def test_frames() -> None:
    body = "<frameset><frame src=left><frame src=right></frameset>"
    assert [link.kind for link in page(body).links] == ["frame", "frame"]


def test_resources_when_asked_for() -> None:
    body = """<link rel=stylesheet href=s.css><link rel=next href=n><img src=a.png alt=A
        srcset="b.png 1x, c,d.png 2x"><script src=x.js></script><script>no()</script>
        <picture><source srcset="e.png 100w, f.png"></picture>"""
    found = page(body, resources=True).links
    assert [(link.kind, link.url.rpartition("/")[2]) for link in found] == [
        ("link", "s.css"),
        ("link", "n"),
        ("img", "a.png"),
        ("img", "b.png"),
        ("img", "c,d.png"),
        ("script", "x.js"),
        ("source", "e.png"),
        ("source", "f.png"),
    ]
    assert found[2].text == "A"


def test_resources_within_links() -> None:
    found = page("<a href=x><img src=1 alt=one><img src=2 alt=two></a>", resources=True).links
    assert [(link.kind, link.text) for link in found] == [
        ("a", "one two"),
        ("img", "one"),
        ("img", "two"),
    ]


def test_an_element_counts_once_whatever_attributes_it_has() -> None:
    body = (
        "<iframe href=no src=f></iframe><img href=no src=i><meta href=no name=robots content=all>"
    )
    document = page(body, resources=True)
    assert [link.url.rpartition("/")[2] for link in document.links] == ["f", "i"]
    assert document.robots_meta == [("robots", "all")]


def test_repetitions_are_kept_and_fragments_are_not() -> None:
    assert (
        urls("<a href=x#a>1</a><a href=x#b>2</a><a href=x>3</a>") == ["http://a.example/dir/x"] * 3
    )


def test_a_link_to_the_page_itself_is_none() -> None:
    body = (
        "<a href=#top>1</a><a href>2</a><a href=''>3</a><a href=page.html#x>4</a><a href=?q>5</a>"
    )
    assert urls(body) == ["http://a.example/dir/page.html?q"]


@pytest.mark.parametrize(
    "href",
    [
        "javascript:void(0)",
        " JavaScript:x()",
        "java\nscript:x()",
        "mailto:a@b.example",
        "data:text/html,x",
        "tel:+123",
        "about:blank",
        "http://[",
        "http://a b.example/",
        "x" * 20_000,
    ],
)
def test_what_is_no_link(href: str) -> None:
    assert urls(f'<a href="{href}">x</a><a href=good>y</a>') == ["http://a.example/dir/good"]


def test_base() -> None:
    document = page("<base href=/other/><a href=x>1</a><a href=#f>2</a><base href=/no/>")
    assert document.base_url == "http://a.example/other/"
    assert [link.url for link in document.links] == [
        "http://a.example/other/x",
        "http://a.example/other/",
    ]


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("sub/", "http://a.example/dir/sub/x"),
        ("//b.example", "http://b.example/x"),
        ("http://[", "http://a.example/dir/x"),
        ("data:text/plain,", "http://a.example/dir/x"),
        ("", "http://a.example/dir/x"),
    ],
)
def test_bases(base: str, expected: str) -> None:
    assert urls(f'<base href="{base}"><a href=x>1</a>') == [expected]


def test_a_base_without_href_does_not_count() -> None:
    assert urls("<base target=_top><base href=/b/><a href=x>1</a>") == ["http://a.example/b/x"]


def test_a_late_base_counts_for_earlier_links() -> None:
    body = "<a href=early>1</a><div><base href=/late/></div><a href=x>2</a>"
    assert urls(body) == ["http://a.example/late/early", "http://a.example/late/x"]


def test_a_url_that_is_none() -> None:
    document = page("<a href=rel>1</a><a href=http://b.example/abs>2</a>", url="not a url")
    assert [link.url for link in document.links] == ["http://b.example/abs"]


def test_rel_and_references() -> None:
    link = only('<a href="?a=1&amp;b=2" rel=" NoFollow  UGC ">t</a>')
    assert link == Link("http://a.example/dir/page.html?a=1&b=2", "t", "nofollow ugc", "a")


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        ("  two \n words ", "two words"),
        ("a<b>b</b>c", "abc"),
        ("<img alt=picture>", "picture"),
        ("see <span><img alt=' the  picture '></span>", "see the picture"),
        ("<img alt=one><img alt=two>", "one two"),
        ("<img>", "the title"),
        ("", "the title"),
        ("<img alt=picture>after", "after picture"),
        ("Ümläut &eacute;", "Ümläut é"),
    ],
)
def test_anchor_text(inside: str, text: str) -> None:
    assert only(f"<a href=x title='the title'>{inside}</a>").text == text


def test_an_image_after_a_link_is_not_its_text() -> None:
    assert only("<a href=x>text</a><img alt=other>").text == "text"
    assert only("<p><a href=x></a></p><p><img alt=other></p>").text == ""


def test_an_image_after_a_refused_link_adds_to_no_other() -> None:
    assert only("<a href=x>text</a><a href=javascript:y><img alt=other></a>").text == "text"


def test_limits_of_links() -> None:
    body = "".join(f"<a href={number}>{'x' * 1000}</a>" for number in range(30))
    document = page(body, max_links=10, max_anchor_chars=7)
    assert len(document.links) == 10
    assert {link.text for link in document.links} == {"xxxxxxx"}
    assert document.problems == ["truncated"]


def test_texts_of_links_can_be_left_out() -> None:
    assert only("<a href=x rel=nofollow title=t>text <img alt=y></a>", link_texts=False) == Link(
        "http://a.example/dir/x", "", "nofollow", "a"
    )


def test_links_are_what_normalize_says() -> None:
    hrefs = [
        "0 #",
        "x/../y",
        "/%41 b",
        "?q=ü",
        "HTTP://EXAMPLE.org:80/%7e",
        "//b.example\\c",
        " x ",
        "./",
    ]
    body = "".join(f'<a href="{href}">x</a>' for href in hrefs)
    assert urls(body) == [normalize(href, URL) for href in hrefs]


# -- head


def test_title() -> None:
    assert page("<title> A \n title &amp; more</title>").title == "A title & more"
    assert page("<p>none").title == ""
    assert page("<div>early</div><title>late</title>").title == "late"
    assert page("<svg><title>drawn</title></svg><title>real</title>").title != ""
    assert len(page(f"<title>{'x' * 5_000_000}</title>").title) == 1000


def test_canonical() -> None:
    assert page("<link rel=canonical href=page.html#x>").canonical == URL
    assert page("<link rel='Canonical foo' href=/c><link rel=canonical href=/d>").canonical == (
        "http://a.example/c"
    )
    assert page("<link rel=canonical href=''>").canonical is None
    assert page("<link rel=canonical href='http://['>").canonical is None
    assert page("<p>").canonical is None


def test_robots_meta() -> None:
    document = page("""
        <meta name=ROBOTS content=" NoIndex, nofollow "><meta name=examplebot content=none>
        <meta name=googlebot content="max-snippet: 20"><meta name=robots content="whatever">
        <meta name=description content="How to index a follower"><meta name=viewport content=x>
        <meta name=robots><meta content=noindex><p><meta name=robots content=noarchive>""")
    assert document.robots_meta == [
        ("robots", "noindex, nofollow"),
        ("examplebot", "none"),
        ("googlebot", "max-snippet: 20"),
        ("robots", "whatever"),
        ("description", "how to index a follower"),
        ("robots", "noarchive"),
    ]


@pytest.mark.parametrize(
    ("body", "language"),
    [
        ("<html lang=EN-us><p>x", "en-us"),
        ("<html lang='' xml:lang=de><p>x", "de"),
        ("<html lang='{{lang}}'><meta http-equiv=content-language content='fr, en'>", "fr"),
        ("<p>x", ""),
        ("<p>" + "Der schnelle braune Fuchs springt über den faulen Hund. " * 5, "de"),
        ("<html lang=pt_BR>", "pt-br"),
    ],
)
def test_language(body: str, language: str) -> None:
    assert page(body).language == language


def test_content_language_is_asked_before_the_text() -> None:
    body = b"<p>" + b"The quick brown fox jumps over the lazy dog. " * 5
    assert open_document(body, URL, "text/html", content_language="nl, en").language == "nl"


def test_refresh_is_relative_to_the_base() -> None:
    body = "<base href=/b/><meta http-equiv=refresh content='0; x'>"
    assert page(body).refresh == Refresh(0, "http://a.example/b/x")


# -- text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<p>one</p><p>two</p>", "one two"),
        ("one<div>two</div>three", "one two three"),
        ("one<br>two<hr>three", "one two three"),
        ("<ul><li>one<ul><li>two</ul><li>three</ul>", "one two three"),
        ("<table><tr><td>one<td>two<tr><td>three</table>", "one two three"),
        ("<select><option>one<option>two</select>", "one two"),
        ("in<b>side</b> a w<i>or</i>d, H<sub>2</sub>O", "inside a word, H2O"),
        ("<p>a\n\n  b\xa0\tc", "a b c"),
        ("a<script>b</script>c<style>d</style>", "ac"),
        ("a <template>b</template><!-- c --> d", "a d"),
        ("a <noscript>b</noscript><iframe>c</iframe><noembed>d</noembed>", "a b"),
        ("<textarea>typed &lt;here</textarea>", "typed <here"),
        ("a &lt;b&gt; &amp; &eacute;&#x1F600;", "a <b> & é\U0001f600"),
        ("<title>no</title><p>yes", "yes"),
        ("<frameset><noframes>old</noframes></frameset>", ""),
        ("", ""),
    ],
)
def test_text(body: str, text: str) -> None:
    assert page(body).text == text


def test_links_are_the_same_after_the_text_was_read() -> None:
    body = """<a href=x>one<div>two</div></a><iframe src=y>z</iframe><script src=s.js>q</script>
        <style>r</style><img src=i.png>"""
    before = page(body, resources=True)
    links = before.links
    after = page(body, resources=True)
    assert after.text == before.text
    assert [link.url for link in after.links] == [link.url for link in links]


def test_text_is_cut_at_the_limit() -> None:
    document = page("<p>" + "word " * 1000, max_text_chars=100)
    assert len(document.text) == 100
    assert document.problems == ["truncated"]


def test_main_text_is_without_navigation() -> None:
    story = "This is the story itself, long enough to be taken for one. " * 10
    document = page(f"""<body><nav><ul><li><a href=/>Home</a><li><a href=/x>About</a></ul></nav>
        <main><h1>Headline</h1><p>{story}</p></main><footer>Imprint</footer>""")
    assert "Home" in document.text
    assert "Imprint" in document.text
    assert document.main_text == f"Headline {story.strip()}"


def test_main_text_of_a_page_that_is_all_navigation_is_its_text() -> None:
    assert page("<nav>only this</nav>").main_text == "only this"


# -- broken bodies


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<",
        b"<a",
        b"<a href",
        b'<a href="',
        b"<!--",
        b"<script>",
        b"<title>",
        b"\0\0\0",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        bytes(range(256)) * 20,
        b"\x00<\x00a\x00",
        b"<a href=\xff\xff>\xfe</a>",
    ],
)
def test_nothing_raises(body: bytes) -> None:
    for header in ("text/html", "text/html; charset=utf-16", "application/xhtml+xml", ""):
        document = open_document(body, URL, header)
        assert isinstance(document.text, str)
        assert isinstance(document.main_text, str)
        assert isinstance(document.links, list)
        assert isinstance(document.language, str)
        assert "unparseable" not in document.problems


def test_what_comes_before_the_break_is_had() -> None:
    document = page('<title>T</title><a href=x>text</a><a href="unfinished')
    assert document.title == "T"
    assert [link.url for link in document.links] == ["http://a.example/dir/x"]


def test_zero_bytes_within() -> None:
    assert urls("<a\0href=x>1</a><a href=\0y>2</a>")[-1] == "http://a.example/dir/%EF%BF%BDy"


def test_a_huge_body_is_cut() -> None:
    document = page(b"<a href=x>y</a>" + b"<p>text" * 100_000, max_html_bytes=1000)
    assert len(document.text) <= 1000
    assert len(document.links) == 1
    assert document.problems == ["truncated"]


def test_nothing_is_parsed_before_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("parsed")

    monkeypatch.setattr("webcrawler.documents.html.HTMLTree", fail)
    document = page("<p>text")
    assert (document.mime, document.url, document.encoding) == ("text/html", URL, "utf-8")
    assert document.text == ""
    assert document.problems == ["unparseable"]


# -- XHTML


def xhtml(body: str) -> HTMLDocument:
    document = open_document(body.encode(), URL, "application/xhtml+xml")
    assert isinstance(document, HTMLDocument)
    return document


def test_xhtml() -> None:
    document = xhtml("""<?xml version="1.0" encoding="utf-8"?>
        <html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en"><head><script src="x.js"/>
        <title>T</title><link rel="next" href="n"/></head><body><a id="top"/><div/>
        <p>one<br/>two</p><![CDATA[3 < 4]]> <a href="x" title="a/b>c">y</a></body></html>""")
    assert document.title == "T"
    assert document.language == "en"
    assert document.text == "one two 3 < 4 y"
    assert [link.url.rpartition("/")[2] for link in document.links] == ["n", "x"]
    assert document.problems == []


@pytest.mark.parametrize("part", ["<![CDATA[", "<a x='", "<x/>", "<x ", "]]>", '<x y="/>'])
def test_xhtml_that_never_ends(part: str) -> None:
    document = xhtml(f"<html><body><a href='x'>y</a>{part * 100_000}")
    assert [link.url for link in document.links][:1] == ["http://a.example/dir/x"]
