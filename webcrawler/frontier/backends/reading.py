"""What is to be known of an embedded store: its parts, and every question that changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webcrawler.frontier.backends.front import FrontQueues
from webcrawler.frontier.backends.held import HeldHosts
from webcrawler.frontier.backends.host_table import HostTable
from webcrawler.frontier.backends.layout import (
    ID,
    OWN_TABLES,
    PLACE,
    check_shape,
    read_counts,
)
from webcrawler.frontier.backends.seen_test import SeenTest
from webcrawler.frontier.backends.shelves import Shelves
from webcrawler.frontier.ending import EndedPage
from webcrawler.frontier.host import Host, host_id
from webcrawler.frontier.store import Known

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webcrawler.frontier.backends.kv import KV
    from webcrawler.frontier.record import Record
    from webcrawler.frontier.seen import BloomFilter
    from webcrawler.tables import Table


class StoreReader:
    """The parts of an embedded store, opened and checked."""

    def __init__(
        self, kv: KV, queues: int, popular: int, cached_hosts: int, bloom: BloomFilter | None
    ) -> None:
        self.kv = kv
        self.queues = queues
        check_shape(kv, queues)
        self.counts = read_counts(kv)
        # All handles in one place: the engine is not let go before the last of them.
        self._handles: dict[str, Any] = {name: kv.handle(name) for name in OWN_TABLES}
        self._hosts = HostTable(kv, self._handles, cached_hosts)
        self._shelves = Shelves(kv, self._handles)
        self._seen = SeenTest(kv, popular, bloom)
        if self._seen.has_to_learn:
            self._seen.learn(ID.unpack(key)[0] for key, _ in kv.table("pages").scan(b""))
            self._seen.learn(record.fingerprint for _, record in self.waiting())
        self._front = FrontQueues(kv, self._handles, queues)
        self._held = HeldHosts(kv, self._handles)

    # -- how much there is

    @property
    def has_pending(self) -> bool:
        return self.counts.waiting > self.counts.frozen or self.counts.in_hand > 0

    @property
    def held(self) -> int:
        return self._held.number

    def held_until(self) -> float | None:
        return self._held.until

    def front_sizes(self) -> list[int]:
        return self._front.sizes()

    def may_hand_out(self) -> bool:
        return True  # nobody else could have taken anything

    def has_lost_leases(self) -> bool:
        return False

    # -- URLs

    def unknown(self, fingerprints: Sequence[int]) -> list[bool]:
        new = self._seen.unknown(fingerprints)
        return [fingerprint in new for fingerprint in fingerprints]

    def find(self, fingerprint: int) -> Known | None:
        page = self.kv.table("pages").get(ID.pack(fingerprint))
        place = self._seen.place(fingerprint)
        record = self._record_at(place) if place is not None else None
        # A place is given to another URL once its host's queue has run empty.
        if record is not None and record.fingerprint == fingerprint:
            return Known(record=record, is_in_hand=self.is_in_hand(record))
        if page is not None:
            return Known(page=EndedPage.unpack(page))
        return None

    def _record_at(self, place: bytes) -> Record | None:
        identity, k, sequence = PLACE.unpack(place)
        host = self._hosts.get(identity)
        return None if host is None else self._shelves.look(host, k, sequence)

    def url_of(self, fingerprint: int) -> str | None:
        known = self.find(fingerprint)
        if known is None:
            return None
        return known.record.url if known.record else known.page.url if known.page else None

    def is_in_hand(self, record: Record) -> bool:
        return record.fingerprint in self._shelves.in_hand

    def waiting(
        self, host: Host | None = None, after: bytes = b""
    ) -> Iterator[tuple[bytes, Record]]:
        """Waiting records, of one host or all, with the key to go on from."""
        owners = [host] if host is not None else self._hosts.since(after[: ID.size])
        for owner in owners:
            prefix = ID.pack(owner.id)
            start = after[ID.size :] if after.startswith(prefix) else b""
            for place, record in self._shelves.of(owner, start):
                yield prefix + place, record

    # -- hosts and other tables

    def host(self, name: str) -> Host | None:
        return self._hosts.get(host_id(name))

    def hosts(self) -> Iterator[Host]:
        return self._hosts.since(b"")

    def table(self, name: str) -> Table:
        return self.kv.table(name)
