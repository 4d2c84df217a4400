"""The held hosts of an embedded store, by the time until which they are."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawler.frontier.backends.kv import KV

_KEY = struct.Struct(">dQ")  # time, host id


class HeldHosts:
    """Reads start at the first known key: what was deleted before it is never walked over."""

    def __init__(self, kv: KV, handles: dict[str, Any]) -> None:
        self._kv = kv
        self._handles = handles
        self._first = b""
        self.number = sum(1 for _ in kv.table("held").scan(b""))
        self.until: float | None = None  # the earliest time
        self.look()

    def add(self, until: float, identity: int, batch: Any) -> None:
        key = _KEY.pack(until, identity)
        batch.put(key, b"", self._handles["held"])
        self.number += 1
        self._first = min(self._first, key)
        if self.until is None or until < self.until:
            self.until = until

    def take(self, now: float, batch: Any) -> Iterator[tuple[float, int]]:
        """Time and id of those whose time has come; they are deleted. `look` after the commit."""
        for key, _ in self._kv.scan("held", self._first, b""):
            until, identity = _KEY.unpack(key)
            if until > now:
                return
            batch.delete(key, self._handles["held"])
            self.number -= 1
            yield until, identity

    def look(self) -> None:
        """Find the earliest."""
        self.until = None
        for key, _ in self._kv.scan("held", self._first, b""):
            self._first = key
            self.until = _KEY.unpack(key)[0]
            return
