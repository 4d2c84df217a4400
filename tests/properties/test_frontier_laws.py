"""Random histories against the frontier's laws, on every backend, closed, crashed and reopened."""

from __future__ import annotations

import pytest
import xxhash
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.backends import NAMES, Backend
from webcrawler.frontier.ending import Ending
from webcrawler.frontier.mercator import Mercator
from webcrawler.frontier.record import Record
from webcrawler.frontier.selector import BiasedSelector
from webcrawler.politeness import AddressBook, DelayPolicy, Fetch, Policies

ADDRESS = "10.0.0.1"  # of all hosts, where there is a delay for addresses
QUEUES = 4
BACK_QUEUES = 3
POLICY = DelayPolicy(minimum=1.0, factor=2.0, maximum=5.0, park_after=3, park_secs=100.0)
URLS = st.tuples(st.integers(0, 6), st.integers(0, 12), st.integers(1, QUEUES))


def make_record(host: int, page: int, queue: int) -> Record:
    url = f"http://h{host}.test/{page}"
    return Record(url, xxhash.xxh3_64_intdigest(url.encode()), f"h{host}.test", queue)


class FrontierLaws(RuleBasedStateMachine):
    """The model: which URLs were accepted, ended, are in flight, and when each host may be hit."""

    backend_name = "memory"
    address_delay = 0.0
    flying = Bundle("flying")
    landed = Bundle("landed")

    @initialize()
    def begin(self) -> None:
        self.now = 1_000_000.0
        self.backend = Backend(self.backend_name, QUEUES, partitions=2, has_side_tables=False)
        self.accepted: set[str] = set()
        self.ended: set[str] = set()
        self.in_flight: dict[str, Record] = {}
        self.unacknowledged: set[str] = set()
        self.free_at: dict[str, float] = {}
        self.address_free_at = 0.0
        self.blocked: set[str] = set()
        self.generation = 0
        self._open()

    def _open(self) -> None:
        self.steps = 0
        policies = Policies(POLICY)
        now = self.now
        since = now if self.accepted else None
        store = self.backend.open(lambda host: POLICY.after_restart(host, now))
        self.frontier = Mercator(
            store,
            BiasedSelector(QUEUES, seed=1),
            policies,
            back_queues=BACK_QUEUES,
            back_queues_maximum=BACK_QUEUES + 1,
            batch=2,
            horizon=10.0,
            addresses=AddressBook(self.address_delay, since) if self.address_delay else None,
        )
        self.frontier.address_of = lambda host: ADDRESS if self.address_delay else ""

    @rule(urls=st.lists(URLS, max_size=8))
    def put(self, urls: list[tuple[int, int, int]]) -> None:
        records = [make_record(*url) for url in urls]
        new = {record.url for record in records} - self.accepted
        assert self.frontier.put(records) == len(new)
        self.accepted |= new

    @rule(seconds=st.sampled_from([0.0, 0.5, 1.0, 3.0, 20.0, 200.0]))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    @rule(target=flying)
    def next(self) -> object:
        record = self.frontier.next(self.now)
        if record is None:
            return multiple()
        assert record.url in self.accepted - self.ended, "law 5: only what was put is handed out"
        assert record.url not in self.unacknowledged, "handed out once"
        assert record.host not in self.in_flight, "law 1: one URL of a host in flight"
        assert self.now >= self.free_at.get(record.host, 0.0), "law 2: the delay has passed"
        assert record.host not in self.blocked
        if self.address_delay:
            assert not self.in_flight, "one URL of an address in flight"
            assert self.now >= self.address_free_at, "the address's delay has passed"
        self.in_flight[record.host] = record
        self.unacknowledged.add(record.url)
        return (self.generation, record)

    @rule(
        target=landed,
        flight=consumes(flying),
        status=st.sampled_from([200, 200, 200, 404, 500, 503, 0]),
        seconds=st.sampled_from([0.0, 0.1, 1.0, 4.0]),
        retry_after=st.sampled_from([None, None, 7.0, 50.0]),
    )
    def release(
        self,
        flight: tuple[int, Record],
        status: int,
        seconds: float,
        retry_after: float | None,
    ) -> object:
        generation, record = flight
        if generation != self.generation:
            return multiple()
        self.now += seconds
        address = ADDRESS if self.address_delay else ""
        fetch = Fetch(seconds=seconds, status=status, retry_after=retry_after, address=address)
        self.frontier.release(record, fetch, self.now)
        del self.in_flight[record.host]
        wait = max(POLICY.minimum, min(POLICY.factor * seconds, POLICY.maximum), retry_after or 0)
        self.free_at[record.host] = self.now + wait
        self.address_free_at = self.now + self.address_delay
        return flight

    @rule(flight=consumes(landed), urls=st.lists(URLS, max_size=5))
    def done(self, flight: tuple[int, Record], urls: list[tuple[int, int, int]]) -> None:
        generation, record = flight
        if generation != self.generation:
            return
        links = [make_record(*url) for url in urls]
        self.frontier.done(Ending(record, "stored", self.now, 200, links=links))
        self.ended.add(record.url)
        self.unacknowledged.discard(record.url)
        self.accepted |= {link.url for link in links}
        known = self.frontier.store.find(record.fingerprint)
        assert known is not None
        assert known.page is not None
        assert known.page.url == record.url

    @rule(flight=consumes(landed))
    def retry(self, flight: tuple[int, Record]) -> None:
        generation, record = flight
        if generation == self.generation:
            self.frontier.retry(record)
            self.unacknowledged.discard(record.url)

    @rule(host=st.integers(0, 6), blocked=st.booleans())
    def block(self, host: int, blocked: bool) -> None:
        name = f"h{host}.test"
        if self.frontier.block(name, self.now, blocked=blocked):
            (self.blocked.add if blocked else self.blocked.discard)(name)

    def _may_reopen(self) -> bool:
        """RocksDB takes 30 ms to open; without this, 30 of 60 steps would be that."""
        return self.backend_name != "rocks" or self.steps >= 5

    @precondition(_may_reopen)
    @rule()
    def crash(self) -> None:
        self.backend.crash()
        self._forget(self.now + POLICY.minimum)

    @precondition(lambda self: not self.in_flight and self._may_reopen())
    @rule()
    def close(self) -> None:
        self.frontier.close(self.now)
        self._forget(0.0)

    def _forget(self, free_at: float) -> None:
        if self.in_flight:
            self.address_free_at = self.now + self.address_delay
        for host in self.in_flight:
            self.free_at[host] = max(self.free_at.get(host, 0.0), free_at)
        self.in_flight.clear()
        self.unacknowledged.clear()
        self.generation += 1
        self._open()

    @invariant()
    def counts_agree(self) -> None:
        if not hasattr(self, "frontier"):
            return
        self.steps += 1
        counts = self.frontier.store.counts
        assert counts.known == len(self.accepted)
        assert counts.waiting == len(self.accepted - self.ended)
        waiting = {url.split("/")[2] for url in self.accepted - self.ended - self.unacknowledged}
        pending = bool(waiting - self.blocked) or bool(self.unacknowledged)
        assert self.frontier.has_pending == pending, "law 6"

    @invariant()
    def back_queues_are_sound(self) -> None:
        if not hasattr(self, "frontier"):
            return
        frontier = self.frontier
        entries = [identity for _, identity in frontier._heap]
        assert len(entries) == len(set(entries)), "law 4: one heap entry"
        waiting = set()
        if frontier._addresses is not None:
            for ids in frontier._addresses._waiting.values():
                waiting.update(ids)
        for identity, back in frontier._back.items():
            assert {record.host for record in back.records} <= {back.host.name}, "law 3"
            if back.flying is None:
                assert back.records, "law 3: no empty back queue"
                assert (identity in entries) != (identity in waiting), "law 4"
            else:
                assert identity not in entries, "law 4: in flight, not on the heap"

    def teardown(self) -> None:
        if not hasattr(self, "frontier"):
            return
        try:
            self._drain()
        finally:
            self.backend.remove()

    def _drain(self) -> None:
        """Law 5: with time enough everything that was accepted is handed out."""
        self.backend.crash()
        self._forget(0.0)
        for name in list(self.blocked):
            self.frontier.block(name, self.now, blocked=False)
        self.blocked.clear()
        for _ in range(10 * len(self.accepted) + 10):
            record = self.frontier.next(self.now)
            if record is None:
                if not self.frontier.has_pending:
                    break
                earliest = self.frontier.earliest()
                assert earliest is not None, "law 6: something waits, so there is a next time"
                self.now = max(self.now, earliest)
                continue
            assert record.url in self.accepted - self.ended
            self.frontier.release(record, Fetch(), self.now)
            self.frontier.done(Ending(record, "stored", self.now, 200))
            self.ended.add(record.url)
        assert self.ended == self.accepted, "law 5: nothing is lost"
        self.frontier.close(self.now)


@pytest.mark.parametrize("address_delay", [0.0, 2.0])
@pytest.mark.parametrize("name", NAMES)
def test_laws(name: str, address_delay: float) -> None:
    machine = type(
        "Machine", (FrontierLaws,), {"backend_name": name, "address_delay": address_delay}
    )
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples={"memory": 60, "rocks": 40, "redis": 25}[name],
            stateful_step_count=60,
            deadline=None,
            # A failing history is read as it is: shrinking one takes minutes.
            phases=[Phase.explicit, Phase.reuse, Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
