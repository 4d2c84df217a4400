"""What others put into Redis: odd seeds, keys in the way, other crawls; other delays."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.crawling import fetched
from tests.integration.test_workers import (
    DELAY,
    REDIS,
    assert_all_and_polite,
    assert_good,
    assert_one_sentence,
    logged,
    server,
    shared,
    start,
    web,
)
from webcrawler.sampleweb.audit import audit

if TYPE_CHECKING:
    from tests.crawling import Crawls
    from tests.redis_server import RedisServer
    from webcrawler.sampleweb import SampleServer

__all__ = ["server", "shared", "web"]  # fixtures
ODD_SEEDS = (
    b"",
    b"\xff\xfe\x00",
    b"{",
    b"[1, 2]",
    b'{"url": 7}',
    b'{"url": {"url": []}}',
    b'{"other": "http://a.test/"}',
    b"javascript:alert(1)",
    b"file:///etc/passwd",
    b"http://",
    b"http://[::1",
    b"http://user:pass@/x",
    b"http://a.test:99999/",
    b"http://" + b"a" * 300 + b".test/",
    b"http://a.test/" + b"x" * 1_000_000,
    b"http://a.test/\r\nHost: b.test",
    b"{" * 100_000,
)


def test_odd_seeds_do_no_harm(shared: Crawls, web: SampleServer, server: RedisServer) -> None:
    client = server.client()
    for seed in ODD_SEEDS:
        client.rpush("web:start_urls", seed)
    client.rpush("web:start_urls", json.dumps({"url": web.seeds[0], "meta": {"x": 1}}))
    nothing = "http://127.0.0.1:1/"
    worker = shared.start("web", nothing, RETRY_ENABLED=False)
    assert_good([worker])
    assert client.llen("web:start_urls") == 0
    assert set(web.web.truth().reachable_pages()) <= set(logged(shared))
    assert worker.stderr.count("no URL was pushed") >= 8
    assert len(worker.stderr) < 100_000, "a long one is shown in part"


@pytest.mark.parametrize("key", ["{job}:meta", "{job}:workers", "{job:0}:n", "web:start_urls"])
def test_a_key_in_the_way(shared: Crawls, web: SampleServer, server: RedisServer, key: str) -> None:
    server.client().set(key, "somebody else's")
    worker = shared.start("web", web.seeds)
    assert_one_sentence(worker, "cannot be used: WRONGTYPE")
    assert server.client().get(key) == b"somebody else's"


def test_crawls_side_by_side_and_one_forgotten(
    shared: Crawls, web: SampleServer, server: RedisServer
) -> None:
    """Names that begin alike, too."""
    pages = set(web.web.truth().reachable_pages())
    names = ("job", "job2", "jo*")
    running = []
    for shared.name in names:
        running += start(shared, web, 1, POLITENESS_MIN_DELAY=0)
    assert_good(running)
    for shared.name in names:
        assert set(logged(shared)) == pages
    options = ("-s", f"REDIS_URL={server.url}", *REDIS)
    for shared.name in ("jo*", "job"):
        assert shared.frontier(*options, "forget", "--yes").code == 0
    left = {key.decode() for key in server.client().keys("*")}
    assert left
    assert all(key.startswith(("{job2:", "{job2}")) for key in left), left
    shared.name = "job2"
    assert shared.ask(*options, "stats")["known"] == len(pages)


def test_workers_with_other_delays(shared: Crawls, web: SampleServer) -> None:
    """Each worker keeps the delay it was given; none undercuts the shortest of them."""
    workers = start(shared, web, 1) + start(shared, web, 1, POLITENESS_MIN_DELAY=2 * DELAY)
    assert_good(workers)
    assert_all_and_polite(web)
    assert len(fetched(web)) == len(set(fetched(web)))
    assert audit(web.arrivals, DELAY).is_polite
