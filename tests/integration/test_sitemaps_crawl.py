"""Sitemaps named in robots.txt: what is taken of them, in which order, and what is not."""

from __future__ import annotations

import gzip
import re
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.scripted_server import Answer, ScriptedServer, moved, page, rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tests.crawling import Crawls

XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
SPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def robots(*sitemaps: str) -> Answer:
    return rules(
        "User-agent: *\nDisallow: /private\n" + "".join(f"Sitemap: {s}\n" for s in sitemaps)
    )


def xml(body: str, content_type: str = "application/xml") -> Answer:
    return Answer(200, (XML + body).encode(), content_type=content_type)


def urlset(*urls: str, **options: Any) -> Answer:
    """URLs, each perhaps with other elements behind a bar."""
    entries = (f"<url><loc>{url.replace('|', '</loc>', 1)}" for url in urls)
    closed = (entry if "</loc>" in entry else f"{entry}</loc>" for entry in entries)
    return xml(
        f"<urlset {SPACE}>{''.join(f'{entry}</url>' for entry in closed)}</urlset>", **options
    )


def index(*urls: str) -> Answer:
    entries = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return xml(f"<sitemapindex {SPACE}>{entries}</sitemapindex>")


def zipped(answer: Answer, content_type: str = "application/x-gzip", **headers: str) -> Answer:
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Answer(200, gzip.compress(answer.body), pairs, content_type)


def at(host: str, path: str) -> str:
    return f"http://{host}.test:{{port}}{path}"


# By host: what else its robots.txt's sitemap /s.xml needs, and which pages are found through it.
SITES: dict[str, tuple[dict[str, Answer], set[str]]] = {
    "plain": ({"/s.xml": urlset(at("plain", "/1"), at("plain", "/2"))}, {"/1", "/2"}),
    "zipped": ({"/s.xml": zipped(urlset("/1", "/2"))}, {"/1", "/2"}),
    "zipped-octets": ({"/s.xml": zipped(urlset("/1"), "application/octet-stream")}, {"/1"}),
    "zipped-twice": (
        {"/s.xml": zipped(zipped(urlset("/1")), "text/xml", Content_Encoding="gzip")},
        {"/1"},
    ),
    "lines": (
        {
            "/s.xml": Answer(
                200, b"http://lines.test:{port}/1\r\n\r\nno URL\n", content_type="text/plain"
            )
        },
        {"/1"},
    ),
    "typeless": ({"/s.xml": urlset("/1", content_type="")}, {"/1"}),
    "as-html": ({"/s.xml": urlset("/1", content_type="text/html")}, {"/1"}),
    "moved": ({"/s.xml": moved("/t.xml", 301), "/t.xml": urlset("/1")}, {"/1"}),
    "index": (
        {
            "/s.xml": index("/t.xml", at("index", "/u.xml.gz"), "/missing.xml"),
            "/t.xml": urlset("/1"),
            "/u.xml.gz": zipped(urlset("/2")),
        },
        {"/1", "/2"},
    ),
    "index-of-indexes": (
        {"/s.xml": index("/t.xml"), "/t.xml": index("/u.xml"), "/u.xml": urlset("/1")},
        {"/1"},
    ),
    # not to be had, or nothing in it
    "absent": ({"/s.xml": Answer(404)}, set()),
    # A page of the site, whatever robots.txt takes it for.
    "page": ({"/s.xml": page("/1")}, {"/1"}),
    "empty": ({"/s.xml": Answer(200, b"", content_type="text/xml")}, set()),
    "broken": (
        {"/s.xml": xml(f"<urlset {SPACE}><url><loc>/1</loc></url><url><loc>/2")},
        {"/1", "/2"},
    ),
    "entities": (
        {
            "/s.xml": xml(
                '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><urlset><url><loc>/1</loc></url><url><loc>/&a;</loc></url></urlset>'
            )
        },
        {"/1"},
    ),
    "refused": ({"/s.xml": urlset("/private/1", "/2")}, {"/2"}),
    # of other hosts
    "foreign": (
        {
            "/s.xml": urlset(
                "/1", at("stranger", "/1"), "https://foreign.test/2", "ftp://foreign.test/3"
            )
        },
        {"/1"},
    ),
    "foreign-index": (
        {"/s.xml": index(at("stranger", "/t.xml"), "/t.xml"), "/t.xml": urlset("/1")},
        {"/1"},
    ),
    # without end
    "own-index": (
        {"/s.xml": index("/s.xml", "/t.xml"), "/t.xml": index("/s.xml", "/t.xml")},
        set(),
    ),
}
# Sitemaps on another host than the one they speak for.
ABROAD = {"abroad": at("keeper", "/s.xml")}


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        for name, (answers, _) in SITES.items():
            server.script[f"{name}.test", "/robots.txt"] = robots(at(name, "/s.xml"))
            for path, answer in answers.items():
                server.script[f"{name}.test", path] = answer
        server.script["abroad.test", "/robots.txt"] = robots(ABROAD["abroad"])
        server.script["keeper.test", "/s.xml"] = urlset(
            at("abroad", "/1"), at("keeper", "/2"), at("stranger", "/3")
        )
        server.script["stranger.test", "/t.xml"] = urlset(at("stranger", "/4"))
        yield server


@pytest.fixture(scope="module")
def whole(make_crawls: Callable[[str], Crawls], server: ScriptedServer) -> Crawls:
    """The front page of every site, and what its sitemaps lead to."""
    crawls = make_crawls("sitemaps")
    crawls.run(
        "web", server.urls([f"{name}.test" for name in (*SITES, "abroad")]), ROBOTSTXT_OBEY=True
    )
    return crawls


@pytest.mark.parametrize("name", SITES)
def test_what_a_sitemap_leads_to(whole: Crawls, server: ScriptedServer, name: str) -> None:
    pages = {path for path in server.paths(f"{name}.test") if re.fullmatch(r"(/private)?/\d", path)}
    assert pages == SITES[name][1]


def test_each_sitemap_is_fetched_once(whole: Crawls, server: ScriptedServer) -> None:
    for name, (answers, _) in SITES.items():
        asked = server.paths(f"{name}.test")
        for path in answers:
            assert asked.count(path) == 1, (name, path)


def test_a_sitemap_ends_in_the_log(whole: Crawls, server: ScriptedServer) -> None:
    line = whole.ended(server.url("plain.test", "/s.xml"))
    assert line["outcome"] == "filtered"
    assert line["reason"] == "a sitemap with 2 new URLs"
    assert line["type"] == "application/x-sitemap+xml"
    line = whole.ended(server.url("plain.test", "/1"))
    assert (line["depth"], line["via"]) == (1, server.url("plain.test", "/s.xml"))
    assert whole.ended(server.url("absent.test", "/s.xml"))["outcome"] == "failed"
    assert whole.ended(server.url("moved.test", "/s.xml"))["outcome"] == "redirect"
    assert whole.ended(server.url("refused.test", "/private/1"))["outcome"] == "refused"


def test_it_speaks_for_who_named_it_and_for_its_own_host(
    whole: Crawls, server: ScriptedServer
) -> None:
    assert "/1" in server.paths("abroad.test")
    # Its own host's robots.txt comes first there, too.
    assert server.paths("keeper.test")[0] == "/robots.txt"
    assert sorted(server.paths("keeper.test")[1:]) == ["/2", "/s.xml"]
    assert server.paths("stranger.test") == []


def test_sitemaps_can_be_left_alone(crawls: Crawls, server: ScriptedServer) -> None:
    seen = len(server.asked)
    hosts = ["plain.test", "index.test"]
    crawls.run("web", server.urls(hosts), ROBOTSTXT_OBEY=True, SITEMAPS_ENABLED=False)
    assert sorted(asked.path for asked in server.asked[seen:]) == ["/", "/", *["/robots.txt"] * 2]


# -- named and linked: fetched once, accounted once


@pytest.mark.parametrize("where", ["link", "seed"])
def test_one_that_is_linked_too_is_fetched_once(crawls: Crawls, where: str) -> None:
    """Whichever of the two comes first: a seed is known before robots.txt is read."""
    script = {"/s": urlset("/1"), "/": page("/s", "/2"), "/2": page("/s", text="two")}
    with ScriptedServer({("host.test", path): answer for path, answer in script.items()}) as server:
        server.script["host.test", "/robots.txt"] = robots(at("host", "/s"))
        seed = server.url("host.test", "/" if where == "link" else "/s")
        crawls.run("web", seed, ROBOTSTXT_OBEY=True)
        expected = ["/", "/1", "/2", "/s"] if where == "link" else ["/1", "/s"]
        assert sorted(server.paths("host.test")[1:]) == expected
        assert sorted(crawls.urls) == [server.url("host.test", path) for path in expected]


def test_one_that_is_only_linked_speaks_for_its_own_host(crawls: Crawls) -> None:
    """Its URLs are a step further than itself; without sitemaps it is but a type not wanted."""
    script = {
        "/": page("/s", "/i"),
        "/s": urlset("/1", at("stranger", "/2"), "/private/3"),
        "/i": index("/t"),
        "/t": urlset("/4"),
    }
    with ScriptedServer({("host.test", path): answer for path, answer in script.items()}) as server:
        for name, depth, found in (
            ("read", 0, ["/1", "/4", "/private/3", "/t"]),
            ("limited", 1, ["/t"]),
            ("left", 0, []),
        ):
            crawls.name, seen = name, len(server.asked)
            crawls.run(
                "web",
                server.url("host.test"),
                max_depth=depth or 9,
                SITEMAPS_ENABLED=name != "left",
            )
            paths = [asked.path for asked in server.asked[seen:]]
            assert sorted(paths) == sorted(["/", "/s", "/i", *found]), name
        crawls.name = "read"
        assert crawls.ended(server.url("host.test", "/1"))["depth"] == 2
        assert crawls.ended(server.url("host.test", "/s"))["reason"] == "a sitemap with 2 new URLs"
        assert server.paths("stranger.test") == []


def test_a_page_that_is_named_as_one(crawls: Crawls) -> None:
    """It is a page where a link to it would have been followed, and has one line in the log."""
    script = {"/docs/": page("/s.xml"), "/s.xml": page("/1"), "/1": page("/s.xml", text="one")}
    for name, options, outcome in (
        ("page", {}, "stored"),
        ("outside", {"spider": "directory"}, "filtered"),
        ("denied", {"deny": "s.xml"}, "filtered"),
        ("type", {"content_types": "pdf"}, "filtered"),
        ("depth", {"max_depth": 0}, "filtered"),
    ):
        crawls.name = name
        server = crawl_site(crawls, script, **options)
        assert server.paths("host.test").count("/s.xml") == 1
        line = crawls.ended(server.url("host.test", "/s.xml"))
        assert (line["outcome"], line["depth"]) == (outcome, 1), name
        assert ("/1" in server.paths("host.test")) is (outcome == "stored"), name


def test_where_sitemaps_are_collected_they_are_stored_and_read(crawls: Crawls) -> None:
    script = {"/docs/": page("/s.xml"), "/s.xml": index("/t.xml"), "/t.xml": urlset("/1")}
    server = crawl_site(crawls, script, content_types="html,sitemap")
    assert set(server.paths("host.test")) >= {"/s.xml", "/t.xml", "/1"}
    assert len(crawls.urls) == len(set(crawls.urls)) == 4
    assert {line["outcome"] for line in crawls.log} == {"stored"}


# -- within scope, and within limits


def crawl_site(crawls: Crawls, script: dict[str, Answer], **options: Any) -> ScriptedServer:
    """A crawl of one host with a sitemap."""
    with ScriptedServer({("host.test", path): answer for path, answer in script.items()}) as server:
        server.script["host.test", "/robots.txt"] = robots(at("host", "/s.xml"))
        options = {"ROBOTSTXT_OBEY": True, "spider": "web", **options}
        crawls.run(seeds=server.url("host.test", "/docs/"), **options)
    return server


def test_only_what_is_within_scope(crawls: Crawls) -> None:
    script = {"/s.xml": urlset("/docs/1", "/2", "/docs/3.png", "/docs/3?no")}
    server = crawl_site(crawls, script, spider="directory", deny="no$")
    assert sorted(server.paths("host.test")) == ["/docs/", "/docs/1", "/robots.txt", "/s.xml"]


def test_not_beyond_the_depth_limit(crawls: Crawls) -> None:
    server = crawl_site(crawls, {"/s.xml": urlset("/1")}, max_depth=0)
    assert "/1" not in server.paths("host.test")
    assert "/docs/" in server.paths("host.test")


def test_newest_first_and_important_first(crawls: Crawls) -> None:
    """Within a front queue by age; the priority moves a URL one front queue up or down."""
    dates = {
        "/old": "2001-05-01",
        "/new": "2024-06-30T10:00:00+02:00",
        "/mid": "2020",
        "/odd": "soon",
    }
    entries = [f"{path}|<lastmod>{date}</lastmod>" for path, date in dates.items()]
    entries += ["/low|<priority>0.1</priority><lastmod>2024-07-01</lastmod>"]
    entries += ["/high|<priority>0.9</priority>", "/none"]
    server = crawl_site(
        crawls, {"/s.xml": urlset(*entries)}, FRONTIER_WEIGHTS="99,9,1e-9,1e-9,1e-9,1e-9,1e-9,1e-9"
    )
    paths = [path for path in server.paths("host.test") if path.count("/") == 1 and "." not in path]
    same = [path for path in paths if path not in ("/low", "/high")]
    assert same == ["/new", "/mid", "/old", "/odd", "/none"]
    assert paths.index("/high") < paths.index("/none") < paths.index("/low")
    assert paths[-1] == "/low"


def test_no_more_urls_than_asked_for(crawls: Crawls) -> None:
    script = {"/s.xml": index("/t.xml", "/u.xml")}
    script |= {f"/{name}.xml": urlset(*(f"/{name}/{n}" for n in range(30))) for name in ("t", "u")}
    server = crawl_site(crawls, script, SITEMAPS_MAX_URLS=40)
    paths = [path for path in server.paths("host.test") if re.fullmatch("/./.*", path)]
    assert len(paths) == 40


def test_endless_indexes(crawls: Crawls) -> None:
    """Each index names two more, for ever."""

    def more(asked: Any) -> Answer:
        name = asked.path.removesuffix(".xml")
        if not asked.path.endswith(".xml"):
            return Answer()
        return index(f"{name}a.xml", f"{name}b.xml")

    with ScriptedServer({"host.test": more}) as server:
        server.script["host.test", "/robots.txt"] = robots(at("host", "/s.xml"))
        crawls.run("web", server.url("host.test"), ROBOTSTXT_OBEY=True)
        levels = {len(path) for path in server.paths("host.test") if path.endswith(".xml")}
        assert len(levels) == 5
        assert len(server.paths("host.test")) == 2 + 1 + 2 + 4 + 8 + 16


def many(urls: Iterable[str]) -> bytes:
    return "".join(f"<url><loc>{url}</loc></url>" for url in urls).encode()


def test_huge_ones(crawls: Crawls) -> None:
    """A bomb of fifty megabytes and more, one of too many URLs, one of garbage."""
    huge = XML.encode() + f"<urlset {SPACE}>".encode()
    script: dict[str, Answer] = {
        "/s.xml": index("/t.xml", "/zeros.xml.gz", "/deep.xml", "/garbage.xml", "/many.xml.gz"),
        "/zeros.xml.gz": Answer(
            200, gzip.compress(huge + bytes(60 << 20), 1), content_type="application/gzip"
        ),
        "/many.xml.gz": Answer(
            200,
            gzip.compress(huge + many(f"/private/{n}" for n in range(120_000)), 1),
            content_type="application/gzip",
        ),
        "/deep.xml": Answer(200, huge + b"<a>" * 500_000, content_type="text/xml"),
        "/garbage.xml": Answer(200, bytes(range(256)) * 4000, content_type="text/xml"),
        "/t.xml": urlset("/1"),
    }
    begun_at = time.monotonic()
    server = crawl_site(crawls, script, SITEMAPS_MAX_URLS=2000)
    assert "/1" in server.paths("host.test")
    assert time.monotonic() - begun_at < 100
    reason = crawls.ended(server.url("host.test", "/many.xml.gz"))["reason"]
    assert reason == "a sitemap with 1999 new URLs"
