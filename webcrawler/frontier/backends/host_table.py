"""The host table of an embedded store: objects for hosts in hand, packed rows for the others."""

from __future__ import annotations

import struct
from itertools import islice
from typing import TYPE_CHECKING, Any

from webcrawler.frontier.host import Host

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webcrawler.frontier.backends.kv import KV

_ID = struct.Struct(">Q")


class HostTable:
    """Hosts by id.

    `active` are the hosts that are leased or have URLs in hand: one object each, which all
    share. Of the others the newest `size` rows are kept packed: a row is a tenth of an object, is
    nothing to the garbage collector, and a put changes a few bytes of it. A host that
    is not active and is changed must be written before it is asked for again.
    """

    def __init__(self, kv: KV, handles: dict[str, Any], size: int) -> None:
        self.active: dict[int, Host] = {}
        self.rows: dict[int, bytes] = {}
        self._kv = kv
        self._table = kv.table("hosts")
        self._handles = handles
        self._size = size

    def get(self, identity: int) -> Host | None:
        host = self.active.get(identity)
        if host is not None:
            return host
        row = self.rows.get(identity)
        if row is None:
            row = self._table.get(_ID.pack(identity))
            if row is None:
                return None
            self.rows[identity] = row
        return Host.unpack(row, identity)

    def load(self, identities: Sequence[int]) -> None:
        """Bring the rows of those of these that are known into memory, by one read."""
        active, rows = self.active, self.rows
        absent = [i for i in identities if i not in rows and i not in active]
        if not absent:
            return
        found = self._table.get_many([_ID.pack(identity) for identity in absent])
        for identity, row in zip(absent, found, strict=True):
            if row is not None:
                rows[identity] = row

    def activate(self, host: Host) -> None:
        self.rows.pop(host.id, None)
        self.active[host.id] = host

    def rest(self, host: Host) -> None:
        """The host is no longer active; its row is to be written."""
        self.active.pop(host.id, None)

    def write(self, host: Host, batch: Any) -> None:
        row = host.pack()
        if host.id not in self.active:
            self.rows[host.id] = row
        batch.put(_ID.pack(host.id), row, self._handles["hosts"])

    def write_row(self, identity: int, batch: Any) -> None:
        """Write a row that was changed as it is."""
        batch.put(_ID.pack(identity), self.rows[identity], self._handles["hosts"])

    def trim(self) -> None:
        """Forget the oldest rows. Only after a commit: before, they may be newer than disk."""
        rows = self.rows
        if len(rows) > self._size:
            for identity in list(islice(rows, len(rows) - self._size * 9 // 10)):
                del rows[identity]

    def since(self, first: bytes) -> Iterator[Host]:
        """Every host that was ever met, in the order of their ids, from that one on."""
        for key, row in self._kv.scan("hosts", first, b""):
            identity = _ID.unpack(key)[0]
            yield self.active.get(identity) or Host.unpack(row, identity)
