"""The crawl's clock goes on whatever the system's clock is set to."""

from __future__ import annotations

import time

from webcrawler.clock import SteadyClock
from webcrawler.crawl import Crawl


def test_a_clock_that_is_set_moves_nothing():
    system, passed = [1_000_000.0], [50.0]
    clock = SteadyClock(lambda: system[0], lambda: passed[0])
    assert clock() == 1_000_000.0
    system[0] += 3600
    passed[0] += 2
    assert clock() == 1_000_002.0
    system[0] -= 100_000
    assert clock() == 1_000_002.0


def test_crawls_go_by_it():
    assert isinstance(Crawl.clock, SteadyClock)
    assert abs(Crawl.clock() - time.time()) < 60
