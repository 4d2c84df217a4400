"""The front queues of an embedded store: FIFOs of hosts, on disk."""

from __future__ import annotations

import struct
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawler.frontier.backends.kv import KV

_KEY = struct.Struct(">BQ")
_READ_AHEAD = 256
_RESERVED_AHEAD = 32


class FrontQueues:
    """Queues 1..F of host ids.

    Popping is known in memory only: a place stays on disk until its host comes to rest or stands
    anew, so a host in hand needs no row that says so. What tells it after a crash is how far each
    queue is *reserved*: nothing beyond was popped. That mark is written before the first
    pop beyond it, and is set some places ahead, so that most pops write nothing.

    Reads start at the known head: what is before it is never walked over.
    """

    def __init__(self, kv: KV, handles: dict[str, Any], queues: int) -> None:
        self._kv = kv
        self._handles = handles
        self._marks = struct.Struct(f">{queues + 1}Q")
        marks = kv.table("meta").get(b"reserved")
        self._reserved = [0] * (queues + 1) if marks is None else list(self._marks.unpack(marks))
        self._gaps_until = self._reserved.copy()  # beyond, no place is missing
        self._head = self._reserved.copy()
        self._tail = self._reserved.copy()
        self._ahead: list[deque[tuple[int, bytes]]] = [deque() for _ in range(queues + 1)]
        self._sizes = [0] * (queues + 1)
        for k in range(1, queues + 1):
            prefix = bytes([k])
            last = kv.last("front", prefix)
            if last is None:
                continue
            first, _ = next(kv.scan("front", prefix, prefix))
            self._head[k] = _KEY.unpack(first)[1]
            self._tail[k] = max(_KEY.unpack(last)[1] + 1, self._reserved[k])
            popped = sum(1 for _ in self._below_mark(k))
            self._sizes[k] = popped + self._tail[k] - max(self._head[k], self._reserved[k])
        self.entries = sum(self._sizes)

    def _below_mark(self, k: int) -> Iterator[bytes]:
        start = _KEY.pack(k, self._head[k])
        for key, host_key in self._kv.scan("front", start, start[:1]):
            if _KEY.unpack(key)[1] >= self._reserved[k]:
                return
            yield host_key

    def maybe_popped(self) -> list[bytes]:
        """After opening: the keys of all hosts that may have been in hand, each once."""
        queues = range(1, len(self._head))
        return list(dict.fromkeys(key for k in queues for key in self._below_mark(k)))

    def sizes(self) -> list[int]:
        return self._sizes[1:]

    def is_filled(self, k: int) -> bool:
        return self._sizes[k] > 0

    def push(self, k: int, host_key: bytes, batch: Any) -> None:
        batch.put(_KEY.pack(k, self._tail[k]), host_key, self._handles["front"])
        ahead = self._ahead[k]
        if len(ahead) == self._sizes[k] < _READ_AHEAD:
            ahead.append((self._tail[k], host_key))  # all of a short queue is in memory
        self._tail[k] += 1
        self._sizes[k] += 1
        self.entries += 1

    def is_dry(self, k: int) -> bool:
        """Whether the next entries are on disk only."""
        return not self._ahead[k]

    def read_ahead(self, k: int) -> list[bytes]:
        """Read the next entries from disk; the keys of their hosts."""
        start = _KEY.pack(k, self._head[k])
        rows = islice(self._kv.scan("front", start, start[:1]), _READ_AHEAD)
        self._ahead[k].extend((_KEY.unpack(key)[1], host_key) for key, host_key in rows)
        return [host_key for _, host_key in self._ahead[k]]

    def pop(self, k: int, batch: Any) -> tuple[int, bytes]:
        """The place at the head and its host's key; the queue must be filled and not dry."""
        place, host_key = self._ahead[k].popleft()
        self._head[k] = place + 1
        self._sizes[k] -= 1
        self.entries -= 1
        if place >= self._reserved[k]:
            self._reserved[k] = min(place + _RESERVED_AHEAD, self._tail[k])
            self._write_marks(batch)
        return place, host_key

    def leave(self, k: int, place: int, batch: Any) -> None:
        """Delete the place of a host that was popped."""
        batch.delete(_KEY.pack(k, place), self._handles["front"])

    def settle(self, batch: Any) -> None:
        """Nothing is in hand any more: the marks go back to the heads, but not before a gap."""
        self._reserved = list(map(max, self._head, self._gaps_until))
        self._write_marks(batch)

    def _write_marks(self, batch: Any) -> None:
        batch.put(b"reserved", self._marks.pack(*self._reserved), self._handles["meta"])
