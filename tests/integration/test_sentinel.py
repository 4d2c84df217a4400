"""Redis behind Sentinel: its master dies in the middle of a crawl, a replica takes over."""

from __future__ import annotations

import signal
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.crawling import PATIENCE, Crawls, fetched, read_log
from tests.redis_server import RedisServer, SentinelServer
from webcrawler.sampleweb import SampleServer, SampleWeb
from webcrawler.sampleweb.audit import audit

if TYPE_CHECKING:
    from collections.abc import Iterator

DELAY = 0.1
NAME = "crawls"


@pytest.fixture
def master() -> Iterator[RedisServer]:
    server = RedisServer()
    yield server
    server.close()


@pytest.fixture
def sentinel(master: RedisServer) -> Iterator[SentinelServer]:
    server = SentinelServer(master, NAME)
    yield server
    server.close()


@pytest.fixture
def replica(master: RedisServer) -> Iterator[RedisServer]:
    server = RedisServer("--replicaof", "127.0.0.1", str(master.port))
    yield server
    server.close()


@pytest.fixture
def shared(crawls: Crawls, sentinel: SentinelServer) -> Crawls:
    crawls.settings = {
        "FRONTIER_BACKEND": "redis",
        "REDIS_SENTINELS": f"127.0.0.1:1,127.0.0.1:{sentinel.port}",  # the first is not there
        "REDIS_SENTINEL_MASTER": NAME,
        "FRONTIER_PARTITIONS": 8,
        "FRONTIER_BATCH": 3,
        "FRONTIER_LEASE_SECS": 60,
        "POLITENESS_MIN_DELAY": DELAY,
    }
    return crawls


@pytest.mark.slow
def test_a_replica_takes_over(
    master: RedisServer, replica: RedisServer, sentinel: SentinelServer, shared: Crawls
) -> None:
    deadline = time.monotonic() + PATIENCE
    while not sentinel.replicas():  # it looks every ten seconds
        assert time.monotonic() < deadline, "the Sentinel found no replica"
        time.sleep(0.05)
    with SampleServer(SampleWeb.plain(hosts=8, pages=160)) as web:
        nothing = "http://127.0.0.1:1/"  # until both are there
        workers = [shared.start("web", nothing, FRONTIER_STAY=True) for _ in range(2)]
        for worker in workers:
            worker.until(lambda: master.client().hlen("{job}:workers") == 2)
        master.client().lpush("web:start_urls", *web.seeds)

        def logged() -> set[str]:
            jobs = shared.job.glob("worker-*")
            return {line["url"] for job in jobs for line in read_log(job)} - {nothing}

        workers[0].until(lambda: len(logged()) > 40)
        master.stop()
        pages = set(web.web.truth().reachable_pages())
        workers[0].until(lambda: logged() == pages)
        for worker in workers:
            worker.signal(signal.SIGINT)
            assert worker.wait() == 0, worker.stderr
            assert worker.stderr.count("Redis is gone") == 1, worker.stderr
            assert worker.stderr.count("Redis is back") == 1, worker.stderr
            assert "Traceback" not in worker.stderr, worker.stderr
        assert replica.client().info("replication")["role"] == "master"
        counts = Counter(fetched(web))
        assert set(counts) == pages
        assert max(counts.values()) == 1, "what was answered, the replica had"
        assert audit(web.arrivals, DELAY).is_polite
    assert shared.ask(*options(shared), "stats")["waiting"] == 0


def options(shared: Crawls) -> list[str]:
    settings = [f"{name}={value}" for name, value in shared.settings.items()]
    return [word for setting in settings for word in ("-s", setting)]


def test_the_master_is_found_or_it_is_said(shared: Crawls, master: RedisServer) -> None:
    with SampleServer(SampleWeb.plain(hosts=2, pages=6)) as web:
        shared.run("web", web.seeds)
        assert sorted(fetched(web)) == sorted(web.web.truth().reachable_pages())
    assert master.client().exists("{job}:meta")
    shared.settings["REDIS_SENTINEL_MASTER"] = "another"
    answered = shared.frontier(*options(shared), "stats")
    assert answered.code == 2, answered.stderr
    assert "there is no Redis at another of the Sentinels" in answered.stderr
