"""Sitemaps and sitemap indexes."""

from __future__ import annotations

import gzip
import tracemalloc
from datetime import UTC, datetime, timedelta, timezone

import pytest

from webcrawler.documents import SITEMAP, Options, SitemapDocument, SitemapEntry, open_document
from webcrawler.documents.inflate import inflate
from webcrawler.documents.sitemap import parse_date

NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
IMAGES = 'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'


def sitemap(body: str | bytes, header: str = "application/xml", **options: int) -> SitemapDocument:
    data = body.encode() if isinstance(body, str) else body
    document = open_document(
        data, "http://a.example/sitemap.xml", header, options=Options(**options)
    )
    assert isinstance(document, SitemapDocument)
    return document


def locations(body: str | bytes, header: str = "application/xml") -> list[str]:
    return [entry.url for entry in sitemap(body, header).entries]


def test_a_sitemap() -> None:
    document = sitemap(f"""<?xml version="1.0" encoding="UTF-8"?>
        <!-- made by hand --><urlset {NAMESPACE} {IMAGES}>
        <url><loc> http://a.example/one?a=1&amp;b=2 </loc><lastmod>2024-05-06</lastmod>
        <changefreq>Daily</changefreq><priority>0.8</priority>
        <image:image><image:loc>http://a.example/i.png</image:loc></image:image></url>
        <url><loc><![CDATA[http://a.example/two?a&b#f]]></loc><priority>high</priority></url>
        <url><lastmod>2024</lastmod></url><url><loc>/three</loc></url></urlset>""")
    assert document.entries == [
        SitemapEntry(
            "http://a.example/one?a=1&b=2", datetime(2024, 5, 6, tzinfo=UTC), 0.8, "daily"
        ),
        SitemapEntry("http://a.example/two?a&b"),
        SitemapEntry("http://a.example/three"),
    ]
    assert [link.kind for link in document.links] == ["sitemap"] * 3
    assert document.problems == []
    assert document.encoding == "utf-8"


def test_an_index() -> None:
    document = sitemap(f"""<sitemapindex {NAMESPACE}><sitemap><loc>http://a.example/1.xml.gz</loc>
        <lastmod>2024-05-06T07:08:09+02:00</lastmod></sitemap></sitemapindex>""")
    (entry,) = document.entries
    assert entry.is_index
    assert entry.lastmod == datetime(2024, 5, 6, 7, 8, 9, tzinfo=timezone(timedelta(hours=2)))


def test_without_or_with_odd_namespaces() -> None:
    assert locations("<urlset><url><loc>http://a.example/x</loc></url></urlset>")
    assert locations("<s:urlset xmlns:s='u'><s:url><s:loc>http://a.example/x</s:loc></s:url>")


def test_compressed_once_and_twice() -> None:
    body = b"<urlset><url><loc>http://a.example/x</loc></url></urlset>"
    assert locations(gzip.compress(body), "application/gzip") == ["http://a.example/x"]
    twice = gzip.compress(gzip.compress(body))
    assert locations(twice, SITEMAP) == ["http://a.example/x"]
    several = gzip.compress(body[:20]) + gzip.compress(body[20:])
    assert locations(several, SITEMAP) == ["http://a.example/x"]


def test_lines() -> None:
    body = "\ufeffhttp://a.example/ü\r\n\nhttps://b.example/x y\n# comment\nnonsense\n"
    document = open_document(body.encode(), "http://a.example/sitemap.txt", "text/plain")
    assert isinstance(document, SitemapDocument)
    assert [entry.url for entry in document.entries] == [
        "http://a.example/%C3%BC",
        "https://b.example/x%20y",
    ]


@pytest.mark.parametrize(
    "body",
    [
        # Ampersands that are not escaped, and entities XML does not have.
        "<urlset><url><loc>http://a.example/x?a=1&b=2</loc></url></urlset>",
        "<urlset><url><loc>http://a.example/x?a=1&b=2</loc></url>",
        "<urlset><url><loc>http://a.example/x?a=1&b=2",
        "<urlset><url><loc>http://a.example/x?a=1&b=2</loc><url></urlset>",
        "<urlset><url><loc>http://a.example/x?a=1&b=2</loc></url><broken</urlset>",
        "<urlset>\x00\x01<url><loc>http://a.example/x?a=1&b=2</loc></url></urlset>",
        "\n\n<?xml version='1.0'?><urlset><url><loc>http://a.example/x?a=1&b=2</loc></url></urlset>",
        "<urlset><title>&nbsp;&eacute;&#0;</title><url><loc>http://a.example/x?a=1&b=2</loc></url>",
    ],
)
def test_malformed(body: str) -> None:
    assert locations(body) == ["http://a.example/x?a=1&b=2"]


def test_missing_ends() -> None:
    body = "<urlset>" + "".join(f"<url><loc>http://a.example/{i}</loc>" for i in range(20))
    assert len(locations(body)) == 20


def test_wrong_bytes() -> None:
    document = sitemap(b"<urlset><url><loc>http://a.example/\xff</loc></url></urlset>")
    assert len(document.entries) == 1
    declared = '<?xml version="1.0" encoding="iso-8859-1"?><urlset><url><loc>http://a.example/é</loc></url>'
    assert locations(declared.encode("latin-1")) == ["http://a.example/%C3%A9"]


def test_empty_and_nonsense() -> None:
    assert sitemap(b"", SITEMAP).entries == []
    document = sitemap("<urlset></urlset>")
    assert document.entries == []
    assert document.problems == ["unparseable"]


def test_limits() -> None:
    body = "<urlset>" + "<url><loc>http://a.example/x</loc></url>" * 100 + "</urlset>"
    document = sitemap(body, max_sitemap_urls=30)
    assert len(document.entries) == 30
    assert document.problems == ["truncated"]
    document = sitemap(body, max_sitemap_bytes=1000)
    assert 10 < len(document.entries) < 30
    assert document.problems == ["truncated"]


def test_a_cut_off_gzip_gives_what_it_has() -> None:
    body = "".join(f"<url><loc>http://a.example/{i * 7919}</loc></url>" for i in range(5000))
    packed = gzip.compress(f"<urlset>{body}</urlset>".encode())
    document = sitemap(packed[: len(packed) // 2], SITEMAP)
    assert 1000 < len(document.entries) < 5000
    assert document.problems == ["truncated"]


def test_gzip_bombs() -> None:
    bomb = gzip.compress(b"<urlset>" + b" " * 100_000_000)
    tracemalloc.start()
    document = sitemap(bomb, SITEMAP, max_sitemap_bytes=1_000_000)
    assert document.entries == []
    nested = gzip.compress(gzip.compress(gzip.compress(bomb)))
    document = sitemap(nested, SITEMAP, max_sitemap_bytes=1_000_000)
    assert document.entries == []
    assert "nested" in document.problems
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


def test_inflate_ends_where_it_is_told() -> None:
    packed = gzip.compress(b"x" * 1000)
    assert inflate(packed, 1000) == (b"x" * 1000, True)
    assert inflate(packed, 999) == (b"x" * 999, False)
    assert inflate(packed + packed, 2000) == (b"x" * 2000, True)
    assert inflate(packed[:-12], 5000)[1] is False
    assert inflate(packed + b"rubbish", 5000) == (b"x" * 1000, True)
    assert inflate(b"", 10) == (b"", True)


BILLION_LAUGHS = (
    "<?xml version='1.0'?><!DOCTYPE lolz [<!ENTITY lol 'http://a.example/lol'>"
    + "".join(f"<!ENTITY lol{i + 1} '" + f"&lol{i or ''};" * 10 + "'>" for i in range(9))
    + "]><urlset x='&lol9;'><url><loc>http://a.example/&lol9;</loc></url>"
    + "<url><loc>http://a.example/x</loc></url></urlset>"
)


def test_entities_are_not_expanded() -> None:
    tracemalloc.start()
    found = locations(BILLION_LAUGHS)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found[-1] == "http://a.example/x"
    assert all(len(url) < 100 for url in found)
    assert peak < 10_000_000


def test_nothing_is_read_from_elsewhere(tmp_path: object) -> None:
    body = """<!DOCTYPE urlset [<!ENTITY x SYSTEM "file:///etc/passwd">
        <!ENTITY % y SYSTEM "http://127.0.0.1:1/dtd"> %y;]>
        <urlset><url><loc>http://a.example/&x;</loc></url></urlset>"""
    assert locations(body) == ["http://a.example/&x;"]


def test_deep_nesting_ends() -> None:
    body = "<urlset>" + "<x>" * 100_000 + "<url><loc>http://a.example/x</loc></url>"
    assert sitemap(body).entries in ([], [SitemapEntry("http://a.example/x")])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024", datetime(2024, 1, 1, tzinfo=UTC)),
        ("2024-03", datetime(2024, 3, 1, tzinfo=UTC)),
        ("2024-03-04", datetime(2024, 3, 4, tzinfo=UTC)),
        ("2024-03-04T05:06Z", datetime(2024, 3, 4, 5, 6, tzinfo=UTC)),
        ("2024-03-04T05:06:07.89+01:00", datetime(2024, 3, 4, 4, 6, 7, 890000, tzinfo=UTC)),
        ("0001-01-01T00:00:00+14:00", None),
        ("yesterday", None),
        ("", None),
        ("9" * 100, None),
    ],
)
def test_dates(text: str, expected: datetime | None) -> None:
    assert parse_date(text) == expected
