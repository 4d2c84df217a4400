"""The embedded store: the frontier's state in tables of a key-value engine (see `layout`).

A record leaves `queue` only in the commit that ends it, and a host leaves `front` only in one that
ends its last or lets it stand anew, so whatever a crash interrupts is still there, and taking
things in hand writes nothing. What is in hand is known in memory only; after a crash the clocks of
the hosts that were, which is to say of those in the reserved part of the front queues, are set as
if their last fetch had just ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webcrawler.frontier.backends.kv import LazyBatch
from webcrawler.frontier.backends.layout import ID, PLACE_ON_SHELF, write_counts
from webcrawler.frontier.backends.reading import StoreReader
from webcrawler.frontier.ending import PAGE_OUTCOMES
from webcrawler.frontier.host import Host, HostQueue, append_to_row, host_id, host_id_again

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from webcrawler.frontier.backends.kv import KV
    from webcrawler.frontier.ending import Ending
    from webcrawler.frontier.record import Record
    from webcrawler.frontier.seen import BloomFilter
    from webcrawler.tables import Batch


class EmbeddedStore(StoreReader):
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
        super().__init__(kv, queues, popular, cached_hosts, bloom)
        self._recover(restart)

    # -- opening and closing

    def _recover(self, restart: Callable[[Host], None]) -> None:
        leased = [key for key, _ in self.kv.table("leases").scan(b"")]
        leased += self._front.maybe_popped()
        for start in range(0, len(leased), 1000):
            batch = self.kv.batch()
            for key in leased[start : start + 1000]:
                batch.delete(key, self._handles["leases"])
                host = self._hosts.get(ID.unpack(key)[0])
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
            self._seen.close()
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

    def _stand(self, host: Host, batch: Any) -> None:
        """Let a host that is free stand in every front queue it has URLs for."""
        if host.is_leased or host.held_at or host.is_frozen:
            return
        for k, queue in host.queues.items():
            if queue.unread and not queue.is_queued:
                queue.is_queued = True
                self._front.push(k, ID.pack(host.id), batch)
                if queue.place >= 0:
                    self._front.leave(k, queue.place, batch)
                    queue.place = -1

    # -- putting

    def put(self, records: Sequence[Record]) -> int:
        batch = self.kv.batch()
        new = self._add(records, batch, {})
        if new:
            self._write_all(batch, new)
        return len(new)

    def _write_all(self, batch: Any, new: Collection[int] = ()) -> None:
        write_counts(self.counts, batch, self._handles["meta"])
        self._write(batch)
        self._seen.confirm(new)

    def _add(
        self, records: Sequence[Record], batch: Any, touched: dict[int, Host]
    ) -> Collection[int]:
        """Append the new ones to their hosts' queues; writes the rows of the touched hosts."""
        new: dict[int, Record] = {}
        if records:
            unknown = self._seen.unknown([record.fingerprint for record in records])
            for record in records if unknown else ():
                if record.fingerprint in unknown:
                    new.setdefault(record.fingerprint, record)
            if new:
                self._append(new.values(), batch, touched)
                self._seen.note(new)
                self.counts.known += len(new)
                self.counts.waiting += len(new)
        for host in touched.values():
            self._stand(host, batch)
            self._hosts.write(host, batch)
        return new

    def _append(self, records: Collection[Record], batch: Any, touched: dict[int, Host]) -> None:
        """Give records their places at the ends of their hosts' queues.

        The rows of hosts at rest are written; the other hosts, and new ones, are added to
        `touched`, for the caller to write.
        """
        ids = [host_id(record.host) for record in records]
        hosts = self._hosts
        hosts.load(ids)
        rows, changed = hosts.rows, set()
        put, pack_place, pack_id = batch.put, PLACE_ON_SHELF.pack, ID.pack
        queue_table = self._handles["queue"]
        seen_table = self._handles["seen"] if self._seen.is_exact else None
        for identity, record in zip(ids, records, strict=True):
            k = record.queue
            row = rows.get(identity) if identity not in touched else None
            appended = append_to_row(row, k) if row is not None else None
            host_key = pack_id(identity)
            if appended is not None:
                rows[identity], shelf, sequence, is_to_stand = appended
                changed.add(identity)
                if is_to_stand:
                    self._front.push(k, host_key, batch)
            else:
                host = touched.get(identity)
                if host is None:
                    host = touched[identity] = self._met(record.host, identity)
                shelf = pack_id(host.shelf)
                sequence = self._append_to(host, k)
            record.sequence = sequence
            place = pack_place(k, sequence)
            put(shelf + place, record.pack(), queue_table)
            if seen_table is not None:
                put(pack_id(record.fingerprint), host_key + place, seen_table)
        for identity in changed:
            if identity not in touched:
                hosts.write_row(identity, batch)

    def _met(self, name: str, identity: int) -> Host:
        """A host, which may be new: then it gets the next shelf."""
        host = self._hosts.get(identity)
        if host is None:
            self.counts.hosts += 1
            host = Host(name, identity, self.counts.hosts)
        return host

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
                    self._hosts.load([ID.unpack(key)[0] for key in front.read_ahead(k)])
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
        identity = ID.unpack(key)[0]
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
        self._held.add(host.held_at, host.id, batch)
        self._hosts.write(host, batch)

    def wake(self, now: float) -> None:
        until = self._held.until
        if until is None or until > now:
            return
        batch = self.kv.batch()
        for at, identity in self._held.take(now, batch):
            host = self._hosts.get(identity)
            if host is not None and host.held_at == at:
                host.held_at = 0.0
                self._stand(host, batch)
                self._hosts.write(host, batch)
        self._write(batch)
        self._held.look()

    def refill(self, host: Host, choice: Sequence[int]) -> list[Record]:
        records = self._shelves.take(host, choice)
        host.in_hand += len(records)
        self.counts.in_hand += len(records)
        return records

    def give_back(self, host: Host, records: Sequence[Record]) -> None:
        self._shelves.give_back(host, records)
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

    def done(self, ending: Ending, then: Callable[[bool], None] | None = None) -> None:
        record = ending.record
        batch = self.kv.batch()
        host = self._end(record, batch)
        if ending.outcome in PAGE_OUTCOMES:
            host.fetched += 1
        batch.put(ID.pack(record.fingerprint), ending.pack_row(), self._handles["pages"])
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
        self._shelves.delete(host, record, batch)
        queue.stored -= 1
        if record.sequence == queue.low:
            queue.low += 1
        self.counts.waiting -= 1
        if host.is_frozen:
            self.counts.frozen -= 1
        self._let_go(host, record, batch)
        return host

    def _let_go(self, host: Host, record: Record, batch: Any) -> None:
        self._shelves.in_hand.discard(record.fingerprint)
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
            if host is None or record.fingerprint in self._shelves.in_hand:
                continue
            ending = endings(record)
            self._shelves.delete(host, record, batch)
            batch.put(ID.pack(record.fingerprint), ending.pack_row(), self._handles["pages"])
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

    # -- by hand

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
