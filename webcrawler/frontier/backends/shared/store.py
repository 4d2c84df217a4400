"""The store protocol on Redis, every step made at once.

This is what `scrapy frontier` uses, and what the contract suite tests; a worker's store
(worker.py) makes the same steps in the background.
"""

from __future__ import annotations

import json
import secrets
from itertools import groupby
from typing import TYPE_CHECKING, Any

from webcrawler.exceptions import JobError
from webcrawler.frontier.backends.shared.driver import Call, Direct
from webcrawler.frontier.backends.shared.figures import describe_workers
from webcrawler.frontier.backends.shared.keys import FINGERPRINT, HOLDER, NOWHERE, VIA, Keys
from webcrawler.frontier.backends.shared.outbox import Step, pack_steps, unpack_steps
from webcrawler.frontier.backends.shared.scripts import read_scripts
from webcrawler.frontier.backends.shared.tables import RedisTable
from webcrawler.frontier.ending import OUTCOMES, PAGE_OUTCOMES, EndedPage
from webcrawler.frontier.host import Host, HostQueue, host_id
from webcrawler.frontier.record import Record
from webcrawler.frontier.seen import PopularCache
from webcrawler.frontier.store import Counts, Known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from webcrawler.frontier.backends.shared.scripts import Script
    from webcrawler.frontier.ending import Ending
    from webcrawler.tables import Batch, Table

VERSION = 2
_BLOCKED, _EXHAUSTED = 1, 2
_FOREVER = 10 * 365 * 86_400.0
_FOLLOWING = 999_999_999


class RedisStore:
    """See the module. `restart` sets the clock of a host that a dead worker had.

    `is_alone`: whoever is registered is dead, as for a store that one process has to itself.
    """

    def __init__(
        self,
        direct: Direct,
        name: str,
        *,
        queues: int = 8,
        partitions: int = 64,
        buckets: int = 1024,
        restart: Callable[[Host], None] = lambda host: None,
        popular: int = 200_000,
        is_alone: bool = False,
    ) -> None:
        self.direct = direct
        self.queues = queues
        self.keys = Keys(name, partitions, buckets)
        self.session = secrets.token_hex(6)
        self.number = 0  # of the worker, from 1; commands and tests have none
        self.offset = 0.0  # Redis's clock minus ours
        self._restart = restart
        self._popular = PopularCache(popular)
        self._active: dict[int, Host] = {}
        self._scripts = read_scripts(queues)
        self._outbox_number = 0
        self._check_shape()
        if is_alone:
            self._take_over()

    def _check_shape(self) -> None:
        """One shape for the whole crawl: the first worker writes it, the others obey it."""
        keys = self.keys
        wanted = {
            "version": VERSION,
            "FRONTIER_FRONT_QUEUES": self.queues,
            "FRONTIER_PARTITIONS": keys.partitions,
            "FRONTIER_SEEN_BUCKETS": keys.buckets,
        }
        fields = list(wanted)
        calls = [Call("", None, ("HSETNX", keys.meta, name, wanted[name])) for name in fields]
        *_, rows = self.direct.ask_all([*calls, Call("", None, ("HMGET", keys.meta, *fields))])
        found = {name: int(row) for name, row in zip(fields, rows, strict=True)}
        if found["version"] > VERSION:
            raise JobError(
                f"the crawl {keys.name} in Redis was written by a newer version of webcrawler "
                f"(format {found['version']}, this one reads up to {VERSION}): upgrade"
            )
        if found["version"] < VERSION:
            raise JobError(
                f"the crawl {keys.name} in Redis was written by an older version of webcrawler "
                f"(format {found['version']}, this one reads {VERSION}): finish it with that, or "
                f"start another job"
            )
        for field, value in wanted.items():
            if found[field] != value:
                raise JobError(
                    f"this crawl was started with {field}={found[field]}, not {value}: use that, "
                    f"or another job"
                )

    def _take_over(self) -> None:
        for partition in range(self.keys.partitions):
            self.ask(partition, "renew", self.session, _FOREVER, "new")
            tag = self.keys.tag(partition)
            for dead in self.direct.client.hkeys(f"{tag}:live"):
                if dead.decode() != self.session:
                    self._inherited(partition, self.ask(partition, "inherit", self.session, dead))

    def _inherited(self, partition: int, answer: Any) -> None:
        passed, outbox = answer
        for told in passed:
            host = self._host(told)
            self._restart(host)
            self.release(host, float("inf"), 0.0)
        for number, blob in outbox:
            self._deliver(partition, number.decode(), unpack_steps(blob))

    # -- steps

    def ask(self, partition: int, script: str, *args: Any) -> Any:
        return self.direct.ask(Call(self.keys.tag(partition), self._scripts[script], args))

    def tell(
        self,
        partition: int,
        script: str,
        args: Sequence[Any],
        then: Callable[[Any], None] | None = None,
    ) -> None:
        """Make a step; `then` hears the answer. A worker's store does it in the background."""
        answer = self.ask(partition, script, *args)
        if then is not None:
            then(answer)

    def script(self, name: str) -> Script:
        return self._scripts[name]

    # -- hosts

    def _host(self, told: Sequence[Any]) -> Host:
        """The host that a step tells of; the same object while anything of it is in hand."""
        name, row, fetched, in_hand, flags, at, sizes = told[:7]
        text = name.decode()
        identity = host_id(text)
        known = self._active.get(identity)
        host = Host.unpack(row, identity) if row else Host(text, identity)
        if known is not None:
            for field in ("last_at", "delay", "crawl_delay", "failures", "parkings", "cause"):
                setattr(known, field, getattr(host, field))
            host = known
        host.next_at = float(at) - self.offset if float(at) else 0.0
        host.fetched, host.in_hand = int(fetched), int(in_hand)
        host.is_blocked = bool(int(flags) & _BLOCKED)
        host.is_exhausted = bool(int(flags) & _EXHAUSTED)
        host.queues = {k: HostQueue(0, size, size) for k, size in enumerate(sizes, 1) if size}
        if host.in_hand:
            queue = host.queues.setdefault(min(host.queues, default=1), HostQueue())
            queue.stored += host.in_hand
        return host

    def _row(self, host: Host) -> tuple[bytes, str]:
        queues, host.queues = host.queues, {}
        try:
            at = host.next_at + self.offset if host.next_at else 0.0
            return host.pack(), f"{at:.6f}"
        finally:
            host.queues = queues

    # -- the URL-seen test and putting

    def unknown(self, fingerprints: Sequence[int]) -> list[bool]:
        calls = []
        for fingerprint in fingerprints:
            signed, bucket = self.keys.seen(fingerprint)
            for partition in range(self.keys.partitions):
                key = f"{self.keys.tag(partition)}:seen:{bucket}"
                calls.append(Call("", None, ("SISMEMBER", key, signed)))
        if not calls:
            return []
        answers = self.direct.ask_all(calls)
        step = self.keys.partitions
        return [not any(answers[at : at + step]) for at in range(0, len(answers), step)]

    def _put_args(self, record: Record, via: int) -> list[bytes]:
        signed, bucket = self.keys.seen(record.fingerprint)
        return [
            record.host.encode(),
            b"%d" % record.queue,
            b"%d" % signed,
            b"%d" % bucket,
            record.pack() + VIA.pack(via),
        ]

    def _puts(self, records: Iterable[Record], via: int = NOWHERE) -> dict[int, list[bytes]]:
        """The arguments of `put` for each partition; `via` is that of the page that links."""
        groups: dict[int, list[bytes]] = {}
        for record in records:
            groups.setdefault(self.keys.of_host(record.host), []).extend(
                self._put_args(record, via)
            )
        return {p: [b"%d" % (len(args) // 5), *args] for p, args in groups.items()}

    def put(self, records: Sequence[Record]) -> int:
        return sum(self.ask(p, "put", *args) for p, args in self._puts(records).items())

    # -- leasing

    def lease(self, order: Iterable[int], now: float, horizon: float) -> Host | None:
        for k in order:
            for partition in range(self.keys.partitions):
                found = self.ask(
                    partition, "lease", self.session, now + self.offset, horizon, 1, 0, k
                )
                if found:
                    return self._leased(found[0])
        return None

    def _leased(self, told: Sequence[Any]) -> Host:
        host = self._host(told)
        host.is_leased = True
        self._active[host.id] = host
        return host

    def refill(self, host: Host, choice: Sequence[int]) -> list[Record]:
        args: list[Any] = []
        wanted: dict[int, int] = {}
        for k in choice:
            wanted[k] = wanted.get(k, 0) + 1
        for k, number in wanted.items():
            args += (k, number)
        found = self.ask(self.keys.of_host(host.name), "refill", self.session, host.name, *args)
        return self._in_hand(host, found)

    def _in_hand(self, host: Host, found: Iterable[tuple[int, bytes]]) -> list[Record]:
        records = []
        for k, data in found:
            queue = host.queues[k]
            queue.unread -= 1
            records.append(unpack_record(data, host.name, k, queue.head))
            queue.head += 1
        host.in_hand += len(records)
        return records

    def give_back(self, host: Host, records: Sequence[Record]) -> None:
        if not records:
            return
        fingerprints = [FINGERPRINT.pack(record.fingerprint) for record in records]
        self.tell(self.keys.of_host(host.name), "give_back", [self.session, *fingerprints])
        for record in records:
            queue = host.queues.setdefault(record.queue, HostQueue())
            queue.unread += 1
            queue.head -= 1
        host.in_hand -= len(records)

    def release(self, host: Host, now: float, horizon: float) -> None:
        host.is_leased = False
        hold = "hold" if host.next_at > now + horizon else ""
        args = [self.session, host.name, *self._row(host), hold]
        self.tell(self.keys.of_host(host.name), "release", args)
        self._rest(host)

    def _rest(self, host: Host) -> None:
        if not host.is_leased and host.in_hand <= 0:
            self._active.pop(host.id, None)

    # -- ending

    def done(self, ending: Ending, then: Callable[[bool], None] | None = None) -> None:
        record = ending.record
        partition = self.keys.of_host(record.host)
        puts = self._puts(ending.links, partition)
        own = puts.pop(partition, [b"0"])
        steps: list[Step] = [(p, "put", args) for p, args in puts.items()]
        steps += self._write_steps(ending.batch)
        number = ""
        if steps:
            self._outbox_number += 1
            number = f"{self.session}:{self._outbox_number}"
        is_page = int(ending.outcome in PAGE_OUTCOMES)
        args = [
            self.session,
            FINGERPRINT.pack(record.fingerprint),
            OUTCOMES.index(ending.outcome),
            is_page,
            self._page_row(ending),
            number,
            pack_steps(steps),
            *own,
        ]

        def settled(answer: Any) -> None:
            is_ours = bool(answer[0])
            if is_ours and steps:
                self._deliver(partition, number, steps)
            if then is not None:
                then(is_ours)

        self.tell(partition, "done", args, settled)
        host = self._active.get(host_id(record.host))
        if host is not None:
            self._let_go(host, record)
            host.fetched += is_page

    def _page_row(self, ending: Ending) -> bytes:
        return HOLDER.pack(self.number) + ending.pack_row()

    def _let_go(self, host: Host, record: Record) -> None:
        host.in_hand -= 1
        queue = host.queues.get(record.queue)
        if queue is not None:
            queue.stored -= 1
        self._rest(host)

    def _deliver(self, partition: int, number: str, steps: list[Step]) -> None:
        """Make the steps in other partitions; when all are made, they need not be kept."""
        left = len(steps)

        def arrived(answer: Any) -> None:
            nonlocal left
            left -= 1
            if not left:
                self.tell(partition, "delivered", [self.session, number])

        for target, script, args in steps:
            self.tell(target, script, args, arrived)

    def retry(self, record: Record, via: int = NOWHERE) -> None:
        packed = record.pack() + VIA.pack(via)
        args = [self.session, FINGERPRINT.pack(record.fingerprint), record.queue, packed]
        self.tell(self.keys.of_host(record.host), "retry", args)
        host = self._active.get(host_id(record.host))
        if host is not None:
            self._let_go(host, record)
            queue = host.queues.setdefault(record.queue, HostQueue())
            queue.stored += 1
            queue.unread += 1

    def save(self, host: Host) -> None:
        owner = self.session if host.is_leased else ""
        args = [host.name, *self._row(host), owner]
        self.tell(self.keys.of_host(host.name), "save", args)

    def freeze(
        self, host: Host, *, blocked: bool | None = None, exhausted: bool | None = None
    ) -> None:
        on = off = 0
        for reason, is_set in ((_BLOCKED, blocked), (_EXHAUSTED, exhausted)):
            if is_set is not None:
                on, off = (on | reason, off) if is_set else (on, off | reason)
        if blocked is not None:
            host.is_blocked = blocked
        if exhausted is not None:
            host.is_exhausted = exhausted
        self.tell(self.keys.of_host(host.name), "freeze", [host.name, on, off])

    def drop(self, records: Sequence[Record], endings: Callable[[Record], Ending]) -> int:
        dropped = 0
        for record in records:
            fingerprint = FINGERPRINT.pack(record.fingerprint)
            if self._is_held(record.host, fingerprint):
                continue
            ending = endings(record)
            outcome, row = OUTCOMES.index(ending.outcome), self._page_row(ending)
            args = (record.host, record.queue, fingerprint, outcome, row)
            dropped += self.ask(self.keys.of_host(record.host), "drop", *args)
        return dropped

    def _is_held(self, host: str, fingerprint: bytes) -> bool:
        tag = self.keys.tag(self.keys.of_host(host))
        client = self.direct.client
        return any(
            client.hexists(f"{tag}:hand:{session.decode()}", fingerprint)
            for session in client.hkeys(f"{tag}:live")
        )

    # -- side tables

    def _write_steps(self, batch: Batch) -> list[Step]:
        groups: dict[int, list[bytes]] = {}
        for table, key, value in batch.writes:
            written = b"-" if value is None else b"+" + value
            group = groups.setdefault(self.keys.of_row(table, key), [])
            group += (table.encode(), key, written)
        return [(partition, "write", args) for partition, args in groups.items()]

    def commit(self, batch: Batch) -> None:
        for partition, script, args in self._write_steps(batch):
            self.ask(partition, script, *args)

    def table(self, name: str) -> Table:
        return RedisTable(self.direct, self.keys, name)

    # -- looking

    def figures(self, counts: Counts) -> dict[str, Any]:
        """What the literature asks of a parallel crawler, of the whole crawl."""
        seconds, _ = self.direct.ask(Call("", None, ("TIME",)))
        entries = [json.loads(e) for e in self.direct.client.hvals(self.keys.workers)]
        return describe_workers(entries, counts, self.again, int(seconds))

    def looks(self, now: float | None = None) -> list[Any]:
        """How much there is in each partition; what is held is woken first, if a time is given."""
        at = "-inf" if now is None else now + self.offset
        script = self._scripts["wake"]
        calls = [Call(self.keys.tag(p), script, (at,)) for p in range(self.keys.partitions)]
        return self.direct.ask_all(calls)

    def _sum(self, looks: Iterable[Any]) -> Counts:
        total: dict[bytes, int] = {}
        for pairs, *_ in looks:
            for at in range(0, len(pairs), 2):
                total[pairs[at]] = total.get(pairs[at], 0) + int(pairs[at + 1])
        get = total.get
        counts = Counts(get(b"known", 0), get(b"waiting", 0), get(b"frozen", 0))
        counts.hosts = get(b"hosts", 0)
        counts.in_hand = get(b"in_hand", 0)
        counts.ended = {name: get(b"e%d" % n, 0) for n, name in enumerate(OUTCOMES)}
        self.again = get(b"again", 0)
        self.own_pages = get(b"w%d" % self.number, 0)
        return counts

    again = 0  # URLs that ended more than once
    own_pages = 0  # that this worker ended, at whatever start

    @property
    def counts(self) -> Counts:
        return self._sum(self.looks())

    @property
    def has_pending(self) -> bool:
        counts = self.counts
        return counts.waiting > counts.frozen or counts.in_hand > 0

    def may_hand_out(self) -> bool:
        return True  # a store that is alone renews for ever

    def has_lost_leases(self) -> bool:
        return False

    @property
    def held(self) -> int:
        return sum(look[1] for look in self.looks())

    def held_until(self) -> float | None:
        times = [float(look[2]) - self.offset for look in self.looks() if look[2]]
        return min(times, default=None)

    def wake(self, now: float) -> None:
        self.looks(now)

    def front_sizes(self) -> list[int]:
        return [sum(sizes) for sizes in zip(*(look[3] for look in self.looks()), strict=True)]

    def find(self, fingerprint: int) -> Known | None:
        field, client = FINGERPRINT.pack(fingerprint), self.direct.client
        signed, bucket = self.keys.seen(fingerprint)
        for partition in range(self.keys.partitions):
            tag = self.keys.tag(partition)
            if not client.sismember(f"{tag}:seen:{bucket}", signed):
                continue
            for session in client.hkeys(f"{tag}:live"):
                kept = client.hget(f"{tag}:hand:{session.decode()}", field)
                if kept is not None:
                    return Known(record=_unpack_hand(kept, field), is_in_hand=True)
            for _, record in self._waiting_in(partition):
                if record.fingerprint == fingerprint:
                    return Known(record=record)
            row = client.hget(f"{tag}:pages", field)
            if row is not None:
                return Known(page=unpack_page(row))
        return None

    def url_of(self, fingerprint: int) -> str | None:
        known = self.find(fingerprint)
        if known is None:
            return None
        return known.record.url if known.record else known.page.url if known.page else None

    def host(self, name: str) -> Host | None:
        partition = self.keys.of_host(name)
        tag = self.keys.tag(partition)
        client = self.direct.client
        if not client.sismember(f"{tag}:hosts", name):
            return None
        active = self._active.get(host_id(name))
        return active if active is not None else self._told(tag, name.encode())

    def _told(self, tag: str, name: bytes) -> Host:
        client, text = self.direct.client, name.decode()
        row = client.hmget(f"{tag}:h:{text}", "row", "fe", "in", "fl", "at")
        sizes = [client.llen(f"{tag}:q:{k}:{text}") for k in range(1, self.queues + 1)]
        data, fetched, in_hand, flags, at = row
        return self._host((name, data, fetched or 0, in_hand or 0, flags or 0, at or 0, sizes))

    def hosts(self) -> Iterator[Host]:
        for partition in range(self.keys.partitions):
            tag = self.keys.tag(partition)
            for name in self.direct.client.sscan_iter(f"{tag}:hosts", count=1000):
                yield self._told(tag, name)

    def waiting(
        self, host: Host | None = None, after: bytes = b""
    ) -> Iterator[tuple[bytes, Record]]:
        """Waiting records, of one host or all, with the key to go on from."""
        if host is not None:
            yield from self._waiting_of(self.keys.of_host(host.name), host.name)
            return
        for partition in range(self.keys.partitions):
            for key, record in self._waiting_in(partition):
                if key >= after:
                    yield key, record

    def _waiting_in(self, partition: int) -> Iterator[tuple[bytes, Record]]:
        names = self.direct.client.smembers(f"{self.keys.tag(partition)}:hosts")
        for name in sorted(name.decode() for name in names):
            # From the end: what is dropped meanwhile moves nothing that is still to come.
            yield from self._waiting_of(partition, name, is_backward=True)

    def _waiting_of(
        self, partition: int, name: str, *, is_backward: bool = False
    ) -> Iterator[tuple[bytes, Record]]:
        client = self.direct.client
        for k in range(1, self.queues + 1):
            list_key = f"{self.keys.tag(partition)}:q:{k}:{name}"
            rows = list(enumerate(client.lrange(list_key, 0, -1)))
            for at, data in reversed(rows) if is_backward else rows:
                place = _FOLLOWING - at if is_backward else at
                key = f"{partition:05}|{name}|{k:03}|{place:09}".encode()
                yield key, unpack_record(data, name, k, at)

    def is_in_hand(self, record: Record) -> bool:
        return self._is_held(record.host, FINGERPRINT.pack(record.fingerprint))

    def forget(self) -> int:
        """Delete the whole crawl; how many keys that were."""
        client, deleted = self.direct.client, 0
        name = self.keys.name
        for pattern in (f"{{{name}:*}}*", f"{{{name}}}*"):
            keys = client.scan_iter(match=pattern, count=1000)
            for _, chunk in groupby(enumerate(keys), key=lambda pair: pair[0] // 500):
                for _, key in chunk:
                    deleted += client.unlink(key)
        return deleted

    def close(self) -> None:
        for partition in range(self.keys.partitions):
            self.ask(partition, "leave", self.session)
        self.direct.close()


def unpack_record(data: bytes, host: str, queue: int, sequence: int) -> Record:
    """A record as it waits in Redis."""
    return Record.unpack(data[: -VIA.size], host, queue, sequence)


def unpack_page(row: bytes) -> EndedPage:
    """The row of a page, which says first who ended it."""
    return EndedPage.unpack(row[HOLDER.size :])


def _unpack_hand(kept: bytes, field: bytes) -> Record:
    """The record of an entry of a hand: MessagePack of sequence, queue, host and record."""
    head, _, _ = kept.partition(field)
    data = kept[len(head) - 5 :]
    # A fixed array of four; the host is the string before the record's own head.
    at = 1
    at += {0xCC: 2, 0xCD: 3, 0xCE: 5, 0xCF: 9}.get(kept[at], 1)
    k = kept[at] if kept[at] < 0x80 else kept[at + 1]
    at += 1 if kept[at] < 0x80 else 2
    size = kept[at] & 0x1F if kept[at] < 0xC0 else kept[at + 1]
    at += 1 if kept[at] < 0xC0 else 2
    return unpack_record(data, kept[at : at + size].decode(), k, 0)
