"""Mercator: the worker's back queues and host heap, above a store."""

from __future__ import annotations

import heapq
from collections import deque
from random import Random
from typing import TYPE_CHECKING

from webcrawler.frontier.host import host_id, host_id_again
from webcrawler.politeness.fetch import NOT_SENT, Fetch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webcrawler.frontier.ending import Ending
    from webcrawler.frontier.host import Host
    from webcrawler.frontier.record import Record
    from webcrawler.frontier.selector import BiasedSelector
    from webcrawler.frontier.store import Store
    from webcrawler.politeness import AddressBook, Policies
    from webcrawler.politeness.cause import Cause

_LOOK_UP_SECS = 0.1  # how soon a host whose address is being looked up is asked about again
_LEASES_A_CALL = 64  # so that no call takes long, however many hosts stand in the front queues


class BackQueue:
    """A leased host with the next of its URLs, in flight or not.

    While it `waits` for its address to be free it is not on the heap either.
    """

    __slots__ = ("flying", "host", "records", "waits")

    def __init__(self, host: Host) -> None:
        self.host = host
        self.records: deque[Record] = deque()
        self.flying: Record | None = None
        self.waits = False


class Mercator:
    """The frontier as its user sees it. The laws stand in the package's docstring.

    put -> next -> release -> done (or retry). `release` tells that the host's fetch has ended,
    `done` that the URL has: they come in this order, and other URLs of the host may be handed
    out between the two.
    """

    def __init__(
        self,
        store: Store,
        selector: BiasedSelector,
        policies: Policies,
        *,
        back_queues: int = 48,
        back_queues_maximum: int = 20_000,
        batch: int = 8,
        horizon: float = 10.0,
        addresses: AddressBook | None = None,
        seed: int = 0,
    ) -> None:
        self.store = store
        self.policies = policies
        self._selector = selector
        self._wanted = back_queues
        self._maximum = max(back_queues, back_queues_maximum)
        self._batch = batch
        self._horizon = horizon
        self._addresses = addresses
        self._random = Random(seed)  # noqa: S311 (spreads requests, keeps no secret)
        self._back: dict[int, BackQueue] = {}
        self._heap: list[tuple[float, int]] = []
        self._flying = 0
        self._losses = 0
        # The address of a host: "" if it has none, None if that is being found out.
        self.address_of: Callable[[str], str | None] = lambda host: ""

    # -- the four verbs

    def put(self, records: Sequence[Record]) -> int:
        """Store the new ones among these; how many were new."""
        return self.store.put(records)

    def next(self, now: float) -> Record | None:
        """The next URL, of a host that may be hit now. None: nothing is ready now."""
        if not self.store.may_hand_out():
            if self.store.has_lost_leases():
                self._forget()
            return None
        self.store.wake(now)
        while len(self._back) < self._wanted and self._lease(now):
            pass
        for _ in range(_LEASES_A_CALL):
            while self._heap and self._heap[0][0] <= now:
                back = self._back[heapq.heappop(self._heap)[1]]
                if self._is_address_free(back, now):
                    return self._hand_out(back)
            # Nothing is ready: more hosts than back queues may be what is needed.
            if len(self._back) >= self._maximum or not self._lease(now):
                return None
        return None

    def release(self, record: Record, fetch: Fetch, now: float, *, again: bool = False) -> None:
        """The fetch of a URL that was handed out has ended: its host may be hit again later.

        `again`: something else was fetched in its place (robots.txt), and the URL is first in
        its back queue again.
        """
        back = self._back.get(host_id_again(record.host))
        if back is None or back.flying is not record:
            assert self._losses, f"{record} is not in flight"
            return  # its lease was lost meanwhile: the host is somebody else's
        back.flying = None
        self._flying -= 1
        host = back.host
        if self._addresses is not None and host.address:
            self._free_address(host.address, fetch, now)
        policy = self.policies.of(host.name)
        policy.after(host, fetch, now, self._random)
        if again:
            back.records.appendleft(record)
        if policy.max_pages and host.fetched + host.in_hand - len(back.records) >= policy.max_pages:
            self._give_up(back, now, exhausted=True)
        elif host.is_frozen or host.next_at > now + self._horizon:
            self._give_up(back, now)
        else:
            usual = now + policy.minimum
            if host.next_at > usual and host.next_at > now + policy.delay(host, 0.0)[0]:
                # After a crash every host in hand waits its usual delay; this one waits longer.
                self.store.save(host)
            if back.records:
                heapq.heappush(self._heap, (host.next_at, host.id))
                return
            self._give_up(back, now)
            if len(self._back) < self._wanted:
                self._lease(now)

    def postpone(self, record: Record, until: float, cause: Cause, now: float) -> None:
        """A URL that was handed out may not be fetched before then: nor any of its host."""
        back = self._back.get(host_id(record.host))
        if back is None:
            return
        host = back.host
        if until > host.next_at:
            host.next_at, host.cause = until, cause
        self.release(record, NOT_SENT, now, again=True)

    def done(self, ending: Ending, then: Callable[[bool], None] | None = None) -> None:
        """A URL has ended, with its links: one atomic commit.

        `then` hears whether it stands; not so where the lease was lost before it arrived.
        """
        self.store.done(ending, then)

    def retry(self, record: Record) -> None:
        """A URL has not ended: it waits again, behind the others of its host."""
        record.retries += 1
        self.store.retry(record)

    # -- what is to be known

    @property
    def flying(self) -> int:
        """URLs in flight."""
        return self._flying

    @property
    def has_pending(self) -> bool:
        """Whether anything waits, is held or is in hand."""
        return self.store.has_pending

    def earliest(self) -> float | None:
        """When something may become ready; None when only an ending can change that."""
        times = [self._heap[0][0]] if self._heap else []
        held = self.store.held_until()
        if held is not None:
            times.append(held)
        return min(times, default=None)

    def hosts_ready_and_held(self, now: float) -> tuple[int, int]:
        """Of the hosts that are not in flight: may be hit now, must wait."""
        ready = sum(1 for at, _ in self._heap if at <= now)
        return ready, len(self._heap) - ready + self.store.held

    @property
    def back_queues(self) -> int:
        return len(self._back)

    def set_crawl_delay(self, record: Record, delay: float) -> None:
        """What a host's robots.txt asks for; holds from the next release on."""
        back = self._back.get(host_id(record.host))
        if back is not None:
            back.host.crawl_delay = delay
            self.store.save(back.host)

    # -- the work of others, while the crawl runs

    def block(self, name: str, now: float, *, blocked: bool = True) -> bool:
        """Keep a host's URLs but do not hand them out, or go on; whether the host is known."""
        host = self.store.host(name)
        if host is None:
            return False
        back = self._back.get(host.id)
        if back is not None and back.flying is None and blocked:
            if not back.waits:
                self._heap = [entry for entry in self._heap if entry[1] != host.id]
                heapq.heapify(self._heap)
            self._give_up(back, now)
        self.store.freeze(host, blocked=blocked)
        return True

    def close(self, now: float) -> None:
        """Give everything in hand back and close the store."""
        try:
            for back in list(self._back.values()):
                if back.flying is not None:
                    back.records.appendleft(back.flying)
                    back.flying = None
                self._give_up(back, now)
            self._heap.clear()
        finally:
            self.store.close()

    # -- inside

    def _forget(self) -> None:
        """All leases were lost: their hosts, and what was in flight, belong to others now."""
        self._losses += 1
        self._back.clear()
        self._heap.clear()
        self._flying = 0

    def _lease(self, now: float) -> bool:
        """The router: give the next host a back queue; false when there is no host to give."""
        host = self.store.lease(self._selector.order(), now, self._horizon)
        if host is None:
            return False
        policy = self.policies.of(host.name)
        if policy.max_pages and host.fetched + host.in_hand >= policy.max_pages:
            self.store.freeze(host, exhausted=True)
            self.store.release(host, now, self._horizon)
            return True
        back = self._back[host.id] = BackQueue(host)
        waiting = {k: queue.unread for k, queue in host.queues.items()}
        choice = self._selector.choose(waiting, self._batch)
        back.records.extend(self.store.refill(host, choice))
        heapq.heappush(self._heap, (host.next_at, host.id))
        return True

    def _hand_out(self, back: BackQueue) -> Record:
        record = back.records.popleft()
        back.flying = record
        self._flying += 1
        if self._addresses is not None and back.host.address:
            self._addresses.start(back.host.address)
        return record

    def _give_up(self, back: BackQueue, now: float, *, exhausted: bool = False) -> None:
        """Return a host to the store."""
        del self._back[back.host.id]
        self.store.give_back(back.host, back.records)
        if exhausted:
            self.store.freeze(back.host, exhausted=True)
        self.store.release(back.host, now, self._horizon)

    def _is_address_free(self, back: BackQueue, now: float) -> bool:
        """Whether its address may be hit now; if not, it comes back when that may be so."""
        host = back.host
        if self._addresses is None:
            return True
        if not host.address:
            address = self.address_of(host.name)
            if address is None:
                heapq.heappush(self._heap, (now + _LOOK_UP_SECS, host.id))
                return False
            host.address = address
            if not address:
                return True
        until = self._addresses.wait_until(host.address, now)
        if until is None:
            return True
        if until == float("inf"):
            back.waits = True
            self._addresses.wait(host.address, host.id)
        else:
            heapq.heappush(self._heap, (until, host.id))
        return False

    def _free_address(self, address: str, fetch: Fetch, now: float) -> None:
        assert self._addresses is not None
        ended = now if fetch is not NOT_SENT else self._addresses.next_at(address)
        waiters = self._addresses.end(address, ended)
        for identity in waiters:
            back = self._back.get(identity)
            if back is not None and back.waits:
                back.waits = False
                heapq.heappush(self._heap, (self._addresses.next_at(address), identity))
