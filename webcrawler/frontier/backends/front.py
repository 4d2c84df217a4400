"""The front queues of an embedded store: FIFOs of hosts, on disk."""

from __future__ import annotations

import struct
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webcrawler.frontier.backends.kv import KV

_KEY = struct.Struct(">BQ")
_READ_AHEAD = 256


class FrontQueues:
    """Queues 1..F of host ids. Entries leave only at the head, so a queue has no holes.

    Reads start at the known head: rows deleted before it are never walked over.
    """

    def __init__(self, kv: KV, handles: dict[str, Any], queues: int) -> None:
        self._kv = kv
        self._handles = handles
        self._head = [0] * (queues + 1)
        self._tail = [0] * (queues + 1)
        self._ahead: list[deque[bytes]] = [deque() for _ in range(queues + 1)]
        for k in range(1, queues + 1):
            prefix = bytes([k])
            last = kv.last("front", prefix)
            if last is not None:
                first, _ = next(kv.scan("front", prefix, prefix))
                self._head[k] = _KEY.unpack(first)[1]
                self._tail[k] = _KEY.unpack(last)[1] + 1
        self.entries = sum(self.sizes())

    def sizes(self) -> list[int]:
        return [tail - head for head, tail in zip(self._head[1:], self._tail[1:], strict=True)]

    def is_filled(self, k: int) -> bool:
        return self._head[k] < self._tail[k]

    def push(self, k: int, host_key: bytes, batch: Any) -> None:
        batch.put(_KEY.pack(k, self._tail[k]), host_key, self._handles["front"])
        ahead = self._ahead[k]
        if len(ahead) == self._tail[k] - self._head[k] < _READ_AHEAD:
            ahead.append(host_key)  # all of a short queue is in memory
        self._tail[k] += 1
        self.entries += 1

    def is_dry(self, k: int) -> bool:
        """Whether the next entries are on disk only."""
        return not self._ahead[k]

    def read_ahead(self, k: int) -> Sequence[bytes]:
        """Read the next entries from disk; the keys of their hosts."""
        start = _KEY.pack(k, self._head[k])
        rows = self._kv.scan("front", start, start[:1])
        self._ahead[k].extend(host_key for _, host_key in islice(rows, _READ_AHEAD))
        return self._ahead[k]

    def pop(self, k: int, batch: Any) -> bytes:
        """The key of the host at the head; the queue must be filled and not dry."""
        batch.delete(_KEY.pack(k, self._head[k]), self._handles["front"])
        self._head[k] += 1
        self.entries -= 1
        return self._ahead[k].popleft()
