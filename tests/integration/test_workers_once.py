"""Workers are killed and stopped: each page is in one index, and one of its records counts."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.test_workers import assert_all_and_polite, logged, server, shared
from webcrawler.archive import TABLE, check, counted_places, list_records
from webcrawler.index import FullTextIndex
from webcrawler.job_tables import JobTables
from webcrawler.sampleweb import SampleServer, SampleWeb
from webcrawler.urls import Canonicalizer

if TYPE_CHECKING:
    from tests.crawling import Command, Crawls

__all__ = ["server", "shared"]  # fixtures
LEASE = 2.0
KEPT: dict[str, Any] = {
    "ANCHORS_ENABLED": True,
    "INDEX_ENABLED": True,
    "INDEX_COMMIT_SECS": 0.3,
    "ARCHIVE_ENABLED": True,
    "FRONTIER_LEASE_SECS": LEASE,
}


def begin(shared: Crawls, web: SampleServer, name: str) -> Command:
    return shared.start("web", web.seeds, FRONTIER_WORKER=name, **KEPT)


def assert_each_page_is_kept_once(shared: Crawls, web: SampleServer) -> None:
    pages = web.web.truth().reachable_pages()
    fingerprint = Canonicalizer().fingerprint
    indexed: Counter[str] = Counter()
    counted: Counter[str] = Counter()
    for folder in shared.job.glob("worker-*"):
        with FullTextIndex(folder / "index") as index:
            for url in pages:
                found = index.get(fingerprint(url))
                indexed[url] += found is not None and found.fetched_at > 0
        with JobTables(folder) as tables:
            places = counted_places(tables.table(TABLE))
        assert check(folder / "warc").is_sound
        for record in list_records(folder / "warc"):
            if record.kind == "response" and (record.file, record.offset) in places:
                counted[record.url] += 1
    assert indexed == Counter(list(pages))
    assert counted == Counter(list(pages))


def disturb(
    shared: Crawls, web: SampleServer, draw: random.Random, events: list[str]
) -> dict[str, Command]:
    """Three workers; at each event one is killed and started anew, or stopped beyond its lease."""
    workers = {name: begin(shared, web, name) for name in ("worker-1", "worker-2", "worker-3")}
    step = len(web.web.truth().reachable_pages()) // (len(events) + 2)
    for number, event in enumerate(events, 1):
        least = number * step
        watched = next(iter(workers.values()))
        watched.until(lambda least=least: len(set(logged(shared))) > least)
        name = draw.choice(list(workers))
        if event == "kill":
            workers[name].kill()
            workers[name] = begin(shared, web, name)
        else:
            workers[name].signal(signal.SIGSTOP)
            time.sleep(LEASE * 1.5)  # what is tested is a pause beyond the lease
            workers[name].signal(signal.SIGCONT)
    return workers


def assert_kept_once(shared: Crawls, web: SampleServer, workers: dict[str, Command]) -> None:
    for command in workers.values():
        assert command.wait() == 0, command.stderr
        assert "Traceback" not in command.stderr, command.stderr
    assert_each_page_is_kept_once(shared, web)


def test_no_page_is_kept_twice(shared: Crawls) -> None:
    events = ["kill", "stop", "kill"]
    with SampleServer(SampleWeb.plain(hosts=8, pages=120)) as web:
        workers = disturb(shared, web, random.Random(1), events)
        assert_kept_once(shared, web, workers)
        assert_all_and_polite(web, twice=24 * len(events))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_no_page_is_kept_twice_in_many_rounds(shared: Crawls, seed: int) -> None:
    draw = random.Random(seed)
    events = draw.choices(["kill", "stop"], weights=[3, 1], k=8)
    with SampleServer(SampleWeb.plain(hosts=12, pages=300)) as web:
        workers = disturb(shared, web, draw, events)
        assert_kept_once(shared, web, workers)
        assert_all_and_polite(web, twice=24 * len(events))
