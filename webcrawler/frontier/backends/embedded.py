"""The embedded store: the frontier's state in tables of a key-value engine.

Tables, with everything big-endian so that key order is queue order:

    seen      fingerprint                  -> host id, front queue, sequence: where it waits
    queue     host id, front queue, seq.   -> packed record
    hosts     host id                      -> packed host row
    front     front queue, sequence        -> host id
    held      time, host id                -> nothing
    leases    host id                      -> nothing: hosts with URLs in hand, in format 1
    pages     fingerprint                  -> how a URL ended
    meta      version, counts, shape, how far the front queues are reserved

A record leaves `queue` only in the commit that ends it, and a host leaves `front` only in one that
ends its last or lets it stand anew, so whatever a crash interrupts is still there, and taking
things in hand writes nothing. What is in hand is known in memory only; after a crash the clocks of
the hosts that were, which is to say of those in the reserved part of the front queues, are set as
if their last fetch had just ended.
"""

from __future__ import annotations

import struct
from itertools import islice
from typing import TYPE_CHECKING, Any

from webcrawler.exceptions import JobError
from webcrawler.frontier.backends.front import FrontQueues
from webcrawler.frontier.backends.host_table import HostTable
from webcrawler.frontier.backends.kv import LazyBatch
from webcrawler.frontier.ending import OUTCOMES, PAGE_OUTCOMES, EndedPage
from webcrawler.frontier.host import Host, HostQueue, append_to_row, host_id, host_id_again
from webcrawler.frontier.record import Record
from webcrawler.frontier.seen import BloomFilter, PopularCache
from webcrawler.frontier.store import Counts, Known

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from webcrawler.frontier.backends.kv import KV
    from webcrawler.frontier.ending import Ending
    from webcrawler.tables import Batch, Table

VERSION = 3  # 1 had a row in `leases` for each host in hand, 2 no count of errands
OWN_TABLES = ("seen", "queue", "hosts", "front", "held", "leases", "pages", "meta")

_ID = struct.Struct(">Q")
_PLACE = struct.Struct(">QBI")  # host id, front queue, sequence
_HELD = struct.Struct(">dQ")
_COUNTS = struct.Struct(f"<4Q{len(OUTCOMES)}Q")
_SHAPE = struct.Struct("<HB")  # version, number of front queues
_NO_FILTER_BELOW = 3  # a get_many of so few keys costs more than the gets


class EmbeddedStore:
    """See the module. `restart` sets the clock of a host that was in hand at a crash."""

    def __init__(
        self,
        kv: KV,
        *,
        queues: int = 8,
        restart: Callable[[Host], None] = lambda host: None,
        popular: int = 400_000,
        cached_hosts: int = 50_000,
        bloom: BloomFilter | None = None,
    ) -> None:
        self.kv = kv
        self.queues = queues
        self.counts = Counts(ended=dict.fromkeys(OUTCOMES, 0))
        self._popular = PopularCache(popular)
        self._bloom = bloom
        self._in_hand: set[int] = set()
        self._seen = kv.table("seen")
        self._queue = kv.table("queue")
        # All handles in one place: the engine is not let go before the last of them.
        self._handles: dict[str, Any] = {name: kv.handle(name) for name in OWN_TABLES}
        self._hosts = HostTable(kv, self._handles, cached_hosts)
        self._check_shape()
        self._check_seen()
        self._front = FrontQueues(kv, self._handles, queues)
        self._held_from = b""
        self._held_until = self._first_held()
        self.held = sum(1 for _ in kv.table("held").scan(b""))
        self._recover(restart)

    # -- opening and closing

    def _check_shape(self) -> None:
        meta = self.kv.table("meta")
        shape = meta.get(b"shape")
        if shape is None:
            batch = self.kv.batch()
            batch.put(b"shape", _SHAPE.pack(VERSION, self.queues), self._handles["meta"])
            self.kv.write(batch)
            return
        version, queues = _SHAPE.unpack_from(shape)
        if version > VERSION:
            raise JobError(
                f"this crawl was written by a newer version of webcrawler (format {version}, "
                f"this one reads up to {VERSION}): upgrade, or use another job folder"
            )
        if queues != self.queues:
            raise JobError(
                f"this crawl was started with FRONTIER_FRONT_QUEUES={queues}, not {self.queues}: "
                f"use that, or another job folder"
            )
        if version < VERSION:
            batch = self.kv.batch()
            batch.put(b"shape", _SHAPE.pack(VERSION, self.queues), self._handles["meta"])
            self.kv.write(batch)
        counts = meta.get(b"counts")
        if counts is not None:
            known, waiting, frozen, hosts, *ended = _COUNTS.unpack(
                counts.ljust(_COUNTS.size, b"\0")
            )
            self.counts = Counts(
                known, waiting, frozen, hosts, 0, dict(zip(OUTCOMES, ended, strict=True))
            )

    def _check_seen(self) -> None:
        """One URL-seen test for the whole crawl: the exact one knows nothing of the other's URLs.

        A Bloom filter that is new here (a checkpoint has none) learns what is known.
        """
        is_marked = self.kv.table("meta").get(b"bloom") is not None
        if self._bloom is None:
            if is_marked:
                raise JobError(
                    "this crawl was started with FRONTIER_BLOOM_URLS: use that, or another "
                    "job folder"
                )
            return
        if not is_marked:
            batch = self.kv.batch()
            batch.put(b"bloom", b"", self._handles["meta"])
            self.kv.write(batch)
        if self._bloom.is_fresh:
            ended = (_ID.unpack(key)[0] for key, _ in self.kv.table("pages").scan(b""))
            waiting = (record.fingerprint for _, record in self.waiting())
            for fingerprints in (ended, waiting):
                while chunk := list(islice(fingerprints, 1000)):
                    self._bloom.add_all(chunk)

    def _recover(self, restart: Callable[[Host], None]) -> None:
        leased = [key for key, _ in self.kv.table("leases").scan(b"")]
        leased += self._front.maybe_popped()
        for start in range(0, len(leased), 1000):
            batch = self.kv.batch()
            for key in leased[start : start + 1000]:
                batch.delete(key, self._handles["leases"])
                host = self._hosts.get(_ID.unpack(key)[0])
                if host is None:
                    continue
                restart(host)
                if not host.held_at:
                    self._stand(host, batch)
                self._hosts.write(host, batch)
            self._write(batch)

    def close(self) -> None:
        """Let go. Whoever has URLs in hand gives them back first, or they are fetched again."""
        try:
            if not self._hosts.active:
                batch = self.kv.batch()
                self._front.settle(batch)
                self.kv.write(batch)
        finally:
            if self._bloom is not None:
                self._bloom.close()
            self._handles.clear()
            self.kv.close()

    # -- hosts in memory

    def _write(self, batch: Any) -> None:
        self.kv.write(batch)
        self._hosts.trim()

    def _rest(self, host: Host, batch: Any) -> None:
        """Nothing of this host is in hand any more."""
        self._leave(host, batch)
        for queue in host.queues.values():
            queue.low = queue.head
        for k in [k for k, q in host.queues.items() if not q.stored and not q.is_queued]:
            del host.queues[k]
        self._hosts.rest(host)

    def _leave(self, host: Host, batch: Any) -> None:
        """Give up the places in the front queues that the host was taken from."""
        for k, queue in host.queues.items():
            if queue.place >= 0:
                self._front.leave(k, queue.place, batch)
                queue.place = -1

    def _write_counts(self, batch: Any) -> None:
        counts = self.counts
        row = _COUNTS.pack(
            counts.known, counts.waiting, counts.frozen, counts.hosts, *counts.ended.values()
        )
        batch.put(b"counts", row, self._handles["meta"])

    def _stand(self, host: Host, batch: Any) -> None:
        """Let a host that is free stand in every front queue it has URLs for."""
        if host.is_leased or host.held_at or host.is_frozen:
            return
        for k, queue in host.queues.items():
            if queue.unread and not queue.is_queued:
                queue.is_queued = True
                self._front.push(k, _ID.pack(host.id), batch)
                if queue.place >= 0:
                    self._front.leave(k, queue.place, batch)
                    queue.place = -1

    # -- the URL-seen test

    def unknown(self, fingerprints: Sequence[int]) -> list[bool]:
        new = self._unknown(fingerprints)
        return [fingerprint in new for fingerprint in fingerprints]

    def _unknown(self, fingerprints: Sequence[int]) -> set[int]:
        """Those that were never put."""
        asked = self._popular.missing(fingerprints)
        if not asked:
            return set()
        if self._bloom is not None:
            bloom = self._bloom
            return {fingerprint for fingerprint in asked if fingerprint not in bloom}
        pack = _ID.pack
        rows = self._seen.get_many([pack(fingerprint) for fingerprint in asked])
        pairs = list(zip(asked, rows, strict=True))
        self._popular.add_all([fingerprint for fingerprint, row in pairs if row is not None])
        return {fingerprint for fingerprint, row in pairs if row is None}

    # -- putting

    def put(self, records: Sequence[Record]) -> int:
        batch = self.kv.batch()
        new = self._add(records, batch, {})
        if new:
            self._write_all(batch, new)
        return len(new)

    def _write_all(self, batch: Any, new: Collection[int] = ()) -> None:
        self._write_counts(batch)
        self._write(batch)
        if self._bloom is not None and new:
            self._bloom.add_all(new)

    def _add(
        self, records: Sequence[Record], batch: Any, touched: dict[int, Host]
    ) -> Collection[int]:
        """Append the new ones to their hosts' queues; writes the rows of the touched hosts."""
        new: dict[int, Record] = {}
        if records:
            unknown = self._unknown([record.fingerprint for record in records])
            if unknown:
                new = {
                    record.fingerprint: record
                    for record in reversed(records)
                    if record.fingerprint in unknown
                }
                self._append(list(reversed(new.values())), batch, touched)
                self._popular.add_all(new)
                self.counts.known += len(new)
                self.counts.waiting += len(new)
        for host in touched.values():
            self._stand(host, batch)
            self._hosts.write(host, batch)
        return new

    def _append(self, records: Sequence[Record], batch: Any, touched: dict[int, Host]) -> None:
        """Give records their places at the ends of their hosts' queues.

        The rows of hosts at rest are written; the other hosts, and new ones, are added to
        `touched`, for the caller to write.
        """
        ids = [host_id(record.host) for record in records]
        hosts = self._hosts
        hosts.load({identity for identity in ids if identity not in touched})
        rows, changed = hosts.rows, set()
        put, pack_place, pack_id = batch.put, _PLACE.pack, _ID.pack
        queue_table = self._handles["queue"]
        seen_table = self._handles["seen"] if self._bloom is None else None
        for identity, record in zip(ids, records, strict=True):
            k = record.queue
            row = rows.get(identity) if identity not in touched else None
            appended = append_to_row(row, k) if row is not None else None
            if appended is not None:
                rows[identity], sequence, is_to_stand = appended
                changed.add(identity)
                if is_to_stand:
                    self._front.push(k, pack_id(identity), batch)
            else:
                host = touched.get(identity)
                if host is None:
                    host = hosts.get(identity)
                    if host is None:
                        host = Host(record.host, identity)
                        self.counts.hosts += 1
                    touched[identity] = host
                sequence = self._append_to(host, k)
            record.sequence = sequence
            place = pack_place(identity, k, sequence)
            put(place, record.pack(), queue_table)
            if seen_table is not None:
                put(pack_id(record.fingerprint), place, seen_table)
        for identity in changed:
            if identity not in touched:
                hosts.write_row(identity, batch)

    def _append_to(self, host: Host, k: int) -> int:
        queue = host.queues.get(k)
        if queue is None:
            queue = host.queues[k] = HostQueue()
        queue.tail += 1
        queue.stored += 1
        queue.unread += 1
        if host.is_frozen:
            self.counts.frozen += 1
        return queue.tail - 1

    # -- leasing

    def lease(self, order: Iterable[int], now: float, horizon: float) -> Host | None:
        front = self._front
        if not front.entries:
            return None
        batch = LazyBatch(self.kv)
        leased = None
        for k in order:
            while leased is None and front.is_filled(k):
                if front.is_dry(k):
                    self._hosts.load(_ID.unpack(key)[0] for key in front.read_ahead(k))
                host = self._take(k, batch)
                if host is None:
                    continue
                if host.next_at > now + horizon:
                    self._hold(host, batch)
                    continue
                host.is_leased = True
                self._hosts.activate(host)
                leased = host
            if leased is not None:
                break
        if batch.made is not None:
            self._write(batch.made)
        return leased

    def _take(self, k: int, batch: Any) -> Host | None:
        """The host at the head of front queue k, or None if that place turns out to be stale."""
        place, key = self._front.pop(k, batch)
        identity = _ID.unpack(key)[0]
        host = self._hosts.get(identity)
        queue = host.queues.get(k) if host is not None else None
        if host is None or queue is None:
            self._front.leave(k, place, batch)
            return None
        queue.is_queued = False
        queue.place = place
        if host.is_leased or host.held_at or host.is_frozen or not queue.unread:
            # It has its turn already, or must not have one; `_stand` brings it back in time.
            if identity not in self._hosts.active:
                self._leave(host, batch)
                self._hosts.write(host, batch)
            return None
        return host

    def _hold(self, host: Host, batch: Any) -> None:
        self._leave(host, batch)
        host.held_at = host.next_at
        self.held += 1
        key = _HELD.pack(host.held_at, host.id)
        batch.put(key, b"", self._handles["held"])
        self._held_from = min(self._held_from, key)
        if self._held_until is None or host.held_at < self._held_until:
            self._held_until = host.held_at
        self._hosts.write(host, batch)

    def held_until(self) -> float | None:
        return self._held_until

    def _first_held(self) -> float | None:
        for key, _ in self.kv.scan("held", self._held_from, b""):
            self._held_from = key
            until: float = _HELD.unpack(key)[0]
            return until
        return None

    def wake(self, now: float) -> None:
        if self._held_until is None or self._held_until > now:
            return
        batch = self.kv.batch()
        for key, _ in self.kv.scan("held", self._held_from, b""):
            at, identity = _HELD.unpack(key)
            if at > now:
                break
            batch.delete(key, self._handles["held"])
            self.held -= 1
            host = self._hosts.get(identity)
            if host is not None and host.held_at == at:
                host.held_at = 0.0
                self._stand(host, batch)
                self._hosts.write(host, batch)
        self._write(batch)
        self._held_until = self._first_held()

    def refill(self, host: Host, choice: Sequence[int]) -> list[Record]:
        wanted: dict[int, int] = {}
        for k in choice:
            wanted[k] = wanted.get(k, 0) + 1
        # Most often there are no gaps, and one read of the next places has them all.
        keys = [
            _PLACE.pack(host.id, k, sequence)
            for k, count in wanted.items()
            for sequence in range(host.queues[k].head, host.queues[k].head + count)
        ]
        rows = self._queue.get_many(keys)
        records: list[Record] = []
        at = 0
        for k, count in wanted.items():
            found = self._take_in_hand(host, k, rows[at : at + count])
            if len(found) < count:
                found += self._read(host, k, count - len(found))
            records += found
            at += count
        host.in_hand += len(records)
        self.counts.in_hand += len(records)
        return records

    def _take_in_hand(self, host: Host, k: int, rows: Sequence[bytes | None]) -> list[Record]:
        """Records of rows that follow each other, up to the first gap."""
        queue, in_hand, records = host.queues[k], self._in_hand, []
        for row in rows:
            if row is None:
                break
            record = Record.unpack(row, host.name, k, queue.head)
            queue.head += 1
            if record.fingerprint not in in_hand:
                in_hand.add(record.fingerprint)
                queue.unread -= 1
                records.append(record)
        return records

    def _read(self, host: Host, k: int, count: int) -> list[Record]:
        """The same across gaps: where URLs were dropped, or are in hand already."""
        queue = host.queues[k]
        records: list[Record] = []
        start = _PLACE.pack(host.id, k, queue.head)
        for key, value in self.kv.scan("queue", start, start[:9]):
            queue.head = _PLACE.unpack(key)[2]
            records += self._take_in_hand(host, k, [value])
            if len(records) == count:
                break
        return records

    def give_back(self, host: Host, records: Sequence[Record]) -> None:
        for record in records:
            queue = host.queues[record.queue]
            queue.head = min(queue.head, record.sequence)
            queue.unread += 1
            self._in_hand.discard(record.fingerprint)
        host.in_hand -= len(records)
        self.counts.in_hand -= len(records)

    def release(self, host: Host, now: float, horizon: float) -> None:
        host.is_leased = False
        if host.in_hand and not host.unread:
            # Nothing stands or is held, and the ending of what is in hand writes the row; but a
            # crash before that must not forget that the host asked for a long wait.
            if host.next_at > now + horizon:
                self.save(host)
            return
        batch = self.kv.batch()
        if not host.in_hand:
            self._rest(host, batch)
        if host.unread and not host.is_frozen and host.next_at > now + horizon:
            self._hold(host, batch)
        else:
            self._stand(host, batch)
            self._hosts.write(host, batch)
        self._write(batch)

    # -- ending

    @property
    def has_pending(self) -> bool:
        return self.counts.waiting > self.counts.frozen or self.counts.in_hand > 0

    def may_hand_out(self) -> bool:
        return True  # nobody else could have taken anything

    def has_lost_leases(self) -> bool:
        return False

    def done(self, ending: Ending, then: Callable[[bool], None] | None = None) -> None:
        record = ending.record
        batch = self.kv.batch()
        host = self._end(record, batch)
        if ending.outcome in PAGE_OUTCOMES:
            host.fetched += 1
        batch.put(_ID.pack(record.fingerprint), ending.pack_row(), self._handles["pages"])
        self.counts.ended[ending.outcome] += 1
        if ending.batch.writes:
            self._extend(ending.batch, batch)
        new: Collection[int] = ()
        if ending.links:
            new = self._add(ending.links, batch, {host.id: host})
        else:
            self._stand(host, batch)
            self._hosts.write(host, batch)
        self._write_all(batch, new)
        if then is not None:
            then(True)

    def _end(self, record: Record, batch: Any) -> Host:
        """Take a record in hand out of its queue."""
        host = self._hosts.active[host_id_again(record.host)]
        queue = host.queues[record.queue]
        batch.delete(_PLACE.pack(host.id, record.queue, record.sequence), self._handles["queue"])
        queue.stored -= 1
        if record.sequence == queue.low:
            queue.low += 1
        self.counts.waiting -= 1
        if host.is_frozen:
            self.counts.frozen -= 1
        self._let_go(host, record, batch)
        return host

    def _let_go(self, host: Host, record: Record, batch: Any) -> None:
        self._in_hand.discard(record.fingerprint)
        host.in_hand -= 1
        self.counts.in_hand -= 1
        if not host.in_hand and not host.is_leased:
            self._rest(host, batch)

    def retry(self, record: Record) -> None:
        batch = self.kv.batch()
        host = self._end(record, batch)
        self.counts.waiting += 1
        self._append([record], batch, {host.id: host})
        self._stand(host, batch)
        self._hosts.write(host, batch)
        self._write_all(batch)

    def drop(self, records: Sequence[Record], endings: Callable[[Record], Ending]) -> int:
        """End waiting URLs that are not in hand, atomically; how many."""
        batch = self.kv.batch()
        touched: dict[int, Host] = {}
        dropped = 0
        for record in records:
            identity = host_id(record.host)
            host = touched.get(identity) or self._hosts.get(identity)
            if host is None or record.fingerprint in self._in_hand:
                continue
            ending = endings(record)
            place = _PLACE.pack(host.id, record.queue, record.sequence)
            batch.delete(place, self._handles["queue"])
            batch.put(_ID.pack(record.fingerprint), ending.pack_row(), self._handles["pages"])
            queue = host.queues[record.queue]
            queue.stored -= 1
            queue.unread -= 1
            self.counts.waiting -= 1
            self.counts.ended[ending.outcome] += 1
            if host.is_frozen:
                self.counts.frozen -= 1
            touched[host.id] = host
            dropped += 1
        for host in touched.values():
            self._hosts.write(host, batch)
        self._write_all(batch)
        return dropped

    # -- side tables

    def _extend(self, side: Batch, batch: Any) -> None:
        for name, key, value in side.writes:
            handle = self._handles.get(name)
            if handle is None:
                handle = self._handles[name] = self.kv.handle(name)
            if value is None:
                batch.delete(key, handle)
            else:
                batch.put(key, value, handle)

    def commit(self, batch: Batch) -> None:
        writes = self.kv.batch()
        self._extend(batch, writes)
        self.kv.write(writes)

    def table(self, name: str) -> Table:
        return self.kv.table(name)

    # -- looking

    def find(self, fingerprint: int) -> Known | None:
        page = self.kv.table("pages").get(_ID.pack(fingerprint))
        place = self._seen.get(_ID.pack(fingerprint))
        record = self._record_at(place) if place is not None else None
        # A place is given to another URL once its host's queue has run empty.
        if record is not None and record.fingerprint == fingerprint:
            return Known(record=record, is_in_hand=fingerprint in self._in_hand)
        if page is not None:
            return Known(page=EndedPage.unpack(page))
        return None

    def _record_at(self, place: bytes) -> Record | None:
        row = self._queue.get(place)
        if row is None:
            return None
        identity, k, sequence = _PLACE.unpack(place)
        host = self._hosts.get(identity)
        return Record.unpack(row, host.name if host else "", k, sequence)

    def url_of(self, fingerprint: int) -> str | None:
        known = self.find(fingerprint)
        if known is None:
            return None
        return known.record.url if known.record else known.page.url if known.page else None

    def host(self, name: str) -> Host | None:
        return self._hosts.get(host_id(name))

    def hosts(self) -> Iterator[Host]:
        return iter(self._hosts)

    def waiting(
        self, host: Host | None = None, after: bytes = b""
    ) -> Iterator[tuple[bytes, Record]]:
        """Waiting records, of one host or all, with the key to go on from."""
        prefix = _ID.pack(host.id) if host is not None else b""
        for key, value in self.kv.scan("queue", max(after, prefix), prefix):
            identity, k, sequence = _PLACE.unpack(key)
            owner = host if host is not None else self._hosts.get(identity)
            yield key, Record.unpack(value, owner.name if owner else "", k, sequence)

    def is_in_hand(self, record: Record) -> bool:
        return record.fingerprint in self._in_hand

    def freeze(
        self, host: Host, *, blocked: bool | None = None, exhausted: bool | None = None
    ) -> None:
        before = host.stored if host.is_frozen else 0
        if blocked is not None:
            host.is_blocked = blocked
        if exhausted is not None:
            host.is_exhausted = exhausted
        self.counts.frozen += (host.stored if host.is_frozen else 0) - before
        batch = self.kv.batch()
        self._stand(host, batch)
        self._hosts.write(host, batch)
        self._write_all(batch)

    def save(self, host: Host) -> None:
        batch = self.kv.batch()
        self._hosts.write(host, batch)
        self._write(batch)

    def front_sizes(self) -> list[int]:
        return self._front.sizes()
