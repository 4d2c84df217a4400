"""RobotsCache: parsed rules in memory, in front of the entries in the crawl's store."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from webcrawler.robots.entry import RobotsEntry

if TYPE_CHECKING:
    from webcrawler.robots.rules import RobotsRules
    from webcrawler.tables import Batch, Table

TABLE = "robots"
_DEFAULT_PORTS = {"http": "80", "https": "443"}


def authority_of(url: str) -> str:
    """scheme://host:port, always with the port: what one robots.txt speaks for.

    The URL is absolute and normalised. User name and password are no part of it.
    """
    scheme, _, rest = url.partition("://")
    host = rest
    for end in "/?#":
        host = host.partition(end)[0]
    host = host.rpartition("@")[2].lower()
    scheme = scheme.lower()
    name, colon, port = host.rpartition(":")
    if not colon or not port.isdigit():
        name, port = host.removesuffix(":"), _DEFAULT_PORTS.get(scheme, "")
    return f"{scheme}://{name}:{port}"


def robots_url(authority: str) -> str:
    """Where the robots.txt of an authority is."""
    scheme, _, host = authority.partition("://")
    return f"{scheme}://{host.removesuffix(':' + _DEFAULT_PORTS.get(scheme, ''))}/robots.txt"


class CachedRobots(NamedTuple):
    """An entry and its rules, parsed once. The entry may be stale: ask `entry.is_fresh`."""

    entry: RobotsEntry
    rules: RobotsRules


class RobotsCache:
    """The least recently used rules leave memory first; the store keeps every entry.

    `capacity` is in bytes, by the rules' own upper estimate. Reading a table that answers at
    once is `get`; where reading is asynchronous, ask `peek`, read `key` and give the value to
    `load`. Nothing is written here but to the batch the caller commits.
    """

    def __init__(self, capacity: int, table: Table | None = None) -> None:
        self._capacity = capacity
        self._table = table
        self._robots: OrderedDict[str, CachedRobots] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return len(self._robots)

    @property
    def size(self) -> int:
        """Bytes in memory, by estimate; never above the capacity."""
        return self._size

    @staticmethod
    def key(authority: str) -> bytes:
        return authority.encode("utf-8", "replace")

    def peek(self, authority: str) -> CachedRobots | None:
        """What memory holds, fresh or stale; None where only the store can know."""
        robots = self._robots.get(authority)
        if robots is not None:
            self._robots.move_to_end(authority)
        return robots

    def get(self, authority: str, now: float) -> CachedRobots | None:
        """What memory or the table holds; None where this authority was never asked.

        A stale entry in memory is looked up again: another worker may have fetched since.
        """
        robots = self.peek(authority)
        if (robots is None or not robots.entry.is_fresh(now)) and self._table is not None:
            return self.load(authority, self._table.get(self.key(authority)))
        return robots

    def load(self, authority: str, raw: bytes | None) -> CachedRobots | None:
        """Take what was read from the table, unless memory has a newer one."""
        entry = None if raw is None else RobotsEntry.unpack(raw)
        known = self._robots.get(authority)
        if entry is None or (known is not None and known.entry.expires_at >= entry.expires_at):
            return known
        return self._keep(authority, entry)

    def put(self, authority: str, entry: RobotsEntry, batch: Batch) -> CachedRobots:
        """Keep a new entry, in memory now and in the store with the batch."""
        batch.put(TABLE, self.key(authority), entry.pack())
        return self._keep(authority, entry)

    def _keep(self, authority: str, entry: RobotsEntry) -> CachedRobots:
        old = self._robots.pop(authority, None)
        if old is not None:
            self._size -= old.rules.size
        robots = CachedRobots(entry, entry.rules())
        if robots.rules.size <= self._capacity:
            self._robots[authority] = robots
            self._size += robots.rules.size
            while self._size > self._capacity:
                _, oldest = self._robots.popitem(last=False)
                self._size -= oldest.rules.size
        return robots
