"""A worker's store: the same steps made in the background, so that the crawl never waits.

Leases come out of a stock (stock.py). Once a second every partition is asked: the session is
renewed (session.py), what dead workers had is inherited, held hosts wake, counts are read
(looks.py).

What only this worker needs (archive and index tables) is in a RocksDB of its own (local.py).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from webcrawler import clock
from webcrawler.frontier.backends.shared.background import SETTLE_SECS, BackgroundStore
from webcrawler.frontier.backends.shared.fellows import Fellows
from webcrawler.frontier.backends.shared.figures import describe_workers
from webcrawler.frontier.backends.shared.hand import Hand
from webcrawler.frontier.backends.shared.keys import NOWHERE
from webcrawler.frontier.backends.shared.local import LocalRows
from webcrawler.frontier.backends.shared.looks import Looks
from webcrawler.frontier.backends.shared.post import RedisPost
from webcrawler.frontier.backends.shared.preparation import Preparation
from webcrawler.frontier.backends.shared.session import Session
from webcrawler.frontier.backends.shared.steps import time_of
from webcrawler.frontier.backends.shared.stock import FEW_HOSTS, Stock
from webcrawler.frontier.backends.shared.tickets import Tickets
from webcrawler.frontier.ending import PAGE_OUTCOMES
from webcrawler.frontier.host import host_id
from webcrawler.tables import Batch

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Sequence

    from webcrawler.frontier.backends.kv import KV
    from webcrawler.frontier.backends.shared.driver import Call
    from webcrawler.frontier.ending import Ending
    from webcrawler.frontier.host import Host
    from webcrawler.frontier.record import Record
    from webcrawler.frontier.store import Counts, Known
    from webcrawler.tables import Table

logger = logging.getLogger(__name__)
_TICK_SECS = 1.0
_IDLE_TICK_SECS = 0.25  # a worker with little to do looks more often for more
_SEEDS_A_TIME = 100


class WorkerStore(BackgroundStore):
    """See the module. `worker` is shown to people; the session is what counts."""

    def __init__(
        self,
        *args: Any,
        worker: str,
        local: KV,
        local_tables: Iterable[str],
        batch: int = 8,
        lease_secs: float = 30.0,
        stay: bool = False,
        seeds_key: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.lease_secs = lease_secs
        self.stay = stay
        self.seeds_key = seeds_key
        self.on_seeds: Callable[[list[str]], None] = lambda words: None
        self.local = LocalRows(local, local_tables)
        self.hand = Hand(self.keys.partitions)
        self._timer: asyncio.TimerHandle | None = None
        # Set when the crawl ends for everybody: workers then wait for each other's last post.
        self.is_common_end = False
        self.tickets = Tickets(self)
        self.stock = Stock(self, batch)
        self.preparation = Preparation(self)
        self.last_look = Looks(self.keys.partitions)
        self.standing = Session(self, lease_secs)
        self.number = self.standing.register()
        self.fellows = Fellows(self.keys, worker, self.number, lease_secs)
        self.post = RedisPost(self)
        self.standing.begin()
        self.say({}, self.direct.ask)
        self.standing.recover()
        self._take_looks(self.looks())

    # -- every second

    def start(self, loop: asyncio.AbstractEventLoop, wake_engine: Callable[[], None]) -> None:
        super().start(loop, wake_engine)
        self._tick()

    def _tick(self) -> None:
        """Renew, inherit, wake and count: all partitions, in one round."""
        assert self._loop is not None
        has_few = self.stock.host_count < FEW_HOSTS
        pause = _IDLE_TICK_SECS if has_few else min(_TICK_SECS, self.lease_secs / 4)
        self._timer = self._loop.call_later(pause, self._tick)
        if self._courier is None or self._courier.is_gone:
            self._while_gone()
            return  # what was told before is said again when Redis is back
        sent_at, session = clock.steady(), self.session
        now = clock.now()
        left, moves = self.keys.partitions, self.last_look.moves
        looks: list[Any] = [None] * left

        def looked(partition: int, answer: Any) -> None:
            nonlocal left
            looks[partition] = answer
            left -= 1
            if not left and session == self.session and not self.standing.is_lost:
                self.standing.renewed(sent_at)
                self._take_looks(looks, is_current=moves == self.last_look.moves)
                self.wake_engine()

        self.tell_all("time", [], lambda told: clock.now.follow(time_of(told), sent_at))
        self.standing.renew()
        for partition in range(self.keys.partitions):
            self.tell(
                partition,
                "wake",
                [now],
                lambda answer, p=partition: looked(p, answer),  # type: ignore[misc]
            )
        self.tickets.ask()
        self.say({}, lambda call: self._command(*call.args))
        self._command("HGETALL", self.keys.workers, then=self._take_workers)
        if self.seeds_key:
            self._command("LRANGE", self.seeds_key, 0, _SEEDS_A_TIME - 1, then=self._take_seeds)

    def _take_looks(self, looks: list[Any], *, is_current: bool = False) -> None:
        self.last_look.take(
            looks,
            self._sum(looks),
            self.fellows.preferred,
            is_current=is_current,
            is_busy=self._courier is None or self.stock.is_busy,
        )
        self.stock.look(self.last_look.filled)

    def _take_seeds(self, words: list[bytes]) -> None:
        """Seeds that somebody pushed: each leaves its list after it was put, never before."""
        if not words or self.standing.is_lost:
            return
        self.on_seeds([word.decode("utf-8", "replace") for word in words])
        for word in words:
            self._command("LREM", self.seeds_key, 1, word)

    # -- the others

    def say(self, state: dict[str, Any], send: Callable[[Call], Any]) -> None:
        """Tell the others that this worker is there; `state` is what its post has to add."""
        now = clock.now()
        told = {"leases": self.stock.host_count, "commands": self.direct.commands, **state}
        send(self.fellows.entry(self.session, now, **told))

    def _take_workers(self, answer: Any) -> None:
        since = clock.now() - self.lease_secs
        self.fellows.take(answer, self.session, since, self.last_look.loads)

    def figures(self, counts: Counts) -> dict[str, Any]:
        entries = list(self.fellows.entries.values())
        return describe_workers(entries, counts, self.again, clock.now())

    # -- the session

    def may_hand_out(self) -> bool:
        return self.standing.may_hand_out()

    def has_lost_leases(self) -> bool:
        return self.standing.has_lost_leases()

    def permit(self) -> Callable[[], bool]:
        return self.standing.permit()

    @property
    def may_lease(self) -> bool:
        return self._courier is not None and self.standing.may_lease

    def let_all_go(self) -> None:
        """The session is lost, and everything that it had."""
        self.stock.clear()
        self.hand.clear()
        self._active.clear()
        self.tickets.reset()
        self._command("HDEL", self.keys.workers, self.session)

    # -- what the last look said

    @property
    def counts(self) -> Counts:
        return self.last_look.counts

    @property
    def has_pending(self) -> bool:
        return self.stay or not self.last_look.is_quiet

    @property
    def held(self) -> int:
        return self.last_look.held

    def held_until(self) -> float | None:
        return None  # every tick wakes what is held

    def wake(self, now: float) -> None:
        """Every tick does."""

    def front_sizes(self) -> list[int]:
        return self.last_look.front_sizes()

    # -- putting

    def unknown(self, fingerprints: Sequence[int]) -> list[bool]:
        """Only the popular cache is asked: what it does not know is a candidate."""
        missing = set(self._popular.missing(fingerprints))
        return [fingerprint in missing for fingerprint in fingerprints]

    def put(self, records: Sequence[Record]) -> int:
        """How many are sent; how many of them are new is known later."""
        self.last_look.move()
        for partition, args in self._puts(records).items():
            self.stock.sent_to(partition)
            self.tell(partition, "put", args, lambda new: self.stock.feed() if new else None)
        self._popular.add_all([record.fingerprint for record in records])
        return len(records)

    # -- leasing

    def lease(self, order: Iterable[int], now: float, horizon: float) -> Host | None:
        return self.stock.take(order, horizon)

    def leased(self, told: Sequence[Any]) -> tuple[Host, list[Record]]:
        """A host that a step leased, counted before it took the first URLs, and those."""
        host = self._leased(told)
        return host, self._in_hand(host, [(told[8], data) for data in told[7]])

    def refill(self, host: Host, choice: Sequence[int]) -> list[Record]:
        records = self.stock.firsts(host)
        for record in records:
            self.remember(record.fingerprint, record.url)
        return records

    def give_back(self, host: Host, records: Sequence[Record], lease: int = 0) -> None:
        partition = self.keys.of_host(host.name)
        gone = [self.hand.let_go(partition, record.fingerprint) for record in records]
        first = next((each for each in gone if each is not None), None)
        if first is not None:  # all came with the host, by one lease
            super().give_back(host, records, first.lease)

    def release(self, host: Host, now: float, horizon: float) -> None:
        host.is_leased = False
        hold = "hold" if host.next_at > now + horizon else ""
        number, batch = self.stock.lease_of(host)
        args = [self.session, host.name, number, *self._row(host), hold, batch]
        self.stock.release(self.keys.of_host(host.name), host, args)
        self._rest(host)

    # -- ending

    def done(self, ending: Ending, then: Callable[[bool], None] | None = None) -> None:
        record = ending.record
        self.last_look.move()
        is_page = ending.outcome in PAGE_OUTCOMES
        partition = self.keys.of_host(record.host)
        if self.hand.let_go(partition, record.fingerprint) is None:
            # Of a session that was lost: somebody else fetches it again, or has done so.
            self.fellows.refused += is_page
            if then is not None:
                then(False)
            return
        self.remember(record.fingerprint, record.url)
        local, ending.batch = self._parted(ending.batch)
        self.local.note_ending(ending, local)
        self.local.promise(record.fingerprint, partition, local)
        session = self.session
        if is_page:
            self.tickets.committing()
        if preferred := self.fellows.preferred:
            targets = (self.keys.of_host(link.host) for link in ending.links)
            self.fellows.exchanged += sum(target not in preferred for target in targets)

        def settled(stands: bool) -> None:
            if is_page and session == self.session:
                self.tickets.committed(stands=stands)
            if stands:
                self.local.keep(record.fingerprint)
            else:
                self.fellows.pages -= is_page
                self.own_pages -= is_page
                self.fellows.refused += is_page
                self.local.undo(record.fingerprint)
                # They were not put: whoever fetches the page again, this worker say, tells of them.
                self._popular.forget([link.fingerprint for link in ending.links])
            if then is not None:
                then(stands)

        super().done(ending, settled)
        self._popular.add_all([link.fingerprint for link in ending.links])
        for link in ending.links:
            self.stock.sent_to(self.keys.of_host(link.host), link.host)
        self.fellows.pages += is_page
        self.own_pages += is_page
        self.counts.ended[ending.outcome] += 1
        self.counts.waiting -= 1

    def retry(self, record: Record, via: int = NOWHERE, lease: int = 0) -> None:
        was = self.hand.let_go(self.keys.of_host(record.host), record.fingerprint)
        if was is not None:
            super().retry(record, *was)

    # -- side tables and looking

    def _parted(self, batch: Batch) -> tuple[Batch, Batch]:
        """What of a batch is only this worker's, and what is everybody's."""
        local, shared = Batch(), Batch()
        for write in batch.writes:
            (local if write[0] in self.local.names else shared).writes.append(write)
        return local, shared

    def commit(self, batch: Batch) -> None:
        local, shared = self._parted(batch)
        for table, key, row in shared.writes:
            if table == "robots":
                self.preparation.keep_robots(key, row)
        self.local.write(local)
        for partition, script, args in self._write_steps(shared):
            self.tell(partition, script, args)

    def table(self, name: str) -> Table:
        if name in self.local.names:
            return self.local.table(name)
        return self.preparation.robots if name == "robots" else super().table(name)

    def find(self, fingerprint: int) -> Known | None:
        return None  # to be asked for by `look_up`, which does not make the crawl wait

    def host(self, name: str) -> Host | None:
        return self._active.get(host_id(name))

    def close(self) -> None:
        self.stock.is_closed = True  # what is released from now on is for others
        if self._timer is not None:
            self._timer.cancel()
        if self._courier is not None:
            # A lease under way would leave its hosts with a worker that is gone.
            is_answered = self._courier.settle(SETTLE_SECS)
            for host, records in self.stock.drain():
                self.give_back(host, records)
                self.release(host, clock.now(), self.stock.horizon)
            if not (is_answered and self._courier.settle(SETTLE_SECS)):
                logger.warning("Redis did not answer to the end: other workers take over the rest")
            self.tickets.ask(is_leaving=True)
            for partition in range(self.keys.partitions):
                self.tell(partition, "leave", [self.session])
            self.say({"at": 0.0}, lambda call: self._command(*call.args))
            self._courier.settle(SETTLE_SECS)
            self._courier.close()
            self._courier = None
        self.local.close()
        self.direct.close()
