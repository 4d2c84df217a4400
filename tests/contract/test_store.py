"""The contract of the store protocol: every backend, as it is, reopened, and after a crash."""

from __future__ import annotations

import os
import tempfile
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest
import xxhash

from tests.backends import NAMES, Backend
from webcrawler.exceptions import JobError, StoreError
from webcrawler.frontier.backends.embedded import EmbeddedStore
from webcrawler.frontier.backends.kv import DictKV
from webcrawler.frontier.backends.layout import ID, SHAPE, VERSION
from webcrawler.frontier.backends.rocks import RocksTable
from webcrawler.frontier.ending import Ending
from webcrawler.frontier.host import Host, host_id
from webcrawler.frontier.record import Record
from webcrawler.frontier.seen import BloomFilter
from webcrawler.politeness.cause import Cause
from webcrawler.tables import Batch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from webcrawler.frontier.store import Store

QUEUES = 4
NOW = 1_000_000.0
HORIZON = 10.0
ORDER = tuple(range(1, QUEUES + 1))


@pytest.fixture(autouse=True)
def in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders where syncing costs nothing, if there are such."""
    if os.access("/dev/shm", os.W_OK):
        monkeypatch.setattr(tempfile, "tempdir", "/dev/shm")


class World:
    """A store that the tests use, and between their steps close, crash and reopen, or not."""

    def __init__(self, backend: str, mode: str) -> None:
        self.backend = Backend(backend, QUEUES)
        self.mode = mode
        self.restarted: list[str] = []
        self.store: Store = self._open()

    def _open(self) -> Store:
        return self.backend.open(lambda host: self.restarted.append(host.name))

    def again(self) -> Store:
        """The store after whatever the mode is."""
        if self.mode == "reopened":
            self.store.close()
        elif self.mode == "crashed":
            self.backend.crash()
        if self.mode != "live":
            self.store = self._open()
        return self.store

    def crash(self) -> Store:
        self.backend.crash()
        self.store = self._open()
        return self.store

    def end(self) -> None:
        self.store.close()
        self.backend.remove()


# What a live store does is the same on both: they differ in what they keep.
WORLDS = [f"{name}-{mode}" for name in NAMES for mode in ("reopened", "crashed")]


@pytest.fixture(params=["memory-live", *WORLDS])
def world(request: pytest.FixtureRequest, in_memory: None) -> Iterator[World]:
    world = World(*request.param.split("-"))
    yield world
    world.end()


def record(path: str, host: str = "a.test", queue: int = 1, **fields: Any) -> Record:
    url = f"http://{host}/{path}"
    return Record(url, fingerprint(url), host, queue, **fields)


def fingerprint(url: str) -> int:
    return xxhash.xxh3_64_intdigest(url.encode())


def lease(store: Store, now: float = NOW, order: Iterable[int] = ORDER) -> Host:
    host = store.lease(order, now, HORIZON)
    assert host is not None
    return host


def take(
    store: Store, count: int = 1, queue: int = 1, now: float = NOW
) -> tuple[Host, list[Record]]:
    """Lease the next host and take URLs of it in hand."""
    host = lease(store, now, [queue])
    return host, store.refill(host, [queue] * count)


def paths(records: Iterable[Record]) -> list[str]:
    return [record.url.rpartition("/")[2] for record in records]


def waiting(store: Store, count: int = 100) -> list[str]:
    """Everything that is handed out, host after host, in order, without ending it."""
    found: list[str] = []
    leased = []
    while (host := store.lease(ORDER, NOW + 1e6, HORIZON)) is not None:
        choice = [k for k, queue in sorted(host.queues.items()) for _ in range(queue.unread)]
        records = store.refill(host, choice[:count])
        found += [record.url for record in records]
        leased.append((host, records))
    for host, records in leased:
        store.give_back(host, records)
        store.release(host, NOW, HORIZON)
    return found


# -- put and the URL-seen test


def test_put_takes_what_is_new(world: World) -> None:
    one, two, three = record("1"), record("2", "b.test"), record("3")
    assert world.store.put([one, two, record("1")]) == 2
    store = world.again()
    assert store.put([one, three, two]) == 1
    store = world.again()
    assert store.put([one, two, three]) == 0
    asked = [one.fingerprint, fingerprint("http://a.test/4"), three.fingerprint]
    assert store.unknown(asked) == [False, True, False]
    assert store.unknown([]) == []
    counts = store.counts
    assert (counts.known, counts.waiting, counts.hosts, counts.in_hand) == (3, 3, 2, 0)
    assert sorted(waiting(store)) == [
        "http://a.test/1",
        "http://a.test/3",
        "http://b.test/2",
    ]


def test_many_are_known_beyond_what_memory_holds(world: World) -> None:
    records = [record(str(n), f"h{n % 7}.test", 1 + n % QUEUES) for n in range(200)]
    assert world.store.put(records) == 200
    store = world.again()
    assert store.put(records) == 0
    assert not any(store.unknown([one.fingerprint for one in records]))
    assert len(waiting(store)) == 200


def test_a_record_comes_back_as_it_was_put(world: World) -> None:
    given = record(
        "1",
        queue=3,
        depth=7,
        via=fingerprint("http://z.test/"),
        anchor="ein schöner Anker",
        is_seed=True,
        hops=2,
        retries=1,
        payload=b'[1,{"url":"x"}]',
    )
    world.store.put([given])
    _, (found,) = take(world.again(), queue=3)
    for name in Record.__slots__:
        assert getattr(found, name) == getattr(given, name), name


# -- leasing


def test_a_front_queue_is_a_fifo_of_hosts(world: World) -> None:
    store = world.store
    for name in ("a.test", "b.test", "c.test"):
        store.put([record("1", name), record("2", name)])
    store = world.again()
    assert [lease(store).name for _ in range(3)] == ["a.test", "b.test", "c.test"]
    assert store.lease(ORDER, NOW, HORIZON) is None, "a host is leased once"


def test_the_order_of_the_front_queues_is_obeyed(world: World) -> None:
    world.store.put([record("1", "a.test", 1), record("1", "b.test", 2), record("1", "c.test", 4)])
    store = world.again()
    assert store.front_sizes() == [1, 1, 0, 1]
    assert lease(store, order=[3, 4, 1]).name == "c.test"
    assert lease(store, order=[2, 1]).name == "b.test"
    assert store.lease([3, 4], NOW, HORIZON) is None
    assert lease(store, order=[4, 3, 2, 1]).name == "a.test"


def test_urls_come_in_the_order_of_their_queue(world: World) -> None:
    world.store.put([record(str(n), queue=1 + n % 2) for n in range(8)])
    store = world.again()
    host = lease(store)
    assert paths(store.refill(host, [2, 1, 1, 2])) == ["1", "3", "0", "2"]
    assert paths(store.refill(host, [1])) == ["4"]
    assert store.counts.in_hand == host.in_hand == 5
    assert host.unread == 3
    assert host.stored == 8


def test_what_is_given_back_is_first_again(world: World) -> None:
    store = world.store
    store.put([record(str(n)) for n in range(5)])
    host, records = take(store, 3)
    store.give_back(host, records[1:])
    assert store.counts.in_hand == 1
    store.done(Ending(records[0], "stored", NOW, 200))
    store.release(host, NOW, HORIZON)
    store = world.again()
    assert paths(take(store, 9)[1]) == ["1", "2", "3", "4"]


def test_a_released_host_stands_behind_the_others(world: World) -> None:
    store = world.store
    store.put([record("1"), record("2"), record("1", "b.test")])
    host, (first,) = take(store)
    assert host.name == "a.test"
    store.done(Ending(first, "stored", NOW, 200))
    store.release(host, NOW, HORIZON)
    store = world.again()
    assert [take(store)[0].name for _ in range(2)] == ["b.test", "a.test"]


def test_urls_in_hand_outlast_the_lease(world: World) -> None:
    """The host is free when its fetch has ended; the URL ends when its page has."""
    store = world.store
    store.put([record(str(n)) for n in range(3)])
    host, (first,) = take(store)
    store.release(host, NOW, HORIZON)
    again, (second,) = take(store)
    assert again is host
    assert paths([first, second]) == ["0", "1"]
    store.done(Ending(second, "stored", NOW, 200))
    store.release(host, NOW, HORIZON)
    store.done(Ending(first, "stored", NOW, 200))
    store = world.again()
    assert waiting(store) == ["http://a.test/2"]


# -- holding


def test_a_host_whose_time_is_far_is_held(world: World) -> None:
    store = world.store
    store.put([record("1"), record("2"), record("1", "b.test")])
    host, (first,) = take(store)
    host.next_at = NOW + 100
    store.done(Ending(first, "stored", NOW, 200))
    store.release(host, NOW, HORIZON)
    assert store.held_until() == NOW + 100
    assert store.held == 1
    store = world.again()
    assert store.held_until() == NOW + 100
    assert store.held == 1
    assert lease(store).name == "b.test"
    store.wake(NOW + 99)
    assert store.lease(ORDER, NOW + 99, HORIZON) is None
    store.wake(NOW + 100)
    assert store.held_until() is None
    assert store.held == 0
    assert paths(take(store, now=NOW + 100)[1]) == ["2"]


def test_a_waiting_host_whose_time_is_far_is_held_when_it_is_drawn(world: World) -> None:
    store = world.store
    store.put([record("1"), record("1", "b.test")])
    host = lease(store)
    host.next_at = NOW + 50
    store.release(host, NOW + 45, HORIZON)
    store = world.again()
    assert lease(store).name == "b.test"
    assert store.lease(ORDER, NOW, HORIZON) is None, "it is held instead"
    assert store.held_until() == NOW + 50
    store.wake(NOW + 50)
    assert lease(store, NOW + 50).name == "a.test"


def test_held_hosts_wake_in_the_order_of_their_times(world: World) -> None:
    store = world.store
    times = {"a.test": 300.0, "b.test": 100.0, "c.test": 200.0}
    store.put([record("1", name) for name in times])
    for host in [lease(store) for _ in times]:
        host.next_at = NOW + times[host.name]
        store.release(host, NOW, HORIZON)
    store = world.again()
    woken = []
    while (until := store.held_until()) is not None:
        store.wake(until)
        woken.append(lease(store, until).name)
    assert woken == ["b.test", "c.test", "a.test"]


def test_what_is_put_to_a_held_host_waits_with_it(world: World) -> None:
    store = world.store
    store.put([record("1")])
    host = lease(store)
    host.next_at = NOW + 100
    store.release(host, NOW, HORIZON)
    store = world.again()
    store.put([record("2"), record("3", queue=2)])
    assert store.lease(ORDER, NOW, HORIZON) is None
    store.wake(NOW + 100)
    assert len(waiting(store)) == 3


# -- endings


def test_done_is_one_commit(world: World) -> None:
    store = world.store
    store.put([record("1")])
    host, (first,) = take(store)
    batch = Batch()
    batch.put("robots", b"key", b"value")
    links = [record("2"), record("1"), record("3", "b.test")]
    store.done(Ending(first, "stored", NOW, 200, digest=5, of=7, links=links, batch=batch))
    store.release(host, NOW, HORIZON)
    store = world.again()
    assert sorted(waiting(store)) == ["http://a.test/2", "http://b.test/3"]
    assert store.table("robots").get(b"key") == b"value"
    known = store.find(first.fingerprint)
    assert known is not None
    assert known.page is not None
    page = known.page
    assert (page.url, page.outcome, page.status) == (first.url, "stored", 200)
    assert (page.digest, page.of, page.at) == (5, 7, NOW)
    counts = store.counts
    assert (counts.known, counts.waiting, counts.in_hand) == (3, 2, 0)
    assert counts.ended["stored"] == 1
    assert sum(counts.ended.values()) == 1
    row = store.host("a.test")
    assert row is not None
    assert row.fetched == 1


def test_what_was_not_done_comes_back(world: World) -> None:
    store = world.store
    store.put([record(str(n)) for n in range(4)])
    _, records = take(store, 3)
    store.done(Ending(records[1], "failed", NOW, 500))
    store = world.crash()
    assert world.restarted == ["a.test"], "its clock is set, for it may just have been hit"
    assert store.counts.in_hand == 0
    assert waiting(store) == [f"http://a.test/{n}" for n in (0, 2, 3)]
    world.crash()
    assert world.restarted.count("a.test") <= 2


def test_a_long_wait_of_a_host_with_nothing_left_survives_a_crash(world: World) -> None:
    store = world.store
    store.put([record("1")])
    host, _ = take(store)
    host.next_at = NOW + 10 * HORIZON
    store.release(host, NOW, HORIZON)
    row = world.crash().host("a.test")
    assert row is not None
    assert row.next_at == NOW + 10 * HORIZON


def test_a_host_at_rest_is_not_restarted(world: World) -> None:
    store = world.store
    store.put([record("1"), record("2")])
    host, (first,) = take(store)
    store.done(Ending(first, "stored", NOW, 200))
    store.release(host, NOW, HORIZON)
    world.crash()
    assert world.restarted == []


def test_only_pages_count_for_a_hosts_budget(world: World) -> None:
    store = world.store
    store.put([record(str(n)) for n in range(3)])
    host, records = take(store, 3)
    for one, outcome in zip(records, ("stored", "refused", "redirect"), strict=True):
        store.done(Ending(one, outcome, NOW))
    store.release(host, NOW, HORIZON)
    row = world.again().host("a.test")
    assert row is not None
    assert row.fetched == 1
    assert row.stored == 0


def test_a_retry_waits_behind_the_others(world: World) -> None:
    store = world.store
    store.put([record(str(n)) for n in range(3)])
    host, (first,) = take(store)
    first.retries = 2
    store.retry(first)
    store.release(host, NOW, HORIZON)
    store = world.again()
    counts = store.counts
    assert (counts.known, counts.waiting, counts.in_hand) == (3, 3, 0)
    _, records = take(store, 3)
    assert paths(records) == ["1", "2", "0"]
    assert records[2].retries == 2


def test_the_last_url_of_a_host_can_be_retried(world: World) -> None:
    store = world.store
    store.put([record("0")])
    for _ in range(3):
        host, (only,) = take(store)
        store.release(host, NOW, HORIZON)
        store.retry(only)
        store = world.again()
    assert waiting(store) == ["http://a.test/0"]


def test_a_queue_that_ran_empty_is_used_again(world: World) -> None:
    store = world.store
    for name in ("1", "2", "3"):
        store.put([record(name)])
        host, (only,) = take(store)
        store.done(Ending(only, "stored", NOW, 200))
        store.release(host, NOW, HORIZON)
        store = world.again()
        assert waiting(store) == []
    for name in ("1", "2", "3"):
        known = store.find(fingerprint(f"http://a.test/{name}"))
        assert known is not None
        assert known.page is not None
        assert known.page.url.endswith(name)


# -- freezing and dropping


def test_a_frozen_host_keeps_its_urls(world: World) -> None:
    store = world.store
    store.put([record("1"), record("2"), record("1", "b.test")])
    host = store.host("a.test")
    assert host is not None
    store.freeze(host, blocked=True)
    store = world.again()
    assert store.counts.frozen == 2
    store.put([record("3")])
    assert store.counts.frozen == 3
    assert waiting(store) == ["http://b.test/1"]
    host = store.host("a.test")
    assert host is not None
    assert host.is_frozen
    assert host.stored == 3
    store.freeze(host, blocked=False)
    store = world.again()
    assert store.counts.frozen == 0
    assert len(waiting(store)) == 4


def test_a_host_may_be_frozen_for_two_reasons(world: World) -> None:
    store = world.store
    store.put([record("1")])
    host = store.host("a.test")
    assert host is not None
    store.freeze(host, blocked=True)
    store.freeze(host, exhausted=True)
    assert store.counts.frozen == 1
    store.freeze(host, blocked=False)
    store = world.again()
    assert waiting(store) == []
    host = store.host("a.test")
    assert host is not None
    store.freeze(host, exhausted=False)
    assert store.counts.frozen == 0
    assert len(waiting(world.again())) == 1


def test_drop_ends_what_waits(world: World) -> None:
    store = world.store
    store.put([record(str(n)) for n in range(5)] + [record("9", "b.test")])
    host, (first,) = take(store)
    gone = [record(str(n)) for n in range(3)] + [record("9", "b.test")]
    for one in gone:
        known = store.find(one.fingerprint)
        assert known is not None
        assert known.record is not None
        one.sequence = known.record.sequence
    dropped = store.drop(gone, lambda one: Ending(one, "filtered", NOW))
    assert dropped == 3, "what is in hand is not dropped"
    store.done(Ending(first, "stored", NOW, 200))
    store.release(host, NOW, HORIZON)
    store = world.again()
    assert waiting(store) == ["http://a.test/3", "http://a.test/4"]
    counts = store.counts
    assert (counts.known, counts.waiting, counts.ended["filtered"]) == (6, 2, 3)
    assert store.put(gone) == 0, "it is known all the same"


# -- looking


def test_find_and_url_of(world: World) -> None:
    store = world.store
    store.put([record(str(n)) for n in range(2)])
    host, (first,) = take(store)
    known = store.find(first.fingerprint)
    assert known is not None
    assert known.is_in_hand
    store.done(Ending(first, "redirect", NOW, 301))
    store.release(host, NOW, HORIZON)
    store = world.again()
    known = store.find(fingerprint("http://a.test/1"))
    assert known is not None
    assert known.record is not None
    assert not known.is_in_hand
    assert store.url_of(first.fingerprint) == "http://a.test/0"
    assert store.url_of(fingerprint("http://a.test/1")) == "http://a.test/1"
    assert store.find(1) is None
    assert store.url_of(1) is None


def test_hosts_are_kept(world: World) -> None:
    store = world.store
    names = [f"h{n}.test" for n in range(9)]
    store.put([record("1", name) for name in names])
    host = store.host("h4.test")
    assert host is not None
    host.crawl_delay, host.next_at, host.failures, host.parkings = 2.5, NOW + 7, 3, 1
    host.cause, host.address, host.delay = Cause.BACK_OFF, "192.0.2.1", 1.5
    store.save(host)
    store = world.again()
    assert {host.name for host in store.hosts()} == set(names)
    assert store.host("nowhere.test") is None
    kept = store.host("h4.test")
    assert kept is not None
    assert (kept.crawl_delay, kept.next_at, kept.failures, kept.parkings) == (2.5, NOW + 7, 3, 1)
    assert (kept.cause, kept.address, kept.delay) == (Cause.BACK_OFF, "192.0.2.1", 1.5)
    assert len(waiting(store)) == 9


# -- side tables


def test_side_tables(world: World) -> None:
    batch = Batch()
    for number in range(5):
        batch.put("robots", b"a" + bytes([number]), bytes([number]))
    batch.put("robots", b"b", b"beyond")
    batch.put("content", b"a", b"another table")
    world.store.commit(batch)
    table = world.again().table("robots")
    assert table.get(b"a\2") == b"\2"
    assert table.get(b"c") is None
    assert table.get_many([b"a\0", b"c", b"b"]) == [b"\0", None, b"beyond"]
    assert table.get_many([]) == []
    assert list(table.scan(b"a")) == [(b"a" + bytes([n]), bytes([n])) for n in range(5)]
    batch = Batch()
    batch.delete("robots", b"a\1")
    batch.put("robots", b"a\2", b"new")
    world.store.commit(batch)
    table = world.again().table("robots")
    assert [value for _, value in table.scan(b"a")] == [b"\0", b"new", b"\3", b"\4"]


# -- what is refused, and what fails


@pytest.mark.parametrize("name", [name for name in NAMES if name != "redis"])
@pytest.mark.parametrize(
    ("version", "queues", "words"),
    [
        (VERSION + 1, QUEUES, "was written by a newer version of webcrawler"),
        (VERSION, QUEUES + 1, f"FRONTIER_FRONT_QUEUES={QUEUES + 1}, not {QUEUES}"),
    ],
)
def test_a_store_of_another_kind_is_refused(
    name: str, version: int, queues: int, words: str
) -> None:
    world = World(name, "live")
    store = world.backend.store
    assert store is not None
    batch = store.kv.batch()
    batch.put(b"shape", SHAPE.pack(version, queues), store.kv.handle("meta"))
    store.kv.write(batch)
    store.close()
    with pytest.raises(JobError, match=words):
        world._open()
    world.backend.remove()


class FailingKV(DictKV):
    """An engine whose writes fail when it is told to, as on a full disk."""

    is_full = False

    def write(self, batch: Any) -> None:
        if self.is_full:
            raise StoreError("the disk is full")
        super().write(batch)


@pytest.mark.parametrize("verb", ["put", "done", "retry", "release", "lease", "drop"])
def test_what_fails_changes_nothing(verb: str) -> None:
    kv = FailingKV()
    store = EmbeddedStore(kv, queues=QUEUES)
    store.put([record(str(n), name) for n in range(3) for name in ("a.test", "b.test")])
    store.put([record("0", "c.test", queue=2)])  # of a front queue that nothing was taken from yet
    host, records = take(store, 2)
    before = {name: list(table.scan(b"")) for name, table in kv._tables.items()}
    kv.is_full = True
    attempts = {
        "put": lambda: store.put([record("new")]),
        "done": lambda: store.done(Ending(records[0], "stored", NOW, 200, links=[record("new")])),
        "retry": lambda: store.retry(records[0]),
        "release": lambda: store.release(host, NOW, HORIZON),
        "lease": lambda: lease(store, order=[2]),
        "drop": lambda: store.drop(
            [record("2", "b.test")], lambda one: Ending(one, "filtered", NOW)
        ),
    }
    with pytest.raises(StoreError):
        attempts[verb]()
    assert {name: list(table.scan(b"")) for name, table in kv._tables.items()} == before
    kv.is_full = False
    store = EmbeddedStore(kv, queues=QUEUES)
    assert store.counts.known == store.counts.waiting == 7
    assert len(waiting(store)) == 7


@pytest.mark.parametrize("backend", ["memory", "rocks"])
def test_hosts_in_hand_keep_their_places_over_a_crash(backend: str) -> None:
    world = World(backend, "live")
    names = [f"h{n}.test" for n in range(5)]
    world.store.put([record(str(n), name) for n in range(2) for name in names])
    hosts = [take(world.store) for _ in range(4)]
    for host, (first,) in hosts[1:3]:
        world.store.done(Ending(first, "stored", NOW, 200))
        world.store.release(host, NOW, HORIZON)
    store = world.crash()
    assert {"h0.test", "h3.test"} <= set(world.restarted) <= {"h0.test", "h3.test", "h4.test"}
    assert store.front_sizes() == [5, 0, 0, 0]
    store.close()
    store = world.store = world._open()  # with the gaps of the crash still there
    assert store.front_sizes() == [5, 0, 0, 0]
    order = ["h0.test", "h3.test", "h4.test", "h1.test", "h2.test"]
    assert [lease(store).name for _ in range(5)] == order
    assert store.lease(ORDER, NOW, HORIZON) is None
    assert store.front_sizes() == [0, 0, 0, 0]
    store = world.crash()
    assert sorted(lease(store).name for _ in range(5)) == names
    world.end()


def test_few_hosts_are_taken_for_being_in_hand_after_a_crash() -> None:
    world = World("memory", "live")
    world.store.put([record("0", f"h{n}.test") for n in range(200)])
    take(world.store)
    world.crash()
    assert "h0.test" in world.restarted
    assert len(world.restarted) <= 32


def test_a_store_of_format_1_is_taken_over() -> None:
    """There a host in hand stood nowhere in `front`, and had a row in `leases`."""
    kv = DictKV()
    EmbeddedStore(kv, queues=QUEUES).put([record("1"), record("2")])
    ((key, row),) = kv.table("hosts").rows.items()
    host = Host.unpack(row, host_id("a.test"))
    host.queues[1].is_queued = False
    kv.table("hosts").rows[key] = host.pack()
    kv.table("front").rows.clear()
    kv.table("leases").rows[key] = b""
    kv.table("meta").rows[b"shape"] = SHAPE.pack(1, QUEUES)
    restarted: list[str] = []
    for _ in range(2):
        store = EmbeddedStore(kv, queues=QUEUES, restart=lambda host: restarted.append(host.name))
        assert store.front_sizes() == [1, 0, 0, 0]
    assert restarted == ["a.test"]
    assert SHAPE.unpack(kv.table("meta").rows[b"shape"]) == (VERSION, QUEUES)
    assert paths(take(store, 2)[1]) == ["1", "2"]


def test_the_counts_of_format_2_are_taken_over() -> None:
    """There was no count of errands, the last one."""
    kv = DictKV()
    store = EmbeddedStore(kv, queues=QUEUES)
    store.put([record("1"), record("2")])
    store.done(Ending(take(store)[1][0], "stored", NOW))
    store.close()
    meta = kv.table("meta").rows
    meta[b"counts"] = meta[b"counts"][:-8]
    meta[b"shape"] = SHAPE.pack(2, QUEUES)
    counts = EmbeddedStore(kv, queues=QUEUES).counts
    assert (counts.known, counts.waiting) == (2, 1)
    assert {name: count for name, count in counts.ended.items() if count} == {"stored": 1}


def test_a_store_of_format_2_is_taken_over() -> None:
    """There a host's URLs were kept under its id."""
    kv = DictKV()
    EmbeddedStore(kv, queues=QUEUES).put([record("1"), record("2", queue=2), record("1", "b.test")])
    queue = kv.table("queue").rows
    for key, row in list(kv.table("hosts").rows.items()):
        host = Host.unpack(row, int.from_bytes(key, "big"))
        for place in list(queue.irange(ID.pack(host.shelf), ID.pack(host.shelf + 1))):
            queue[key + place[8:]] = queue.pop(place)
        host.shelf = host.id
        kv.table("hosts").rows[key] = host.pack()
    kv.table("meta").rows[b"shape"] = SHAPE.pack(2, QUEUES)
    store = EmbeddedStore(kv, queues=QUEUES)
    assert store.put([record("3"), record("1"), record("1", "c.test")]) == 2
    known = store.find(fingerprint("http://a.test/2"))
    assert known is not None
    assert known.record is not None
    store = EmbeddedStore(kv, queues=QUEUES)
    names = [("a.test", n) for n in (1, 3, 2)] + [("b.test", 1), ("c.test", 1)]
    assert waiting(store) == [f"http://{name}/{n}" for name, n in names]
    assert SHAPE.unpack(kv.table("meta").rows[b"shape"]) == (VERSION, QUEUES)


@pytest.mark.parametrize("backend", ["memory", "rocks"])
def test_hosts_have_shelves_in_the_order_they_were_met(backend: str) -> None:
    world = World(backend, "reopened")
    names = [f"h{n}.test" for n in range(30)]
    for start in range(0, 30, 10):
        store = world.again()
        assert isinstance(store, EmbeddedStore)
        store.put([record("0", name) for name in names[start : start + 10]])
    store.put([record("1", name, queue=2) for name in reversed(names)])
    shelves = {host.name: host.shelf for host in store.hosts()}
    assert [shelves[name] for name in names] == list(range(1, 31))
    seen, after = [], b""
    while chunk := list(islice(store.waiting(after=after), 7)):
        seen += [one.url for _, one in chunk]
        after = chunk[-1][0] + b"\0"
    assert sorted(seen) == sorted(f"http://{name}/{n}" for name in names for n in (0, 1))
    assert len(seen) == len(set(seen))
    world.end()


def test_rocks_writes_nothing_after_a_failure() -> None:
    """What failed is in memory only: what would be written later could not fit it."""
    world = World("rocks", "live")
    kv: Any = world.backend.store.kv  # type: ignore[union-attr]
    world.store.put([record("1"), record("2")])
    _, (first, second) = take(world.store, 2)

    class FullDisk:
        def __init__(self, database: Any) -> None:
            self.database = database

        def write(self, batch: Any) -> None:
            raise Exception("IO error: No space left on device")

        def __getattr__(self, name: str) -> Any:
            return getattr(self.database, name)

    kv._db, database = FullDisk(kv._db), kv._db
    with pytest.raises(StoreError, match="is full"):
        world.store.done(Ending(first, "stored", NOW, 200))
    kv._db = database
    with pytest.raises(StoreError, match="is full"):
        world.store.done(Ending(second, "stored", NOW, 200))
    store = world.crash()
    assert sorted(waiting(store)) == ["http://a.test/1", "http://a.test/2"]
    world.end()


class DamagedFamily:
    """A column family whose blocks cannot be read; an iterator then just ends."""

    def get(self, key: Any) -> Any:
        raise Exception("Corruption: block checksum mismatch")

    def iter(self) -> DamagedFamily:
        return self

    def seek(self, key: bytes) -> None: ...

    def valid(self) -> bool:
        return False

    def status(self) -> None:
        raise Exception("Corruption: block checksum mismatch")


def test_rocks_does_not_take_damage_for_nothing(tmp_path: Path) -> None:
    table = RocksTable(DamagedFamily(), tmp_path)
    for read in (
        lambda: table.get(b"a"),
        lambda: table.get_many([b"a", b"b"]),
        lambda: list(table.scan(b"a")),
    ):
        with pytest.raises(StoreError, match="is damaged"):
            read()


# -- the Bloom filter


def test_a_bloom_filter_learns_what_is_known(tmp_path: Path) -> None:
    kv = DictKV()

    def open_store(name: str) -> EmbeddedStore:
        bloom = BloomFilter(tmp_path / name, 1000, 1e-6)
        return EmbeddedStore(kv, queues=QUEUES, popular=4, bloom=bloom)

    store = open_store("one")
    records = [record(str(n)) for n in range(50)]
    assert store.put(records) == 50
    host, (first,) = take(store)
    store.done(Ending(first, "stored", NOW, 200))
    store.release(host, NOW, HORIZON)
    store.close()
    for name in ("one", "another"):
        store = open_store(name)
        assert store.put(records) == 0
        assert store.put([record(name)]) == 1
        store.close()
    with pytest.raises(JobError, match="FRONTIER_BLOOM_URLS"):
        EmbeddedStore(kv, queues=QUEUES)
