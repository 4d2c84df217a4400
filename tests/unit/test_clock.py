"""The crawl's clock goes on whatever the system's clock is set to."""

from __future__ import annotations

import time

import pytest

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


@pytest.mark.parametrize("hours", [-30, 0, 30])
def test_it_goes_by_another_one(hours: int):
    clock = SteadyClock()
    clock.set_by(lambda: time.time() + 3600 * hours)
    assert clock() - time.time() == pytest.approx(3600 * hours, abs=1)


def test_the_quickest_answer_counts():
    passed = iter([0.0, 0.0, 9.0, 20.0, 20.2, 30.0, 37.0, 40.0, 44.0, 50.0, 53.0, 60.0])
    told = iter([1000.0, 1020.1, 1037.0, 1040.0, 1050.0])
    clock = SteadyClock(passed=lambda: next(passed))
    clock.set_by(lambda: next(told))
    assert clock() == pytest.approx(1060.0)


@pytest.mark.parametrize("drift", [-0.05, 0.05])
def test_a_drift_is_made_good_little_by_little(drift: float):
    clock = SteadyClock(lambda: 500.0, lambda: 0.0)
    times = 0
    while abs(clock() - 500.0 - drift) > 0.002:
        before = clock()
        clock.follow(500.0 + drift, -0.001)
        assert 0 < abs(clock() - before) < 0.0011
        times += 1
        assert times < 100


def test_an_answer_that_may_be_right_moves_nothing():
    clock = SteadyClock(lambda: 500.0, lambda: 0.0)
    clock.follow(500.0, -0.5)  # it was half a second on its way
    assert clock() == 500.0
