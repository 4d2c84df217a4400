"""The waiting URLs of an embedded store: each host's on its shelf, and which are in hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webcrawler.frontier.backends.layout import ID, PLACE, PLACE_ON_SHELF
from webcrawler.frontier.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webcrawler.frontier.backends.kv import KV
    from webcrawler.frontier.host import Host


class Shelves:
    """The table `queue`. `in_hand` are the fingerprints of what was taken and not given back."""

    def __init__(self, kv: KV, handles: dict[str, Any]) -> None:
        self._kv = kv
        self._table = kv.table("queue")
        self._handles = handles
        self.in_hand: set[int] = set()

    def take(self, host: Host, choice: Sequence[int]) -> list[Record]:
        """The next URLs: one for each front queue number in `choice`."""
        wanted: dict[int, int] = {}
        for k in choice:
            wanted[k] = wanted.get(k, 0) + 1
        # Most often there are no gaps, and one read of the next places has them all.
        shelf, queues, pack = host.shelf, host.queues, PLACE.pack
        rows = self._table.get_many(
            [
                pack(shelf, k, sequence)
                for k, count in wanted.items()
                for sequence in range(queues[k].head, queues[k].head + count)
            ]
        )
        records: list[Record] = []
        at = 0
        for k, count in wanted.items():
            found = self._take_rows(host, k, rows[at : at + count])
            if len(found) < count:
                found += self._take_beyond_gaps(host, k, count - len(found))
            records += found
            at += count
        return records

    def _take_rows(self, host: Host, k: int, rows: Sequence[bytes | None]) -> list[Record]:
        """Records of rows that follow each other, up to the first gap."""
        queue, in_hand, records = host.queues[k], self.in_hand, []
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

    def _take_beyond_gaps(self, host: Host, k: int, count: int) -> list[Record]:
        """The same where URLs were dropped, or are in hand already."""
        queue = host.queues[k]
        records: list[Record] = []
        start = PLACE.pack(host.shelf, k, queue.head)
        for key, value in self._kv.scan("queue", start, start[:9]):
            queue.head = PLACE.unpack(key)[2]
            records += self._take_rows(host, k, [value])
            if len(records) == count:
                break
        return records

    def give_back(self, host: Host, records: Sequence[Record]) -> None:
        for record in records:
            queue = host.queues[record.queue]
            queue.head = min(queue.head, record.sequence)
            queue.unread += 1
            self.in_hand.discard(record.fingerprint)

    def delete(self, host: Host, record: Record, batch: Any) -> None:
        key = PLACE.pack(host.shelf, record.queue, record.sequence)
        batch.delete(key, self._handles["queue"])

    def look(self, host: Host, k: int, sequence: int) -> Record | None:
        row = self._table.get(PLACE.pack(host.shelf, k, sequence))
        return None if row is None else Record.unpack(row, host.name, k, sequence)

    def of(self, host: Host, after: bytes = b"") -> Iterator[tuple[bytes, Record]]:
        """A host's records in the order of their places, from that place on, with their places."""
        prefix = ID.pack(host.shelf)
        for key, value in self._kv.scan("queue", prefix + after, prefix):
            place = key[ID.size :]
            yield place, Record.unpack(value, host.name, *PLACE_ON_SHELF.unpack(place))
