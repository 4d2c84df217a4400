"""Workers on machines whose clocks differ, by hours, from each other and from that of Redis."""

from __future__ import annotations

import signal
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.integration.test_workers import (
    REDIS,
    assert_all_and_polite,
    assert_good,
    logged,
    server,
    shared,
    web,
)

if TYPE_CHECKING:
    from tests.crawling import Command, Crawls
    from webcrawler.sampleweb import SampleServer

__all__ = ["server", "shared", "web"]  # fixtures

HOUR = 3600.0
SHIFTS = (0.0, -5.0, -3 * HOUR, 36 * HOUR)


def begin(shared: Crawls, web: SampleServer, lease: int) -> list[Command]:
    # So few URLs at a time that hosts go from hand to hand.
    shared.settings |= {"FRONTIER_BATCH": 1, "FRONTIER_LEASE_SECS": lease, "ROBOTSTXT_OBEY": True}
    return [shared.start("web", web.seeds, clock_shift=shift) for shift in SHIFTS]


def test_delays_are_kept(shared: Crawls, web: SampleServer) -> None:
    workers = begin(shared, web, lease=60)
    workers[0].until(lambda: len(logged(shared)) > 30)
    for worker in workers:
        worker.signal(signal.SIGSTOP)  # they shall not end before they are asked about
    options = ("-s", f"REDIS_URL={shared.settings['REDIS_URL']}", *REDIS)
    assert len(shared.ask(*options, "stats")["workers"]) == len(SHIFTS), "they are alive"
    for worker in workers:
        worker.signal(signal.SIGCONT)
    assert_good(workers)
    assert_all_and_polite(web)
    assert sorted(logged(shared)) == sorted(web.web.truth().reachable_pages())
    asked = Counter(each.host for each in web.arrivals if each.path == "/robots.txt")
    assert set(asked.values()) == {1}, "what one worker has read, the others know"


@pytest.mark.parametrize("victim", [2, 3])
def test_a_killed_one_is_inherited(shared: Crawls, web: SampleServer, victim: int) -> None:
    workers = begin(shared, web, lease=8)
    workers[victim].until(lambda: len(logged(shared)) > 30)
    workers.pop(victim).kill()
    assert_good(workers)
    assert_all_and_polite(web, twice=4)
