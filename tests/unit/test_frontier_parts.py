"""The frontier's small parts: records, hosts, selector, prioritizer, caches."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawler.frontier import seen
from webcrawler.frontier.ending import OUTCOMES, EndedPage, Ending
from webcrawler.frontier.host import Host, HostQueue
from webcrawler.frontier.prioritizer import Prioritizer
from webcrawler.frontier.record import MAX_ANCHOR_BYTES, Record, url_of_packed
from webcrawler.frontier.seen import BloomFilter, PopularCache
from webcrawler.frontier.selector import BiasedSelector
from webcrawler.politeness.cause import Cause

if TYPE_CHECKING:
    from pathlib import Path

U64 = st.integers(0, 2**64 - 1)


@given(
    url=st.text(max_size=200).filter(lambda t: t.isprintable()),
    fingerprint=U64,
    via=U64,
    depth=st.integers(0, 65_535),
    anchor=st.text(max_size=300, alphabet=st.characters(exclude_categories=["Cs"])),
    is_seed=st.booleans(),
    hops=st.integers(0, 255),
    retries=st.integers(0, 255),
    payload=st.binary(max_size=50),
)
def test_record_round_trip(**fields):
    record = Record(host="h.test", queue=3, sequence=7, **fields)
    packed = record.pack()
    again = Record.unpack(packed, "h.test", 3, 7)
    for name in ("url", "fingerprint", "via", "depth", "is_seed", "hops", "retries", "payload"):
        assert getattr(again, name) == fields[name]
    assert fields["anchor"].startswith(again.anchor)
    assert again.anchor == fields["anchor"] or len(again.anchor.encode()) > MAX_ANCHOR_BYTES - 4
    assert url_of_packed(packed) == fields["url"]


def test_record_clips_what_does_not_fit():
    record = Record("http://a/", 1, "a", depth=100_000, hops=999, retries=999)
    again = Record.unpack(record.pack(), "a", 1, 0)
    assert (again.depth, again.hops, again.retries) == (65_535, 255, 255)


def test_host_round_trip():
    host = Host("example.org:8080", 42)
    host.next_at, host.last_at, host.held_at = 123.5, 100.25, 123.5
    host.delay, host.crawl_delay = 2.5, 10.0
    host.failures, host.parkings, host.fetched = 3, 1, 77
    host.cause, host.is_blocked, host.address = Cause.RETRY_AFTER, True, "::1"
    host.queues = {2: HostQueue(5, 9, 4, True), 7: HostQueue(0, 1, 1, False)}
    again = Host.unpack(host.pack(), 42)
    for name in Host.__slots__:
        if name not in ("queues", "is_leased", "in_hand"):
            assert getattr(again, name) == getattr(host, name), name
    assert {k: (q.low, q.tail, q.stored, q.is_queued) for k, q in again.queues.items()} == {
        2: (5, 9, 4, True),
        7: (0, 1, 1, False),
    }
    assert again.queues[2].head == 5, "what was in hand at a crash is read again"
    assert not again.is_leased
    assert again.shelf == 42
    host.shelf = 7
    again = Host.unpack(host.pack(), 42)
    assert (again.shelf, again.address, again.name) == (7, "::1", "example.org:8080")


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_ending_round_trip(outcome):
    record = Record("http://a/ä", 9, "a", depth=2, via=5)
    ending = Ending(record, outcome, 12.5, 404, digest=2**64 - 1, of=8)
    page = EndedPage.unpack(ending.pack_row())
    assert page == EndedPage("http://a/ä", outcome, 404, 12.5, 2, 2**64 - 1, 5, 8)


def test_selector_prefers_higher_queues_and_starves_none():
    selector = BiasedSelector(4, seed=3)
    first = Counter(next(selector.order()) for _ in range(8000))
    assert first[1] > first[2] > first[3] > first[4] > 0
    assert first[1] / first[2] == pytest.approx(2, rel=0.15)


def test_selector_orders_every_queue_once():
    selector = BiasedSelector(5, weights=[1, 1, 1, 1, 100], seed=1)
    orders = [list(selector.order()) for _ in range(200)]
    assert all(sorted(order) == [1, 2, 3, 4, 5] for order in orders)
    assert Counter(order[0] for order in orders)[5] > 150


def test_selector_chooses_only_filled_queues():
    selector = BiasedSelector(3, seed=1)
    assert selector.choose({1: 0}, 3) == []
    assert selector.choose({3: 1, 2: 2}, 5) == [2, 2, 3]
    assert selector.choose({2: 9}, 2) == [2, 2]
    assert {tuple(selector.choose({3: 1, 2: 9}, 2)) for _ in range(100)} == {(2, 2), (2, 3)}


def test_selector_is_repeatable():
    one, two = BiasedSelector(8, seed=5), BiasedSelector(8, seed=5)
    assert [list(one.order()) for _ in range(20)] == [list(two.order()) for _ in range(20)]


@pytest.mark.parametrize("weights", [[1, 2], [1, 0, 1], [1, -1, 1]])
def test_selector_refuses_weights_that_would_starve(weights):
    with pytest.raises(ValueError):
        BiasedSelector(3, weights=weights)


def test_prioritizer_by_depth():
    breadth, depth = Prioritizer(8), Prioritizer(8, "depth")
    assert [breadth.queue(d) for d in (0, 1, 7, 50)] == [1, 2, 8, 8]
    assert [depth.queue(d) for d in (0, 1, 7, 50)] == [8, 7, 1, 1]
    assert breadth.queue(3, priority=2) == 2
    assert breadth.queue(3, priority=-100) == 8
    assert breadth.queue(3, priority=100) == 1


def test_popular_cache_is_bounded_and_keeps_what_is_met_again():
    cache = PopularCache(128)
    for n in range(10_000):
        cache.add(n)
        assert n in cache
        assert 0 in cache, "met again each time, so it stays"
    assert 10_001 not in cache
    assert len(cache.missing(range(10_000))) >= 10_000 - 128


def test_popular_cache_answers_for_a_whole_list_in_its_order():
    cache = PopularCache(1 << 12)
    cache.add_all([2**64 - 1, 7, 5])
    assert cache.missing([]) == []
    assert cache.missing([9, 7, 0, 2**64 - 1, 9, 5]) == [9, 0, 9]


def test_popular_cache_asked_for_all_it_holds_forgets_nothing():
    cache = PopularCache(16)  # two buckets of eight
    for n in range(16):
        cache.add(n)
    for _ in range(3):
        for n in range(16):
            assert cache.missing([n]) == []


def test_bloom_filter_forgets_nothing_and_errs_as_stated(tmp_path: Path):
    bloom = BloomFilter(tmp_path / "bloom", 20_000, 0.01)
    known = [n * 0x9E3779B97F4A7C15 % 2**64 for n in range(1, 20_001)]
    bloom.add_all(known)
    assert all(n in bloom for n in known)
    strangers = [n * 0xC2B2AE3D27D4EB4F % 2**64 for n in range(1, 20_001)]
    wrong = sum(n in bloom for n in strangers)
    assert wrong / 20_000 < 0.015
    bloom.close()
    again = BloomFilter(tmp_path / "bloom", 20_000, 0.01)
    assert not again.is_fresh
    assert all(n in again for n in known)
    again.close()


def test_a_bloom_filter_of_another_rate_is_begun_anew(tmp_path: Path):
    """Both files have the same size; read with more hashes than were set, it would know nothing."""
    BloomFilter(tmp_path / "bloom", 1_000_000, 1e-5).close()
    size = (tmp_path / "bloom").stat().st_size
    other = BloomFilter(tmp_path / "bloom", 1_000_000, 1e-6)
    assert (tmp_path / "bloom").stat().st_size == size
    assert other.is_fresh
    other.close()


def test_a_bloom_filter_open_when_the_power_went_is_begun_anew(tmp_path: Path, monkeypatch):
    killed = BloomFilter(tmp_path / "bloom", 1000, 0.01)
    killed.add_all([7])
    again = BloomFilter(tmp_path / "bloom", 1000, 0.01)
    assert not again.is_fresh, "the system kept what a killed process had written"
    assert 7 in again
    monkeypatch.setattr(seen, "_system_start", lambda: b"another".ljust(36))
    assert BloomFilter(tmp_path / "bloom", 1000, 0.01).is_fresh
    closed = BloomFilter(tmp_path / "bloom", 1000, 0.01)
    closed.add_all([7])
    closed.close()
    monkeypatch.setattr(seen, "_system_start", lambda: b"a third".ljust(36))
    again = BloomFilter(tmp_path / "bloom", 1000, 0.01)
    assert not again.is_fresh
    assert 7 in again
