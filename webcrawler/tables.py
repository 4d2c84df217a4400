"""Side tables: what other parts of a crawl keep in the frontier's store, bytes to bytes.

Reading is direct. Writing never is: writes are collected in a `Batch` that belongs to a page
and are committed atomically with that page's ending, so that a crash leaves either all of a
page's traces or none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Table(Protocol):
    """One named key-value table."""

    def get(self, key: bytes) -> bytes | None:
        """The value, or None where the key is not there."""

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values of many keys in one call, in their order."""

    def scan(self, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Every pair whose key starts with the prefix, in key order."""


class Batch:
    """Writes to several tables, to be committed together and in order."""

    __slots__ = ("writes",)

    def __init__(self) -> None:
        self.writes: list[tuple[str, bytes, bytes | None]] = []

    def put(self, table: str, key: bytes, value: bytes) -> None:
        self.writes.append((table, key, value))

    def delete(self, table: str, key: bytes) -> None:
        self.writes.append((table, key, None))

    def __bool__(self) -> bool:
        return bool(self.writes)


class MemoryTable:
    """A table in a dict: the double in tests, and a crawl's table when nothing is to be kept."""

    def __init__(self) -> None:
        self.rows: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        return self.rows.get(key)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.rows.get(key) for key in keys]

    def scan(self, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        for key in sorted(key for key in self.rows if key.startswith(prefix)):
            yield key, self.rows[key]


class MemoryTables:
    """Named tables made on first use, with the atomic commit of a batch."""

    def __init__(self) -> None:
        self.tables: dict[str, MemoryTable] = {}

    def table(self, name: str) -> MemoryTable:
        return self.tables.setdefault(name, MemoryTable())

    def commit(self, batch: Batch) -> None:
        for name, key, value in batch.writes:
            rows = self.table(name).rows
            if value is None:
                rows.pop(key, None)
            else:
                rows[key] = value
