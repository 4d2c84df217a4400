"""Several workers, one search: anchors reach the index of whoever holds the page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.crawling import Crawls, read_log
from tests.integration.test_workers import assert_good, server, shared, start
from webcrawler.index import IndexReader, Inlinks
from webcrawler.index.inlinks import merge
from webcrawler.index.layout import INLINKS, NUMBER
from webcrawler.job_tables import JobTables
from webcrawler.sampleweb import SampleServer, SampleWeb
from webcrawler.urls import Canonicalizer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.redis_server import RedisServer

__all__ = ["server", "shared"]  # fixtures
INDEXED: dict[str, Any] = {"ANCHORS_ENABLED": True, "INDEX_ENABLED": True, "INDEX_COMMIT_SECS": 0.5}
fingerprint = Canonicalizer().fingerprint


@pytest.fixture
def web() -> Iterator[SampleServer]:
    with SampleServer(SampleWeb.plain(hosts=8, pages=80, nicknames=0.5, cross_host=0.5)) as web:
        yield web


def folders(shared: Crawls) -> list[Path]:
    return sorted(shared.job.glob("worker-*"))


def holders(shared: Crawls) -> dict[str, Path]:
    return {line["url"]: folder for folder in folders(shared) for line in read_log(folder)}


def incoming(folder: Path) -> dict[str, set[int]]:
    """URL to the pages that link to it, as this worker knows."""
    found: dict[bytes, list[bytes]] = {}
    with JobTables(folder) as tables:
        for key, row in tables.table(INLINKS).scan():
            found.setdefault(key[: NUMBER.size], []).append(row)
    whole = [merge(rows) or Inlinks("") for rows in found.values()]
    return {i.url: {s for site in i.sites.values() for s in site.sources} for i in whole}


def foreign_links(shared: Crawls, web: SampleServer) -> list[tuple[str, str, str]]:
    """Source, target and text of the links from one worker's page to another worker's."""
    holder = holders(shared)
    return [
        (source, link.url, link.text)
        for source, links in web.web.truth().links.items()
        for link in links
        if source in holder and link.url in holder and holder[source] != holder[link.url]
    ]


def assert_anchors_arrived(shared: Crawls, web: SampleServer) -> None:
    holder = holders(shared)
    known = {folder: incoming(folder) for folder in folders(shared)}
    for source, target, text in foreign_links(shared, web):
        assert fingerprint(source) in known[holder[target]].get(target, ()), (source, target, text)
        for folder, rows in known.items():
            assert folder == holder[target] or target not in rows, "they move"


def assert_each_page_in_one_index(shared: Crawls, web: SampleServer) -> None:
    holder = holders(shared)
    for folder in folders(shared):
        if not (folder / "index" / "format.json").exists():
            continue
        mine = {url for url, owner in holder.items() if owner == folder}
        assert IndexReader([folder / "index"]).page_count == len(mine), folder


def test_a_page_is_found_by_what_another_workers_page_calls_it(
    shared: Crawls, web: SampleServer, server: RedisServer
) -> None:
    """One after the other, so that each is certain to hold pages that the other links to."""
    truth = web.web.truth()
    pages = truth.reachable_pages()
    for name, limit in (("worker-1", len(pages) // 2), ("worker-2", ""), ("worker-1", "")):
        assert_good(start(shared, web, 1, FRONTIER_WORKER=name, max_pages=limit, **INDEXED))
        if name == "worker-2":
            assert server.client().llen("{job:post:1}"), "the first one finds its anchors there"
    assert not server.client().exists("{job:post:1}")
    assert_good(start(shared, web, 1, FRONTIER_WORKER="worker-2", **INDEXED))
    assert sorted(holders(shared)) == sorted(pages)
    assert_anchors_arrived(shared, web)
    assert_each_page_in_one_index(shared, web)
    called = words_of_others_only(shared, web)
    assert called
    jobs = [word for folder in folders(shared) for word in ("--job", folder)]
    word, url = min(called.items())
    for named in (jobs, ["--job", shared.job]):
        found = shared.command("search", "--json", *named, f"anchor:{word}")
        (hit,) = json.loads(found.stdout)["hits"]
        assert (hit["url"], hit["is_fetched"]) == (url, True)
    reader = IndexReader([folder / "index" for folder in folders(shared)])
    for word, url in called.items():
        assert [(hit.url, hit.is_fetched) for hit in reader.search(f"anchor:{word}").hits] == [
            (url, True)
        ]


def words_of_others_only(shared: Crawls, web: SampleServer) -> dict[str, str]:
    """Words that stand only in links to a page, all of them on pages of another worker."""
    truth, holder = web.web.truth(), holders(shared)
    sources: dict[str, set[Path]] = {}
    for source, links in truth.links.items():
        for link in links:
            sources.setdefault(link.text, set()).add(holder[source])
    return {
        word: url
        for word, url in truth.nicknames.items()
        if word in sources and holder[url] not in sources[word]
    }


def test_workers_that_end_together_wait_for_each_others_anchors(
    shared: Crawls, web: SampleServer
) -> None:
    workers = start(shared, web, 3, **INDEXED)
    assert_good(workers)
    assert sorted(holders(shared)) == sorted(web.web.truth().reachable_pages())
    assert_anchors_arrived(shared, web)
    assert_each_page_in_one_index(shared, web)
