"""Looking into a crawl in Redis: what people ask of it, and what the protocol only reads.

Everything here waits for its answer. A worker's store answers the same from what it has heard.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from webcrawler import clock
from webcrawler.frontier.backends.shared.driver import Call
from webcrawler.frontier.backends.shared.figures import describe_workers
from webcrawler.frontier.backends.shared.keys import FINGERPRINT
from webcrawler.frontier.backends.shared.rows import unpack_hand, unpack_page, unpack_record
from webcrawler.frontier.backends.shared.steps import Steps
from webcrawler.frontier.backends.shared.tables import RedisTable
from webcrawler.frontier.ending import OUTCOMES
from webcrawler.frontier.host import Host, host_id
from webcrawler.frontier.store import Counts, Known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from webcrawler.frontier.record import Record
    from webcrawler.tables import Table

_FOLLOWING = 999_999_999


class Looking(Steps):
    """See the module."""

    # -- how much there is

    again = 0  # URLs that ended more than once

    own_pages = 0  # that this worker ended, at whatever start

    def figures(self, counts: Counts) -> dict[str, Any]:
        """What the literature asks of a parallel crawler, of the whole crawl."""
        entries = [json.loads(e) for e in self.direct.client.hvals(self.keys.workers)]
        return describe_workers(entries, counts, self.again, clock.now())

    def looks(self, now: float | None = None) -> list[Any]:
        """How much there is in each partition; what is held is woken first, if a time is given."""
        at = "-inf" if now is None else now
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

    @property
    def counts(self) -> Counts:
        return self._sum(self.looks())

    @property
    def has_pending(self) -> bool:
        counts = self.counts
        return counts.waiting > counts.frozen or counts.in_hand > 0

    @property
    def held(self) -> int:
        return sum(look[1] for look in self.looks())

    def held_until(self) -> float | None:
        times = [float(look[2]) for look in self.looks() if look[2]]
        return min(times, default=None)

    def front_sizes(self) -> list[int]:
        return [sum(sizes) for sizes in zip(*(look[3] for look in self.looks()), strict=True)]

    # -- URLs

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
                    return Known(record=unpack_hand(kept, field), is_in_hand=True)
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

    def _is_held(self, host: str, fingerprint: bytes) -> bool:
        tag = self.keys.tag(self.keys.of_host(host))
        client = self.direct.client
        return any(
            client.hexists(f"{tag}:hand:{session.decode()}", fingerprint)
            for session in client.hkeys(f"{tag}:live")
        )

    def is_in_hand(self, record: Record) -> bool:
        return self._is_held(record.host, FINGERPRINT.pack(record.fingerprint))

    # -- hosts and what waits

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

    # -- side tables

    def table(self, name: str) -> Table:
        return RedisTable(self.direct, self.keys, name)
