"""What workers of one crawl agree on, and the figures they are judged by."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from webcrawler.frontier.backends.shared.figures import describe_workers
from webcrawler.frontier.backends.shared.preference import share
from webcrawler.frontier.ending import OUTCOMES
from webcrawler.frontier.store import Counts

WORKERS = [f"worker-{number}" for number in range(4)]


def loads_of(owners: list[str], loads: list[int]) -> Counter[str]:
    found: Counter[str] = Counter()
    for owner, load in zip(owners, loads, strict=True):
        found[owner] += load
    return found


def test_work_is_shared_evenly_however_lopsided():
    draw = random.Random(7)
    few = [int(partition % 9 == 0) for partition in range(64)]
    for loads in ([1] * 64, few, [draw.randrange(4) for _ in range(64)]):
        found = loads_of(share(WORKERS, loads), loads)
        assert max(found.values()) <= -(-sum(loads) // 4) * 1.1 + max(loads)
        assert len(found) == 4


def test_partitions_without_work_have_a_worker_too():
    assert set(share(WORKERS, [0] * 64)) == set(WORKERS)
    assert share(["alone"], [3, 0, 1]) == ["alone"] * 3


@pytest.mark.parametrize("load", [1, 4])
def test_a_worker_that_comes_or_goes_moves_about_its_share(load):
    loads = [load] * 256
    before, after = share(WORKERS, loads), share(WORKERS[:3], loads)
    moved = sum(a != b for a, b in zip(before, after, strict=True))
    assert 256 / 4 * 0.9 <= moved <= 256 / 4 * 1.5


def test_figures_are_those_of_the_literature():
    counts = Counts(known=200)
    counts.ended = dict.fromkeys(OUTCOMES, 0) | {"stored": 70, "duplicate": 10, "failed": 20}
    quick = {"worker": "b", "at": 100.0, "lease_secs": 30.0, "pages": 60, "rate": 2.5, "leases": 3}
    slow = {"worker": "a", "at": 95.0, "lease_secs": 30.0, "pages": 20, "rate": 1.0, "leases": 1}
    gone = {"worker": "c", "at": 60.0, "lease_secs": 30.0, "pages": 0, "rate": 9.0, "leases": 9}
    entries = [
        {**quick, "refused": 3, "exchanged": 100, "commands": 168},
        {**slow, "refused": 1, "exchanged": 68, "commands": 0},
        gone,
    ]
    found = describe_workers(entries, counts, 0, 101.0)
    assert [worker["worker"] for worker in found["workers"]] == ["a", "b"], "c has lost its leases"
    assert [worker["pages_per_second"] for worker in found["workers"]] == [1.0, 2.5]
    assert [worker["leases"] for worker in found["workers"]] == [1, 3]
    assert found["overlap"] == 4 / 80  # 84 downloads of 80 pages
    assert found["coverage"] == 100 / 200
    assert found["exchanged_per_page"] == 2.0
    assert found["redis_commands_per_page"] == 2.0
