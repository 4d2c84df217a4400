"""The pace of real crawls, seen from the servers: never too soon, and no later than need be."""

from __future__ import annotations

import os
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.odd_server import Answer, OddServer, page
from webcrawler.sampleweb import SampleServer, SampleWeb
from webcrawler.sampleweb.audit import audit

if TYPE_CHECKING:
    from tests.crawling import Crawls

HEARTBEAT = 5.0  # how often the engine asks by itself


def test_a_lone_host_keeps_its_pace(crawls: Crawls) -> None:
    with SampleServer(SampleWeb.plain(hosts=1, pages=12)) as server:
        crawls.run("web", server.seeds, POLITENESS_MIN_DELAY=0.2, ROBOTSTXT_OBEY=True)
        found = audit(server.arrivals, 0.2)
        assert found.is_polite, found.violations
        assert found.requests == 13, "robots.txt counts"
        assert found.median_gap is not None
        assert found.median_gap < HEARTBEAT / 5


def test_many_hosts(crawls: Crawls) -> None:
    web = SampleWeb.plain(hosts=40, pages=160, robots=("delay", "missing"), crawl_delay=0.5)
    with SampleServer(web) as server:
        crawls.run("web", server.seeds, POLITENESS_MIN_DELAY=0.3, ROBOTSTXT_OBEY=True)
        found = audit(server.arrivals, server.web.truth().crawl_delays(0.3))
        assert found.is_polite, found.violations
        assert len(crawls.urls) == 160
        # While one host is left alone others are fetched from.
        assert len({arrival.host for arrival in server.arrivals[:100]}) > 20


def test_retries_and_redirects_keep_the_delay(crawls: Crawls) -> None:
    odd = {"redirects": 0.2, "errors": 0.1, "flaky": 0.1, "resets": 0.05, "retry_after": 1}
    with SampleServer(SampleWeb.plain(hosts=12, pages=48, **odd)) as server:
        crawls.run(
            "web", server.seeds, POLITENESS_MIN_DELAY=0.1, POLITENESS_BACKOFF=0.4, RETRY_TIMES=1
        )
        arrivals = server.arrivals
        found = audit(arrivals, 0.1)
        assert found.is_polite, found.violations
        failures = Counter(arrival.status for arrival in arrivals)
        assert failures[503]
        assert failures[500]
        assert failures[0]
        by_host: dict[str, list[Any]] = {}
        for arrival in sorted(arrivals, key=lambda arrival: arrival.arrived_at):
            by_host.setdefault(arrival.host, []).append(arrival)
        kinds = {url: resource.kind for url, resource in server.web.truth().resources.items()}
        for visits in by_host.values():
            for before, after in pairwise(visits):
                gap = after.arrived_at - before.ended_at
                is_told = kinds[server.url(before.host, before.path)] == "error"
                if before.status in (429, 503) and is_told:
                    assert gap >= 0.995, "Retry-After: 1"
                elif before.status in (0, 429) or before.status >= 500:
                    assert gap >= 0.395, "back-off"


def test_a_limit_for_each_address(crawls: Crawls) -> None:
    addresses = ("127.0.0.1", "127.0.0.2")
    with SampleServer(SampleWeb.plain(hosts=12, pages=48), addresses=addresses) as server:
        crawls.dns = server.dns
        command = crawls.start("web", server.seeds, POLITENESS_ADDRESS_DELAY=0.1)
        command.until(lambda: len(crawls.log) >= 12)
        command.kill()
        crawls.run("web", server.seeds, POLITENESS_ADDRESS_DELAY=0.1)
        assert set(crawls.urls) == server.web.truth().reachable_pages().keys()
        found = audit(server.arrivals, 0.0, address_delay=0.1)
        assert found.addresses == 2
        assert found.is_polite, found.violations


def test_overrides_and_budgets(crawls: Crawls) -> None:
    with SampleServer(SampleWeb.plain(hosts=4, pages=40)) as server:
        first, second = (f"{name}:{server.port}" for name in server.web.host_names[:2])
        crawls.run(
            "web",
            server.seeds,
            POLITENESS_MAX_PAGES=5,
            POLITENESS_OVERRIDES={first: {"min_delay": 0.3}, second: {"max_pages": 8}},
        )
        fetched = Counter(arrival.host for arrival in server.arrivals)
        names = server.web.host_names
        assert fetched == {names[0]: 5, names[1]: 8, names[2]: 5, names[3]: 5}
        assert audit(server.arrivals, {names[0]: 0.3}).is_polite
        report = crawls.report
        assert report["finished"] is True
        assert report["frontier"]["frozen"] == report["frontier"]["waiting"] > 0


def test_a_host_that_keeps_failing_is_parked(crawls: Crawls) -> None:
    links = [f"/{number}" for number in range(10)]
    with OddServer({"a.test": Answer(500), ("a.test", "/"): page(*links)}) as server:
        command = crawls.start(
            "web",
            server.url("a.test"),
            POLITENESS_BACKOFF=0.05,
            POLITENESS_PARK_AFTER=3,
            POLITENESS_PARK_SECS=6000,
        )
        command.until(lambda: len(server.asked) == 4)
        command.until(lambda: crawls.ask("hosts", "failing")[0]["parkings"])
        (host,) = crawls.ask("hosts", "failing")
        assert host["parkings"] == 1
        assert host["because"] == "parked"
        assert 5000 < host["in_secs"] <= 6000
        assert host["waiting"] == 10, "its URLs are kept"
        assert len(server.asked) == 4, "the seed, and three failures"


def _cpu_secs(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_crawl_that_waits_does_nothing(crawls: Crawls) -> None:
    with SampleServer(SampleWeb.plain(hosts=30, pages=90)) as server:
        command = crawls.start("web", server.seeds, POLITENESS_MIN_DELAY=60, REPORT_SECS=60)
        command.until(lambda: len(server.arrivals) == 30)
        command.until(lambda: len(crawls.log) == 30)
        time.sleep(0.5)
        before = _cpu_secs(command.pid)
        time.sleep(3)
        assert _cpu_secs(command.pid) - before < 0.15
        assert len(server.arrivals) == 30
