"""Several workers on one Redis: each page once, each host by one at a time, whatever dies."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.crawling import Command, Crawls, fetched, read_log
from tests.programs import program
from tests.redis_server import RedisServer
from webcrawler.sampleweb import SampleServer, SampleWeb
from webcrawler.sampleweb.audit import audit

if TYPE_CHECKING:
    from collections.abc import Iterator

DELAY = 0.1


@pytest.fixture
def server() -> Iterator[RedisServer]:
    server = RedisServer("--appendonly", "yes", "--appendfsync", "always")
    yield server
    server.close()


@pytest.fixture
def shared(crawls: Crawls, server: RedisServer) -> Crawls:
    crawls.settings = {
        "FRONTIER_BACKEND": "redis",
        "REDIS_URL": server.url,
        "FRONTIER_PARTITIONS": 8,
        "FRONTIER_LEASE_SECS": 2,
        "FRONTIER_BATCH": 3,
        "POLITENESS_MIN_DELAY": DELAY,
    }
    return crawls


@pytest.fixture
def web() -> Iterator[SampleServer]:
    with SampleServer(SampleWeb.plain(hosts=8, pages=120)) as web:
        yield web


def start(shared: Crawls, web: SampleServer, number: int, **changes: Any) -> list[Command]:
    return [shared.start("web", web.seeds, **changes) for _ in range(number)]


def assert_good(commands: list[Command]) -> None:
    for command in commands:
        assert command.wait() == 0, command.stderr
        assert "Traceback" not in command.stderr, command.stderr


def logged(shared: Crawls) -> list[str]:
    return [line["url"] for job in sorted(shared.job.glob("worker-*")) for line in read_log(job)]


def assert_all_and_polite(web: SampleServer, twice: int = 0) -> None:
    counts = Counter(fetched(web))
    assert set(counts) == set(web.web.truth().reachable_pages())
    assert sum(counts.values()) - len(counts) <= twice, counts.most_common(5)
    found = audit(web.arrivals, DELAY)
    assert found.is_polite, found


def test_every_page_once(shared: Crawls, web: SampleServer) -> None:
    shared.settings["FRONTIER_LEASE_SECS"] = 60
    workers = start(shared, web, 3)
    workers[0].until(lambda: len(logged(shared)) > 30)
    for worker in workers:
        worker.signal(signal.SIGSTOP)  # they shall not end before they are asked about
    stats = shared.ask("-s", f"REDIS_URL={shared.settings['REDIS_URL']}", *REDIS, "stats")
    assert len(stats["workers"]) == 3
    for worker in workers:
        worker.signal(signal.SIGCONT)
    workers += start(shared, web, 1)  # one more in the middle
    assert_good(workers)
    assert_all_and_polite(web)
    assert sorted(logged(shared)) == sorted(web.web.truth().reachable_pages())
    assert len(list(shared.job.glob("worker-*"))) == 4
    assert_vias(shared, web)


def assert_vias(shared: Crawls, web: SampleServer) -> None:
    """Whoever fetched a page, its line says which page led there."""
    links = web.web.truth().links
    for job in shared.job.glob("worker-*"):
        for line in read_log(job):
            assert bool(line["via"]) == bool(line["depth"]), line
            if line["via"]:
                assert line["url"] in [link.url for link in links[line["via"]]], line


def test_a_limit_on_pages_is_exact(shared: Crawls, web: SampleServer) -> None:
    workers = start(shared, web, 3, max_pages=50, POLITENESS_MIN_DELAY=0)
    assert_good(workers)
    assert len(fetched(web)) == len(logged(shared)) == 50
    workers = start(shared, web, 2, max_pages=61, POLITENESS_MIN_DELAY=0)  # some more
    assert_good(workers)
    assert len(fetched(web)) == len(logged(shared)) == 61


REDIS = ("-s", "FRONTIER_BACKEND=redis", "-s", "FRONTIER_PARTITIONS=8")


def test_a_killed_worker_is_inherited(shared: Crawls, web: SampleServer) -> None:
    # Longer than a busy machine may keep a worker from renewing: only the killed one loses hosts.
    workers = start(shared, web, 3, FRONTIER_LEASE_SECS=8)
    workers[0].until(lambda: len(logged(shared)) > 30)
    workers[1].kill()
    assert_good([workers[0], workers[2]])
    assert_all_and_polite(web, twice=8)


def test_redis_restarts(shared: Crawls, web: SampleServer, server: RedisServer) -> None:
    workers = start(shared, web, 2, FRONTIER_LEASE_SECS=10)
    workers[0].until(lambda: len(logged(shared)) > 30)
    server.stop()
    time.sleep(1.5)
    server.start()
    assert_good(workers)
    assert sum(w.stderr.count("Redis is gone") for w in workers) == 2
    assert_all_and_polite(web, twice=16)


def test_the_connections_are_cut(shared: Crawls, web: SampleServer, server: RedisServer) -> None:
    workers = start(shared, web, 2)
    for number in (20, 60, 90):
        workers[0].until(lambda least=number: len(logged(shared)) > least)
        server.client().client_kill_filter(_type="normal", skipme=True)
    assert_good(workers)
    assert_all_and_polite(web, twice=16)


def test_seeds_are_pushed(shared: Crawls, web: SampleServer, server: RedisServer) -> None:
    pages = web.web.truth().reachable_pages()
    first, *others = {url.split("/")[2]: url for url in pages}.values()  # one of each host
    worker = shared.start("site", first, FRONTIER_STAY=True)
    worker.until(lambda: len(logged(shared)) >= 1)
    client = server.client()
    client.lpush("site:start_urls", *others)
    worker.until(lambda: client.llen("site:start_urls") == 0)
    worker.until(lambda: set(others) <= set(logged(shared)))
    assert not worker.has_ended(), "it stays up for more"
    worker.signal(signal.SIGINT)
    assert worker.wait() == 0


def test_redis_that_is_not_there_full_or_forgotten(
    shared: Crawls, web: SampleServer, server: RedisServer
) -> None:
    shared.settings["REDIS_URL"] = "redis://127.0.0.1:1/0"
    assert_one_sentence(shared.start("web", web.seeds), "there is no Redis at")
    shared.settings["REDIS_URL"] = server.url
    server.client().config_set("maxmemory", "1mb")
    assert_one_sentence(shared.start("web", web.seeds), "is full: give it more memory")
    server.client().config_set("maxmemory", "0")
    assert_good(start(shared, web, 1, max_pages=5))
    options = ("-s", f"REDIS_URL={server.url}", *REDIS)
    assert shared.frontier(*options, "forget", "--yes").code == 0
    assert server.client().dbsize() == 0


def assert_one_sentence(command: Command, words: str) -> None:
    assert command.wait() == 2, command.stderr
    assert "Traceback" not in command.stderr, command.stderr
    assert words in command.stderr.splitlines()[-1]


@pytest.fixture
def cluster() -> Iterator[list[RedisServer]]:
    servers = [RedisServer("--cluster-enabled", "yes") for _ in range(3)]
    nodes = [f"127.0.0.1:{server.port}" for server in servers]
    make = [program("redis-cli"), "--cluster", "create", *nodes, "--cluster-yes"]
    subprocess.run(make, check=True, capture_output=True)
    time.sleep(2)
    yield servers
    for server in servers:
        server.close()


def test_a_cluster(shared: Crawls, cluster: list[RedisServer]) -> None:
    shared.settings |= {"REDIS_URL": cluster[0].url, "FRONTIER_PARTITIONS": 64}
    # So many hosts that every node has some.
    with SampleServer(SampleWeb.plain(hosts=40, pages=120)) as web:
        assert_good(start(shared, web, 2))
        assert_all_and_polite(web)
    sizes = [server.client().dbsize() for server in cluster]
    assert all(sizes), sizes


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_many_kills(shared: Crawls, seed: int) -> None:
    """Workers die and others come, again and again: nothing is lost, nothing is too soon."""
    draw = random.Random(seed)
    kills = 6
    with SampleServer(SampleWeb.plain(hosts=8, pages=160)) as web:
        workers = start(shared, web, 3)
        for _ in range(kills):
            time.sleep(draw.uniform(0.3, 1.5))
            victim = workers.pop(draw.randrange(len(workers)))
            victim.kill()
            workers += start(shared, web, 1)
        assert_good(workers)
        assert_all_and_polite(web, twice=8 * kills)
