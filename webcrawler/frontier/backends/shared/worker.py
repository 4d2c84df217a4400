"""A worker's store: the same steps made in the background, so that the crawl never waits.

Leases come out of a stock that is filled when it was found empty, each with its first URLs. Once
a second every partition is asked: the session is renewed, what dead workers had is inherited,
held hosts wake, counts are read. The session is believed for as long as Redis must believe it,
counted from before the renewal was sent; after that nothing is handed out.

What only this worker needs (archive and index tables) is in a RocksDB of its own (local.py).
"""

from __future__ import annotations

import logging
import secrets
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from webcrawler.frontier.backends.shared.background import (
    MOST_URLS,
    SETTLE_SECS,
    BackgroundStore,
)
from webcrawler.frontier.backends.shared.driver import Call
from webcrawler.frontier.backends.shared.fellows import Fellows
from webcrawler.frontier.backends.shared.figures import describe_workers
from webcrawler.frontier.backends.shared.keys import FINGERPRINT, NOWHERE, VIA
from webcrawler.frontier.backends.shared.local import WORKER, LocalRows
from webcrawler.frontier.backends.shared.outbox import unpack_steps
from webcrawler.frontier.backends.shared.post import RedisPost
from webcrawler.frontier.backends.shared.store import unpack_page
from webcrawler.frontier.backends.shared.tickets import Tickets
from webcrawler.frontier.ending import PAGE_OUTCOMES
from webcrawler.frontier.host import host_id
from webcrawler.frontier.store import Counts, Known
from webcrawler.tables import Batch, MemoryTable

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Sequence

    from webcrawler.frontier.backends.kv import KV
    from webcrawler.frontier.ending import Ending
    from webcrawler.frontier.host import Host
    from webcrawler.frontier.record import Record
    from webcrawler.tables import Table

logger = logging.getLogger(__name__)
_HOSTS_A_LEASE = 4
_LEASES_AT_ONCE = 8
_FEW_HOSTS = 4  # below this a worker also takes hosts that others are preferred for
_TICK_SECS = 1.0
_IDLE_TICK_SECS = 0.25  # a worker with little to do looks more often for more
_SEEDS_A_TIME = 100
_ROBOTS = 1000


class WorkerStore(BackgroundStore):
    """See the module. `name` of the worker is shown to people; the session is what counts."""

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
        self.batch = batch
        self.lease_secs = lease_secs
        self.stay = stay
        self.seeds_key = seeds_key
        self.on_seeds: Callable[[list[str]], None] = lambda words: None
        self._local = LocalRows(local, local_tables)
        self._counts = Counts()
        self._robots = MemoryTable()
        self._asked: set[str] = set()  # hosts whose robots.txt was looked for
        # What this session has in hand, each with the partition where its referrer ended.
        self._mine: dict[int, int] = {}
        self._stock: deque[tuple[Host, list[Record]]] = deque()
        self._firsts: dict[int, list[Record]] = {}
        partitions = self.keys.partitions
        self._names: list[set[str]] = [set() for _ in range(partitions)]
        self._moving = [0] * partitions  # leases and releases under way
        self._may_have = [True] * partitions  # whether its front queues may be filled
        self._asking = 0
        self._is_leaving = False
        self._looks: list[Any] = []
        self._filled: set[int] = set()
        self._left_over: set[int] = set()
        self._loads = [0] * partitions
        self._quiet_state: Any = None
        self._moves = 0  # what was told that a look made before it does not show
        self._is_quiet = False
        self._has_lost = False
        self._is_lost = False
        self._valid_until = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._order: list[int] = list(range(1, self.queues + 1))
        self._horizon = 10.0
        # Set when the crawl ends for everybody: workers then wait for each other's last post.
        self.is_common_end = False
        self.pages_ended = 0  # of all workers, as of the last look
        self.tickets = Tickets(self)
        self._measure_clock()
        self._register()
        self.fellows = Fellows(self.keys, worker, self.number, lease_secs)
        self.post = RedisPost(self)
        self._begin()
        self._recover()
        self._take_looks(self.looks())

    # -- the session

    def _measure_clock(self) -> None:
        before = time.time()
        seconds, micros = self.direct.ask(Call("", None, ("TIME",)))
        self.offset = int(seconds) + int(micros) / 1e6 - (before + time.time()) / 2

    def _register(self) -> None:
        """Learn this worker's number: one for its folder, the same at every start."""
        token = self._local.table(WORKER).get(b"token")
        if token is None:
            token = secrets.token_bytes(8)
            batch = Batch()
            batch.put(WORKER, b"token", token)
            self._local.write(batch)
        ask, key = self.direct.ask, self.keys.numbers
        number = ask(Call("", None, ("HGET", key, token)))
        if number is None:
            free = ask(Call("", None, ("HINCRBY", key, "last", 1)))
            ask(Call("", None, ("HSETNX", key, token, free)))
            number = ask(Call("", None, ("HGET", key, token)))
        self.number = int(number)

    def _begin(self) -> None:
        """Register a session in every partition; blocks, at the start only."""
        sent_at = time.monotonic()
        for partition in range(self.keys.partitions):
            self.ask(partition, "renew", self.session, self.lease_secs, "new")
        self._valid_until = sent_at + self.lease_secs
        self.say({}, self.direct.ask)

    def _recover(self) -> None:
        """Take over from a process that died in this folder, and learn which of its pages stand.

        The folder is locked, so it is dead. Once its session is too, none of its commits that may
        still be on their way arrives.
        """
        old = self._local.table(WORKER).get(b"session")
        self._note_session()
        partitions = range(self.keys.partitions)
        if old is not None:
            script = self._scripts["inherit"]
            calls = [Call(self.keys.tag(p), script, (self.session, old)) for p in partitions]
            for partition, answer in enumerate(self.direct.ask_all(calls)):
                self._inherited(partition, answer)
        promised = self._local.promised()
        script = self._scripts["holders"]
        calls = [
            Call(self.keys.tag(p), script, (FINGERPRINT.pack(fingerprint),))
            for fingerprint, p in promised
        ]
        answers = self.direct.ask_all(calls) if calls else []
        for (fingerprint, _), (holder,) in zip(promised, answers, strict=True):
            if holder == self.number:
                self._local.keep(fingerprint)
            else:
                self._local.undo(fingerprint)

    def _note_session(self) -> None:
        batch = Batch()
        batch.put(WORKER, b"session", self.session.encode())
        self._local.write(batch)

    def start(self, loop: asyncio.AbstractEventLoop, wake_engine: Callable[[], None]) -> None:
        super().start(loop, wake_engine)
        self._tick()

    def _tick(self) -> None:
        """Renew, inherit, wake and count: all partitions, in one round."""
        assert self._loop is not None
        has_few = self._host_count < _FEW_HOSTS
        pause = _IDLE_TICK_SECS if has_few else min(_TICK_SECS, self.lease_secs / 4)
        self._timer = self._loop.call_later(pause, self._tick)
        if self._threaded is None or self._threaded.is_gone:
            self._while_gone()
            return  # what was told before is said again when Redis is back
        sent_at, session = time.monotonic(), self.session
        now = time.time() + self.offset
        left, moves = self.keys.partitions, self._moves
        looks: list[Any] = [None] * left

        def renewed(partition: int, answer: Any) -> None:
            if session != self.session:
                return
            if not answer[0]:
                self._lose()
                return
            for dead in answer[1]:
                self._inherit(partition, dead)
            known = self._names[partition]
            if answer[2] != len(known) and not self._moving[partition]:
                self.tell(partition, "orphans", [session, *known])

        def looked(partition: int, answer: Any) -> None:
            nonlocal left
            looks[partition] = answer
            left -= 1
            if not left and session == self.session and not self._is_lost:
                self._valid_until = sent_at + self.lease_secs
                self._take_looks(looks, is_current=moves == self._moves)
                self.wake_engine()

        for partition in range(self.keys.partitions):
            self.tell(
                partition,
                "renew",
                [session, self.lease_secs, ""],
                lambda answer, p=partition: renewed(p, answer),  # type: ignore[misc]
            )
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

    @property
    def _host_count(self) -> int:
        return sum(map(len, self._names))

    @property
    def has_work(self) -> bool:
        """Whether this worker has hosts to fetch from, or may find some."""
        return any(self._names) or any(self._may_have)

    def _take_seeds(self, words: list[bytes]) -> None:
        """Seeds that somebody pushed: each leaves its list after it was put, never before."""
        if not words or self._is_lost:
            return
        self.on_seeds([word.decode("utf-8", "replace") for word in words])
        for word in words:
            self._command("LREM", self.seeds_key, 1, word)

    def _inherit(self, partition: int, dead: bytes) -> None:
        def inherited(answer: Any) -> None:
            for told in answer[0]:
                host = self._host(told)
                self._names[partition].add(host.name)
                self._restart(host)
                self.release(host, time.time(), self._horizon)
            for number, blob in answer[1]:
                self._deliver(partition, number.decode(), unpack_steps(blob))

        logger.info(f"a worker is gone: what it had in partition {partition} is taken over")
        self.tell(partition, "inherit", [self.session, dead], inherited)

    def _lose(self) -> None:
        """The session was given up for dead: what it had is not ours any more."""
        if self._is_lost:
            return
        self._is_lost = self._has_lost = True
        self._valid_until = 0.0
        logger.warning("this worker was away for too long and has lost its hosts: it starts anew")
        self._stock.clear()
        self._firsts.clear()
        self._mine.clear()
        self._active.clear()
        for names in self._names:
            names.clear()
        self._moving = [0] * self.keys.partitions
        self._asking = 0
        self._command("HDEL", self.keys.workers, self.session)
        self.session = session = secrets.token_hex(6)
        self._note_session()
        self.tickets.reset()
        left = self.keys.partitions

        def registered(answer: Any) -> None:
            nonlocal left
            left -= 1
            if not left and session == self.session:
                self._is_lost = False

        for partition in range(self.keys.partitions):
            self.tell(partition, "renew", [session, self.lease_secs, "new"], registered)

    def may_hand_out(self) -> bool:
        return not self._has_lost and time.monotonic() < self._valid_until

    def permit(self) -> Callable[[], bool]:
        """Asked just before a request is sent: whether what was handed out now is still ours.

        A process can be stopped between the two, for longer than its leases last.
        """
        session = self.session
        return lambda: session == self.session and self.may_hand_out()

    def has_lost_leases(self) -> bool:
        has_lost, self._has_lost = self._has_lost, False
        return has_lost

    # -- the others

    def say(self, state: dict[str, Any], send: Callable[[Call], Any]) -> None:
        """Tell the others that this worker is there; `state` is what its post has to add."""
        now = time.time() + self.offset
        commands = self.direct.commands
        send(
            self.fellows.entry(
                self.session, now, leases=self._host_count, commands=commands, **state
            )
        )

    def _take_workers(self, answer: Any) -> None:
        since = time.time() + self.offset - self.lease_secs
        self.fellows.take(answer, self.session, since, self._loads)

    def figures(self, counts: Counts) -> dict[str, Any]:
        now = time.time() + self.offset
        return describe_workers(list(self.fellows.entries.values()), counts, self.again, now)

    # -- counts

    def _take_looks(self, looks: list[Any], *, is_current: bool = False) -> None:
        self._looks = looks
        self._counts = self._sum(looks)
        self._loads = [_load(look) for look in looks]
        self.pages_ended = sum(self._counts.ended[outcome] for outcome in PAGE_OUTCOMES)
        filled = {partition for partition, look in enumerate(looks) if any(look[3])}
        self._may_have = [partition in filled for partition in range(self.keys.partitions)]
        # What stood there at two looks, the worker it is meant for does not want.
        self._left_over = (filled & self._filled) - self.fellows.preferred
        self._filled = filled
        counts = self._counts
        outbox = sum(look[4] for look in looks)
        state = (counts.known, tuple(counts.ended.values()))
        is_quiet = (
            is_current and counts.waiting <= counts.frozen and not counts.in_hand and not outbox
        )
        # Two looks that agree: what moves between partitions while they are read is seen by one.
        self._is_quiet = is_quiet and state == self._quiet_state and not self._busy
        self._quiet_state = state if is_quiet else None

    def _move(self) -> None:
        """Something is told that may be work: only looks made after it can say that all is done."""
        self._moves += 1
        self._quiet_state, self._is_quiet = None, False

    @property
    def _busy(self) -> bool:
        return self._threaded is None or any(self._moving) or bool(self._stock)

    @property
    def counts(self) -> Counts:
        return self._counts

    @property
    def has_pending(self) -> bool:
        return self.stay or not self._is_quiet

    @property
    def held(self) -> int:
        return sum(look[1] for look in self._looks)

    def held_until(self) -> float | None:
        return None  # every tick wakes what is held

    def wake(self, now: float) -> None:
        """Every tick does."""

    def front_sizes(self) -> list[int]:
        return [sum(sizes) for sizes in zip(*(look[3] for look in self._looks), strict=True)]

    # -- putting

    def unknown(self, fingerprints: Sequence[int]) -> list[bool]:
        """Only the popular cache is asked: what it does not know is a candidate."""
        missing = set(self._popular.missing(fingerprints))
        return [fingerprint in missing for fingerprint in fingerprints]

    def put(self, records: Sequence[Record]) -> int:
        """How many are sent; how many of them are new is known later."""
        self._move()
        for partition, args in self._puts(records).items():
            self._sent_to(partition)
            self.tell(partition, "put", args, self._accepted)
        self._popular.add_all([record.fingerprint for record in records])
        return len(records)

    def _accepted(self, new: Any) -> None:
        if new:
            self._feed()

    def _sent_to(self, partition: int, host: str = "") -> None:
        """Something is in its front queues; not so if it went to a host that we lease."""
        if host not in self._names[partition]:
            self._may_have[partition] = True

    # -- leasing

    def lease(self, order: Iterable[int], now: float, horizon: float) -> Host | None:
        self._order, self._horizon = list(order), horizon
        if not self._stock:
            self._feed()
        if not self._stock:
            return None
        host, records = self._stock.popleft()
        self._firsts[host.id] = records
        return host

    def _feed(self) -> None:
        """Ask for hosts: of the partitions preferred for us, of others when there are few."""
        is_hungry = not self._asking and not self._stock and not self._is_leaving
        if not is_hungry or self._is_lost or self._has_lost or self._threaded is None:
            return
        candidates = [p for p in self.fellows.preferred if self._may_have[p]]
        if not candidates and self._host_count < _FEW_HOSTS:
            candidates = list(self._left_over)
            self._left_over.clear()
        session = self.session
        for partition in candidates[:_LEASES_AT_ONCE]:
            self._asking += 1
            self._moving[partition] += 1
            self._may_have[partition] = False
            now = time.time() + self.offset
            args = [session, now, self._horizon, _HOSTS_A_LEASE, self.batch, *self._order]
            self.tell(
                partition,
                "lease",
                args,
                lambda found, p=partition: self._found(session, p, found),  # type: ignore[misc]
            )
        if candidates:
            self._threaded.flush()

    def _found(self, session: str, partition: int, found: Any) -> None:
        if session != self.session:
            return
        self._asking -= 1
        self._moving[partition] -= 1
        if len(found) == _HOSTS_A_LEASE:
            self._may_have[partition] = True
        for told in found:
            host = self._leased(told)  # counted before the step took the first URLs
            records = self._in_hand(host, [(told[8], data) for data in told[7]])
            vias = [VIA.unpack(data[-VIA.size :])[0] for data in told[7]]
            for record, via in zip(records, vias, strict=True):
                self._mine[record.fingerprint] = via
            self._names[partition].add(host.name)
            self._read_about(host, records)
        if not self._asking and not found:
            self._feed()

    def _read_about(self, host: Host, records: list[Record]) -> None:
        """Before a host is stocked, read what other workers know: its robots.txt, its referrers."""
        name, calls = host.name, list[Call]()
        for key in self._robots_keys(name) if name not in self._asked else ():
            call: Call = super().table("robots").get_call(key)  # type: ignore[attr-defined]
            calls.append(call._replace(then=lambda row, k=key: self._keep_robots(k, row)))  # type: ignore[misc]
        vias = {record.via: self._mine[record.fingerprint] for record in records if record.via}
        for via, partition in vias.items():
            if partition != NOWHERE and via not in self._urls:
                words = ("HGET", f"{self.keys.tag(partition)}:pages", FINGERPRINT.pack(via))
                calls.append(Call("", None, words, lambda row, v=via: self._keep_url(v, row)))  # type: ignore[misc]
        if not calls:
            self._stock.append((host, records))
            self.wake_engine()
            return
        left, session = len(calls), self.session

        def read(call: Call, answer: Any) -> None:
            nonlocal left
            left -= 1
            assert call.then is not None
            call.then(answer)
            if not left and session == self.session:
                if len(self._asked) >= MOST_URLS:
                    self._asked.clear()
                self._asked.add(name)
                self._stock.append((host, records))
                self.wake_engine()

        assert self._threaded is not None
        for call in calls:
            self._threaded.tell(call._replace(then=lambda answer, c=call: read(c, answer)))  # type: ignore[misc]

    @staticmethod
    def _robots_keys(name: str) -> list[bytes]:
        keys = []
        for scheme, port in (("http", "80"), ("https", "443")):
            bare = name.rpartition(":")[2].isdigit() and ":" in name and not name.endswith("]")
            keys.append((f"{scheme}://{name}" if bare else f"{scheme}://{name}:{port}").encode())
        return keys

    def _keep_robots(self, key: bytes, row: bytes | None) -> None:
        if row is not None:
            if len(self._robots.rows) >= _ROBOTS:
                self._robots.rows.clear()  # what is in use has been parsed
                self._asked.clear()
            self._robots.rows[key] = row

    def _keep_url(self, fingerprint: int, row: bytes | None) -> None:
        if row is not None:
            self._remember(fingerprint, unpack_page(row).url)

    def refill(self, host: Host, choice: Sequence[int]) -> list[Record]:
        records = self._firsts.pop(host.id, [])
        for record in records:
            self._remember(record.fingerprint, record.url)
        return records

    def release(self, host: Host, now: float, horizon: float) -> None:
        partition = self.keys.of_host(host.name)
        self._firsts.pop(host.id, None)
        self._names[partition].discard(host.name)
        host.is_leased = False
        hold = "hold" if host.next_at > now + horizon else ""
        args = [self.session, host.name, *self._row(host), hold]
        self._moving[partition] += 1
        session = self.session

        def released(answer: Any) -> None:
            if session == self.session:
                self._moving[partition] -= 1
                self._sent_to(partition)
                self._feed()

        self.tell(partition, "release", args, released)
        self._sent_to(partition)
        self._feed()  # asked in the same round trip, and answered after the release
        self._rest(host)

    # -- ending

    def done(self, ending: Ending, then: Callable[[bool], None] | None = None) -> None:
        record = ending.record
        self._move()
        is_page = ending.outcome in PAGE_OUTCOMES
        if record.fingerprint not in self._mine:
            # Of a session that was lost: somebody else fetches it again, or has done so.
            self.fellows.refused += is_page
            if then is not None:
                then(False)
            return
        del self._mine[record.fingerprint]
        self._remember(record.fingerprint, record.url)
        batch, ending.batch = ending.batch, Batch()
        local = Batch()
        for write in batch.writes:
            (local if write[0] in self._local.names else ending.batch).writes.append(write)
        own = self.keys.of_host(record.host)
        self._local.note_ending(ending, local)
        self._local.promise(record.fingerprint, own, local)
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
                self._local.keep(record.fingerprint)
            else:
                self.fellows.pages -= is_page
                self.own_pages -= is_page
                self.fellows.refused += is_page
                self._local.undo(record.fingerprint)
            if then is not None:
                then(stands)

        super().done(ending, settled)
        self._popular.add_all([link.fingerprint for link in ending.links])
        for link in ending.links:
            self._sent_to(self.keys.of_host(link.host), link.host)
        self.fellows.pages += is_page
        self.own_pages += is_page
        self._counts.ended[ending.outcome] += 1
        self._counts.waiting -= 1

    def retry(self, record: Record, via: int = NOWHERE) -> None:
        if record.fingerprint in self._mine:
            super().retry(record, self._mine.pop(record.fingerprint))

    def give_back(self, host: Host, records: Sequence[Record]) -> None:
        for record in records:
            self._mine.pop(record.fingerprint, None)
        super().give_back(host, records)

    # -- side tables and looking

    def commit(self, batch: Batch) -> None:
        local, shared = Batch(), Batch()
        for write in batch.writes:
            (local if write[0] in self._local.names else shared).writes.append(write)
            if write[0] == "robots" and write[2] is not None:
                self._keep_robots(write[1], write[2])
        self._local.write(local)
        for partition, script, args in self._write_steps(shared):
            self.tell(partition, script, args)

    def table(self, name: str) -> Table:
        if name in self._local.names:
            return self._local.table(name)
        return self._robots if name == "robots" else super().table(name)

    def find(self, fingerprint: int) -> Known | None:
        return None  # to be asked for by `look_up`, which does not make the crawl wait

    def host(self, name: str) -> Host | None:
        return self._active.get(host_id(name))

    def close(self) -> None:
        self._is_leaving = True  # what is released from now on is for others
        if self._timer is not None:
            self._timer.cancel()
        if self._threaded is not None:
            # A lease under way would leave its hosts with a worker that is gone.
            is_answered = self._threaded.settle(SETTLE_SECS)
            for host, records in self._stock:
                self.give_back(host, records)
                self.release(host, time.time(), self._horizon)
            self._stock.clear()
            if not (is_answered and self._threaded.settle(SETTLE_SECS)):
                logger.warning("Redis did not answer to the end: other workers take over the rest")
            self.tickets.ask(is_leaving=True)
            for partition in range(self.keys.partitions):
                self.tell(partition, "leave", [self.session])
            self.say({"at": 0.0}, lambda call: self._command(*call.args))
            self._threaded.settle(SETTLE_SECS)
            self._threaded.close()
            self._threaded = None
        self._local.close()
        self.direct.close()


def _load(look: Any) -> int:
    """The work of a partition: its hosts, if any URL of it waits. Beyond a few, the hash spreads
    them evenly, and preferences do not change whenever a host is found.
    """
    counts = dict(zip(look[0][::2], look[0][1::2], strict=True))
    waiting = int(counts.get(b"waiting", 0)) - int(counts.get(b"frozen", 0))
    return min(_FEW_HOSTS, int(counts.get(b"hosts", 0))) if waiting > 0 else 0
