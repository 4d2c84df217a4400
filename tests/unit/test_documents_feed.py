"""RSS and Atom."""

from __future__ import annotations

from webcrawler.documents import FeedDocument, Options, open_document
from webcrawler.items import Link

URL = "http://a.example/blog/feed"


def feed(body: str, header: str = "application/xml", **options: int) -> FeedDocument:
    document = open_document(body.encode(), URL, header, options=Options(**options))
    assert isinstance(document, FeedDocument)
    return document


def test_rss() -> None:
    document = feed("""<?xml version="1.0"?><rss version="2.0"
        xmlns:content="http://purl.org/rss/1.0/modules/content/"
        xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>The  Blog &amp; more</title>
        <link>http://a.example/blog/</link><atom:link rel="self" href="http://a.example/blog/feed"/>
        <language>en-GB</language><image><title>Logo</title><link>http://a.example/blog/</link></image>
        <description>About things</description>
        <item><title>First &lt;b&gt;post&lt;/b&gt;</title><link> 1.html#c </link>
        <guid isPermaLink="false">urn:1</guid><description>&lt;p&gt;Some &lt;b&gt;bold&lt;/b&gt;
        words&lt;/p&gt;&lt;script&gt;no&lt;/script&gt;</description>
        <content:encoded><![CDATA[<p>All &amp; sundry</p><p>of it</p>]]></content:encoded></item>
        <item><title>Second</title><guid>http://a.example/blog/2.html</guid></item>
        </channel></rss>""")
    assert document.title == "The Blog & more"
    assert document.language == "en-gb"
    assert [link for link in document.links if link.url != "http://a.example/blog/"] == [
        Link("http://a.example/blog/1.html", "First <b>post</b>", "", "feed"),
        Link("http://a.example/blog/2.html", "Second", "", "feed"),
    ]
    assert document.text == (
        "The Blog & more About things First post Some bold words All & sundry of it Second"
    )
    assert document.problems == []


def test_atom() -> None:
    document = feed("""<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de"
        xml:base="http://b.example/x/"><title type="text">Ein Blog</title>
        <link href="/"/><link rel="self" href="feed"/><link rel="next" href="?page=2"/>
        <entry><title>Eins</title><link rel="alternate" href="1"/><link rel="edit" href="no"/>
        <id>tag:1</id><content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Hallo
        <b>Welt</b></p></div></content></entry></feed>""")
    assert document.base_url == "http://b.example/x/"
    assert document.language == "de"
    assert [(link.url, link.text, link.rel) for link in document.links] == [
        ("http://b.example/", "Ein Blog", ""),
        ("http://b.example/x/?page=2", "Ein Blog", "next"),
        ("http://b.example/x/1", "Eins", "alternate"),
    ]
    assert document.text == "Ein Blog Eins Hallo Welt"


def test_rss_of_the_first_version() -> None:
    document = feed("""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
        xmlns="http://purl.org/rss/1.0/"><channel><title>C</title></channel>
        <item><title>I</title><link>http://a.example/i</link></item></rdf:RDF>""")
    assert document.title == "C"
    assert document.links == [Link("http://a.example/i", "I", "", "feed")]


def test_broken() -> None:
    document = feed("""<rss><channel><title>A & B&nbsp;C</title>
        <item><title>One<link>http://a.example/1?x=1&y=2</link></item>
        <item><title>Two</title><link>http://a.example/2</link>""")
    assert document.links[-1] == Link("http://a.example/2", "Two", "", "feed")
    assert document.title == "A & B C"


def test_a_feed_that_is_none() -> None:
    document = open_document(b"<rss", URL, "application/rss+xml")
    assert document.links == []
    assert document.text == ""


def test_entities_and_bombs() -> None:
    lines = "".join(f"<!ENTITY l{i + 1} '{f'&l{i};' * 10}'>" for i in range(9))
    document = feed(f"""<!DOCTYPE rss [<!ENTITY l0 "lol">{lines}]><rss><channel>
        <title>&l9;</title><item><link>http://a.example/x</link></item></channel></rss>""")
    assert len(document.title) < 100
    assert [link.url for link in document.links] == ["http://a.example/x"]


def test_hostile_markup_in_an_entry() -> None:
    inside = "&lt;div&gt;" * 50_000 + "the end"
    document = feed(
        f"<rss><channel><item><description>{inside}</description></item></channel></rss>"
    )
    assert document.text == "the end"


def test_limits() -> None:
    items = "".join(
        f"<item><title>{'t' * 500}</title><link>http://a.example/{i}</link></item>"
        for i in range(50)
    )
    body = f"<rss><channel>{items}</channel></rss>"
    document = feed(body, max_links=10, max_anchor_chars=5, max_text_chars=1000)
    assert len(document.links) == 10
    assert document.links[0].text == "ttttt"
    assert len(document.text) <= 1000
    assert "truncated" in document.problems
    document = feed(body, max_feed_bytes=3000)
    assert 3 <= len(document.links) <= 6
    assert document.problems == ["truncated"]
