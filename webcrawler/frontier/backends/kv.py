"""The key-value engine below the embedded store, and the one in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from sortedcontainers import SortedDict

from webcrawler.exceptions import JobError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from webcrawler.tables import Table


class WriteBatch(Protocol):
    """Writes that take effect together. A handle names a table (see `KV.handle`)."""

    def put(self, key: bytes, value: bytes, handle: Any) -> None: ...

    def delete(self, key: bytes, handle: Any) -> None: ...


class KV(Protocol):
    """Ordered tables of bytes with atomic batches."""

    def table(self, name: str) -> Table: ...

    def handle(self, name: str) -> Any:
        """What a batch wants to be told instead of a table's name."""

    def batch(self) -> WriteBatch: ...

    def write(self, batch: Any) -> None:
        """Make a batch's writes take effect, all or none; survives kill -9."""

    def scan(self, name: str, start: bytes, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Pairs from `start` on, in key order, as long as they carry the prefix."""

    def last(self, name: str, prefix: bytes) -> bytes | None:
        """The last key that carries the prefix (of at most 7 bytes)."""

    def sync(self) -> None:
        """Make what was written survive a power cut."""

    def checkpoint(self, folder: Path) -> None:
        """A consistent copy in a new folder."""

    def close(self) -> None: ...


class LazyBatch:
    """A batch that is made for its first write: for steps that most often write nothing."""

    __slots__ = ("_kv", "made")

    def __init__(self, kv: KV) -> None:
        self._kv = kv
        self.made: WriteBatch | None = None

    def put(self, key: bytes, value: bytes, handle: Any) -> None:
        self._batch().put(key, value, handle)

    def delete(self, key: bytes, handle: Any) -> None:
        self._batch().delete(key, handle)

    def _batch(self) -> WriteBatch:
        if self.made is None:
            self.made = self._kv.batch()
        return self.made


class DictBatch:
    """A batch of the engine in memory."""

    __slots__ = ("writes",)

    def __init__(self) -> None:
        self.writes: list[tuple[SortedDict, bytes, bytes | None]] = []

    def put(self, key: bytes, value: bytes, handle: SortedDict) -> None:
        self.writes.append((handle, key, value))

    def delete(self, key: bytes, handle: SortedDict) -> None:
        self.writes.append((handle, key, None))


class DictTable:
    """A table of the engine in memory."""

    __slots__ = ("rows",)

    def __init__(self) -> None:
        self.rows = SortedDict()

    def get(self, key: bytes) -> bytes | None:
        value: bytes | None = self.rows.get(key)
        return value

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.rows.get(key) for key in keys]

    def scan(self, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        return self.scan_from(prefix, prefix)

    def scan_from(self, start: bytes, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        for key in self.rows.irange(start):
            if not key.startswith(prefix):
                return
            yield key, self.rows[key]


class DictKV:
    """Tables in dicts: nothing is kept when the process ends."""

    def __init__(self) -> None:
        self._tables: dict[str, DictTable] = {}

    def table(self, name: str) -> DictTable:
        return self._tables.setdefault(name, DictTable())

    def handle(self, name: str) -> SortedDict:
        return self.table(name).rows

    def batch(self) -> DictBatch:
        return DictBatch()

    def write(self, batch: DictBatch) -> None:
        for rows, key, value in batch.writes:
            if value is None:
                rows.pop(key, None)
            else:
                rows[key] = value

    def scan(self, name: str, start: bytes, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return self.table(name).scan_from(start, prefix)

    def last(self, name: str, prefix: bytes) -> bytes | None:
        end: bytes
        for end in self.handle(name).irange(prefix, prefix + b"\xff" * 16, reverse=True):
            return end
        return None

    def sync(self) -> None:
        """Nothing to do: it would not survive the process anyway."""

    def checkpoint(self, folder: Path) -> None:
        raise JobError("a crawl with FRONTIER_BACKEND=memory keeps nothing: it has no checkpoints")

    def close(self) -> None:
        """Nothing to let go; the tables stay, so that tests can reopen them."""
