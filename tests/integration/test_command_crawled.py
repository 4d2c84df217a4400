"""The commands on what real crawls of the sample web leave, and on a crawl that runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.commanding import refused, run
from webcrawler.index import IndexReader
from webcrawler.sampleweb import SampleServer, SampleWeb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.crawling import Crawls

EVERYTHING = {
    "ROBOTSTXT_OBEY": True,
    "CONTENTSEEN_ENABLED": True,
    "NEARDUP_ENABLED": True,
    "ANCHORS_ENABLED": True,
    "INDEX_ENABLED": True,
    "ARCHIVE_ENABLED": True,
}


@pytest.fixture(scope="module")
def web() -> Iterator[SampleServer]:
    with SampleServer(SampleWeb(hosts=6, pages=80, crawl_delay=0.02, retry_after=0)) as server:
        yield server


@pytest.fixture(scope="module")
def whole(make_crawls: Callable[[str], Crawls], web: SampleServer) -> Crawls:
    """A crawl with everything on."""
    crawls = make_crawls("whole")
    crawls.run("web", web.seeds, **EVERYTHING)
    return crawls


def of_outcome(crawls: Crawls, *outcomes: str) -> dict[str, dict[str, Any]]:
    return {line["url"]: line for line in crawls.log if line["outcome"] in outcomes}


def everything(folder: Path) -> dict[str, tuple[Any, ...]]:
    """All that an index says, by URL."""
    hits = IndexReader([folder]).search("site:sample.test", 1000).hits
    return {
        hit.url: (hit.title, hit.snippet, hit.language, hit.is_fetched, hit.anchors) for hit in hits
    }


def test_search_finds_what_was_stored(whole: Crawls) -> None:
    result = run("search", "--job", whole.job, "--json", "-n", 1000, "site:sample.test").json
    is_fetched = {hit["url"]: hit["is_fetched"] for hit in result["hits"]}
    stored = of_outcome(whole, "stored")
    assert {url for url, fetched in is_fetched.items() if fetched} == stored.keys()
    unwanted = of_outcome(whole, "noindex", "duplicate", "near_duplicate", "redirect")
    assert unwanted
    assert not unwanted.keys() & is_fetched.keys()
    word = next(hit["title"] for hit in result["hits"] if hit["title"]).split()[0]
    done = run("search", "--job", whole.job, word)
    assert done.code == 0
    assert word.lower() in done.out.lower()


def test_a_page_is_found_by_a_word_that_only_others_use(whole: Crawls, web: SampleServer) -> None:
    stored = of_outcome(whole, "stored")
    called = {word: url for word, url in web.web.truth().nicknames.items() if url in stored}
    assert called
    for word, url in called.items():
        # The pages that call it so have the word in their text; the one that is called so is first.
        hit = run("search", "--job", whole.job, "--json", word).json["hits"][0]
        assert hit["url"] == url
        assert word not in (hit["title"] + hit["snippet"]).lower()
        assert any(word in anchor["text"] for anchor in hit["anchors"])


def test_the_archive_holds_what_was_fetched(whole: Crawls, web: SampleServer) -> None:
    assert run("archive", "--job", whole.job, "check").code == 0
    listed = run("archive", "--job", whole.job, "list", "--kind", "response").lines
    assert {line.split(" ")[-1] for line in listed} >= of_outcome(whole, "stored").keys()
    url = web.seeds[0]
    got = run("archive", "--job", whole.job, "get", url)
    assert got.code == 0
    assert len(got.bytes) == of_outcome(whole, "stored")[url]["bytes"]
    for copy, line in of_outcome(whole, "duplicate").items():
        same = run("archive", "--job", whole.job, "get", line["of"])
        assert run("archive", "--job", whole.job, "get", copy).bytes == same.bytes


def test_links_are_those_of_the_truth(whole: Crawls, web: SampleServer) -> None:
    truth = web.web.truth()
    url = web.seeds[0]
    known = {line["url"] for line in whole.log}
    out = run("links", "--job", whole.job, "--out", "-n", 1000, "--json", url).json["out"]
    told = {link["url"] for link in out["links"]}
    assert told & known == {link.url for link in truth.links[url]} & known - {url}
    into = run("links", "--job", whole.job, "--in", "-n", 1000, "--json", url).json["in"]
    sources = {link["url"] for link in into["links"]}
    linking = {source for source, links in truth.links.items() if url in {x.url for x in links}}
    assert sources <= linking
    silent = {source for source in linking if truth.resources[source].nofollow}
    assert sources >= linking & of_outcome(whole, "stored").keys() - silent - {url}


def test_robots_txt_as_the_crawl_knows_it(whole: Crawls, web: SampleServer) -> None:
    before = len(web.arrivals)
    result = run("robots", "--job", whole.job, "--json", *web.seeds).json
    assert len(web.arrivals) == before
    assert [robots["from"] for robots in result["robots"]] == ["job"] * len(result["robots"])
    refusals = of_outcome(whole, "refused")
    assert refusals
    assert run("robots", "--job", whole.job, *refusals).code == 1


def test_an_index_built_from_archive_and_links_is_the_same(whole: Crawls, tmp_path: Path) -> None:
    done = run("index", "build", tmp_path / "index", "--job", whole.job)
    assert done.code == 0, done.err
    built, own = everything(tmp_path / "index"), everything(whole.job / "index")
    assert own
    assert built == own


def test_an_index_of_a_crawl_that_made_none(crawls: Crawls, web: SampleServer) -> None:
    crawls.run("web", web.seeds, **{**EVERYTHING, "INDEX_ENABLED": False})
    refused(run("search", "--job", crawls.job, "word"), "has no index")
    build = run("index", "build", crawls.job / "index", "--job", crawls.job)
    assert build.code == 0, build.err
    found = everything(crawls.job / "index")
    assert {url for url, told in found.items() if told[3]} == of_outcome(crawls, "stored").keys()
    assert any(not told[3] for told in found.values())
    assert any(told[4] for told in found.values())
    unwanted = of_outcome(crawls, "noindex", "duplicate", "near_duplicate", "redirect")
    assert not unwanted.keys() & found.keys()
    assert run("search", "--job", crawls.job, "site:sample.test", "--json").json["total"] > 10


def test_a_crawl_that_runs_can_be_looked_into(crawls: Crawls, web: SampleServer) -> None:
    settings = {**EVERYTHING, "POLITENESS_MIN_DELAY": 0.3, "INDEX_COMMIT_SECS": 0.2}
    running = crawls.start("web", web.seeds, **settings)
    running.until(lambda: len(of_outcome(crawls, "stored")) >= 8)
    url = web.seeds[0]
    commands = {
        "links": run("links", "--job", crawls.job, "--out", url),
        "get": run("archive", "--job", crawls.job, "get", url),
        "list": run("archive", "--job", crawls.job, "list"),
        "robots": run("robots", "--job", crawls.job, url),
        "index": run("index", "build", crawls.folder / "index", "--job", crawls.job),
    }
    running.until(lambda: run("search", "--job", crawls.job, "site:sample.test").code == 0)
    own = run("index", "build", crawls.job / "index", "--job", crawls.job)
    assert not running.has_ended()
    for name, done in commands.items():
        assert done.code == 0, (name, done.err)
    assert "  links to " in commands["links"].out
    assert url in commands["list"].out
    assert "the crawl asked for it" in commands["robots"].out
    assert len(everything(crawls.folder / "index")) >= 8
    refused(own, "is running and may write to")
