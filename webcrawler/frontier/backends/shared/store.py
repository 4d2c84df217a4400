"""The store protocol on Redis, every step made at once.

This is what `scrapy frontier` uses, and what the contract suite tests; a worker's store
(worker.py) makes the same steps in the background.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Any

from webcrawler.frontier.backends.shared.keys import FINGERPRINT, HOLDER, NOWHERE, VIA
from webcrawler.frontier.backends.shared.looking import Looking
from webcrawler.frontier.backends.shared.outbox import Step, pack_steps, unpack_steps
from webcrawler.frontier.backends.shared.rows import unpack_record
from webcrawler.frontier.backends.shared.steps import BLOCKED, EXHAUSTED
from webcrawler.frontier.ending import OUTCOMES, PAGE_OUTCOMES
from webcrawler.frontier.host import HostQueue, host_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from webcrawler.frontier.ending import Ending
    from webcrawler.frontier.host import Host
    from webcrawler.frontier.record import Record
    from webcrawler.tables import Batch

_FOREVER = 10 * 365 * 86_400.0


class RedisStore(Looking):
    """See the module.

    `is_alone`: whoever is registered is dead, as for a store that one process has to itself.
    """

    def __init__(self, *args: Any, is_alone: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if is_alone:
            self._take_over()

    def _take_over(self) -> None:
        for partition in range(self.keys.partitions):
            self.ask(partition, "renew", self.session, _FOREVER, "new")
            tag = self.keys.tag(partition)
            for dead in self.direct.client.hkeys(f"{tag}:live"):
                if dead.decode() != self.session:
                    self.inherited(partition, self.ask(partition, "inherit", self.session, dead, 0))

    def inherited(self, partition: int, answer: Any) -> None:
        passed, outbox = answer
        for told in passed:
            self.release(self.restarted(told), float("inf"), 0.0)
        for number, blob in outbox:
            self.deliver(partition, number.decode(), unpack_steps(blob))

    def restarted(self, told: Sequence[Any]) -> Host:
        """A host that somebody else may just have fetched from, with its clock set for that."""
        host = self._host(told)
        self._restart(host)
        return host

    # -- putting

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
                found = self.ask(partition, "lease", self.session, 0, now, horizon, 1, 0, k)
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

    def give_back(self, host: Host, records: Sequence[Record], lease: int = 0) -> None:
        if not records:
            return
        fingerprints = [FINGERPRINT.pack(record.fingerprint) for record in records]
        self.tell(self.keys.of_host(host.name), "give_back", [self.session, lease, *fingerprints])
        for record in records:
            queue = host.queues.setdefault(record.queue, HostQueue())
            queue.unread += 1
            queue.head -= 1
        host.in_hand -= len(records)

    def release(self, host: Host, now: float, horizon: float) -> None:
        host.is_leased = False
        hold = "hold" if host.next_at > now + horizon else ""
        args = [self.session, host.name, 0, *self._row(host), hold, ""]
        self.tell(self.keys.of_host(host.name), "release", args)
        self._rest(host)

    def _rest(self, host: Host) -> None:
        if not host.is_leased and host.in_hand <= 0:
            self._active.pop(host.id, None)

    def may_hand_out(self) -> bool:
        return True  # a store that is alone renews for ever

    def has_lost_leases(self) -> bool:
        return False

    def wake(self, now: float) -> None:
        self.looks(now)

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
                self.deliver(partition, number, steps)
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

    def deliver(self, partition: int, number: str, steps: list[Step]) -> None:
        """Make the steps in other partitions; when all are made, they need not be kept."""
        left = len(steps)

        def arrived(answer: Any) -> None:
            nonlocal left
            left -= 1
            if not left:
                self.tell(partition, "delivered", [self.session, number])

        for target, script, args in steps:
            self.tell(target, script, args, arrived)

    def retry(self, record: Record, via: int = NOWHERE, lease: int = 0) -> None:
        packed = record.pack() + VIA.pack(via)
        args = [self.session, FINGERPRINT.pack(record.fingerprint), record.queue, packed, lease]
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
        for reason, is_set in ((BLOCKED, blocked), (EXHAUSTED, exhausted)):
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

    # -- the end

    def forget(self) -> int:
        """Delete the whole crawl; how many keys that were."""
        client, deleted = self.direct.client, 0
        name = re.sub(
            r"([\\*?\[\]^-])", r"\\\1", self.keys.name
        )  # a pattern would match others too
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
