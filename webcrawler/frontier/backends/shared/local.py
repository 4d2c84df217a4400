"""What only one worker needs, in a store of its own: archive and index tables.

Redis decides whether a page's ending stands, and the two stores have no commit in common. So the
rows are written first, together with a promise that names them; then Redis is asked. If it agrees
the promise is forgotten, with the next rows that are written; if it refuses the rows are removed. A
promise that is found at a start was given by a process that died before it heard: Redis is asked
who ended the page.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from webcrawler.frontier.backends.shared.keys import FINGERPRINT
from webcrawler.tables import Batch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webcrawler.frontier.backends.kv import KV
    from webcrawler.frontier.ending import Ending
    from webcrawler.tables import Table

WORKER = "worker"  # what the worker must know of itself
PROMISES = "promises"
PAGES = "pages"  # how kept pages ended that do not belong into an index
_ENDED = struct.Struct(">Q")  # its key, as in an embedded frontier
_PARTITION = struct.Struct("<H")
_INDEXED = ("stored", "not_modified")
_SIZES = struct.Struct("<BH")


class LocalRows:
    """See the module. Promises are for the event loop's thread; `write` is for every thread."""

    def __init__(self, kv: KV, names: Iterable[str]) -> None:
        self._kv = kv
        self.names = frozenset(names)
        self._handles = {name: kv.handle(name) for name in self.names}
        self._kept: list[bytes] = []

    def table(self, name: str) -> Table:
        return self._kv.table(name)

    def write(self, batch: Batch) -> None:
        if not batch:
            return
        writes = self._kv.batch()
        for table, key, value in batch.writes:
            if value is None:
                writes.delete(key, self._handles[table])
            else:
                writes.put(key, value, self._handles[table])
        self._kv.write(writes)

    def note_ending(self, ending: Ending, batch: Batch) -> None:
        """Of what is kept of a page, say that it is a copy, say, for whoever builds an index."""
        if batch and ending.outcome not in _INDEXED:
            batch.put(PAGES, _ENDED.pack(ending.record.fingerprint), ending.pack_row())

    def promise(self, fingerprint: int, partition: int, batch: Batch) -> None:
        """Write a page's rows, to be kept or undone when Redis has answered."""
        if not batch:
            return
        self._forget(batch)
        named = b"".join(
            _SIZES.pack(len(table), len(key)) + table.encode() + key
            for table, key, value in batch.writes
            if value is not None
        )
        batch.put(PROMISES, FINGERPRINT.pack(fingerprint), _PARTITION.pack(partition) + named)
        self.write(batch)

    def keep(self, fingerprint: int) -> None:
        """The page's ending stands."""
        self._kept.append(FINGERPRINT.pack(fingerprint))

    def undo(self, fingerprint: int) -> None:
        """The page's ending does not stand: its rows go."""
        key = FINGERPRINT.pack(fingerprint)
        row = self.table(PROMISES).get(key)
        if row is None:
            return
        batch = Batch()
        at = _PARTITION.size
        while at < len(row):
            name_size, key_size = _SIZES.unpack_from(row, at)
            at += _SIZES.size
            name = row[at : at + name_size].decode()
            at += name_size
            batch.delete(name, row[at : at + key_size])
            at += key_size
        batch.delete(PROMISES, key)
        self.write(batch)

    def promised(self) -> list[tuple[int, int]]:
        """Fingerprint and partition of the pages of which nothing was heard."""
        return [
            (FINGERPRINT.unpack(key)[0], _PARTITION.unpack_from(row)[0])
            for key, row in self.table(PROMISES).scan()
        ]

    def close(self) -> None:
        batch = Batch()
        self._forget(batch)
        self.write(batch)
        self._handles.clear()
        self._kv.close()

    def _forget(self, batch: Batch) -> None:
        for key in self._kept:
            batch.delete(PROMISES, key)
        self._kept.clear()
