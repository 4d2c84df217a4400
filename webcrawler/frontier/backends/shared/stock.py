"""The stock: hosts that were leased in advance, each with its first URLs.

It is filled when it was found empty, from the partitions that are preferred for this worker, and
from others when there are few hosts. How many URLs are taken with a host follows from how long
the last ones took, so that about a second's worth is in hand: a host that may be hit without
pause would else be released and leased again every few milliseconds.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any

from webcrawler import clock
from webcrawler.frontier.backends.shared.keys import VIA

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webcrawler.frontier.backends.shared.worker import WorkerStore
    from webcrawler.frontier.host import Host
    from webcrawler.frontier.record import Record

FEW_HOSTS = 4  # below this a worker also takes hosts that others are preferred for
_HOSTS_A_LEASE = 4
_LEASES_AT_ONCE = 8
_AHEAD_SECS = 1.0
_MOST_URLS = 64


class Stock:
    """What one session leases. Used by the event loop only."""

    def __init__(self, store: WorkerStore, batch: int) -> None:
        self._store = store
        self._batch = batch
        partitions = store.keys.partitions
        # Hosts we lease, each with the number of the step that leased it.
        self.names: list[dict[str, int]] = [{} for _ in range(partitions)]
        self._host_count = 0
        self._may_have = set(range(partitions))  # whose front queues may be filled
        self._moving = [0] * partitions  # leases and releases under way
        self._number = 0  # of the last step that takes hosts
        self.answered = 0  # of the last such step whose answer was heard
        self._asking = 0
        self._stocked: deque[tuple[Host, list[Record]]] = deque()
        self._firsts: dict[int, list[Record]] = {}
        # Of each lease its number, when it was heard of, and how many URLs came with it.
        self._leases: dict[int, tuple[int, float, int]] = {}
        # Of the front queues, as last drawn: drawn to its end only when hosts are asked for.
        self._order: Iterable[int] = range(1, store.queues + 1)
        self.horizon = 10.0
        self.is_closed = False

    def clear(self) -> None:
        """The session is lost: nothing of it is ours, and of its answers none is heard."""
        self._stocked.clear()
        self._firsts.clear()
        self._leases.clear()
        for names in self.names:
            names.clear()
        self._host_count = 0
        self._moving = [0] * len(self._moving)
        self._asking = 0
        self._number = self.answered = 0

    # -- what is there

    @property
    def host_count(self) -> int:
        return self._host_count

    @property
    def has_work(self) -> bool:
        """Whether this worker has hosts to fetch from, or may find some."""
        return self._host_count > 0 or bool(self._may_have)

    @property
    def is_busy(self) -> bool:
        return any(self._moving) or bool(self._stocked)

    def look(self, filled: set[int]) -> None:
        """Hear where hosts stand in the front queues."""
        self._may_have = set(filled)

    def sent_to(self, partition: int, host: str = "") -> None:
        """Something is in its front queues; not so if it went to a host that we lease."""
        if host not in self.names[partition]:
            self._may_have.add(partition)

    # -- leasing

    def take(self, order: Iterable[int], horizon: float) -> Host | None:
        """The next host; its first URLs are then asked for by `firsts`."""
        if not self._stocked:
            self._order, self.horizon = order, horizon
            self.feed()
        if not self._stocked:
            return None
        host, records = self._stocked.popleft()
        self._firsts[host.id] = records
        return host

    def firsts(self, host: Host) -> list[Record]:
        return self._firsts.pop(host.id, [])

    def feed(self) -> None:
        """Ask for hosts, if there are none and none was asked for."""
        if self._asking or self._stocked or self.is_closed or not self._store.may_lease:
            return
        store = self._store
        candidates = list(self._may_have & store.fellows.preferred)
        if not candidates and self._host_count < FEW_HOSTS:
            candidates = list(store.last_look.left_over)
            store.last_look.left_over.clear()
        if not candidates:
            return
        self._order = order = list(self._order)
        session = store.session
        for partition in candidates[:_LEASES_AT_ONCE]:
            self._asking += 1
            self._moving[partition] += 1
            self._may_have.discard(partition)
            now = clock.now()
            number = self.next_number()
            args = [session, number, now, self.horizon, _HOSTS_A_LEASE, self._batch, *order]
            store.tell(
                partition,
                "lease",
                args,
                lambda found, p=partition, n=number: self._found(session, p, n, found),  # type: ignore[misc]
            )
        store.flush()

    def next_number(self) -> int:
        """Of a step that takes hosts; its answer is to be told by `answered`."""
        self._number += 1
        return self._number

    def _found(self, session: str, partition: int, number: int, found: Any) -> None:
        store = self._store
        if session != store.session:
            return
        self.answered = number
        self._asking -= 1
        self._moving[partition] -= 1
        if len(found) == _HOSTS_A_LEASE:
            self._may_have.add(partition)
        for told in found:
            host, records = store.leased(told)
            vias = [VIA.unpack(data[-VIA.size :])[0] for data in told[7]]
            for record, via in zip(records, vias, strict=True):
                store.hand.take(partition, record.fingerprint, via, number)
            self.add(partition, host, number, len(records))
            store.preparation.prepare(partition, host, records)
        if not self._asking and not found:
            self.feed()

    def add(self, partition: int, host: Host, number: int, urls: int = 0) -> None:
        """A host is ours, leased by the step of that number, with so many URLs."""
        self._leases[host.id] = (number, time.monotonic(), urls)
        if host.name not in self.names[partition]:
            self._host_count += 1
        self.names[partition][host.name] = number

    def put(self, host: Host, records: list[Record]) -> None:
        """Everything is known that is to be known of a host: it can be handed out."""
        self._stocked.append((host, records))
        self._store.wake_engine()

    def drain(self) -> list[tuple[Host, list[Record]]]:
        """What was leased and never asked for."""
        left = list(self._stocked)
        self._stocked.clear()
        return left

    def release(self, partition: int, host: Host, args: list[Any]) -> None:
        """A host is not ours any more; asks for another in the same round trip."""
        self._firsts.pop(host.id, None)
        if self.names[partition].pop(host.name, None) is not None:
            self._host_count -= 1
        self._moving[partition] += 1
        store = self._store
        session = store.session

        def released(answer: Any) -> None:
            if session == store.session:
                self._moving[partition] -= 1
                self.sent_to(partition)
                self.feed()

        store.tell(partition, "release", args, released)
        self.sent_to(partition)
        self.feed()  # answered after the release

    def lease_of(self, host: Host) -> tuple[int, int | str]:
        """The number of a lease that ends, and how many URLs to take with the host next time."""
        number, taken_at, urls = self._leases.pop(host.id, (-1, 0.0, 0))
        secs = (time.monotonic() - taken_at) / urls if urls else _AHEAD_SECS
        wanted = min(_MOST_URLS, int(_AHEAD_SECS / max(secs, 1e-6)))
        return number, wanted if wanted > self._batch else ""
