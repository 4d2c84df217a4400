"""RocksDB, through rocksdict: the engine of the default backend."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, cast

from rocksdict import (
    BlockBasedOptions,
    Cache,
    Checkpoint,
    DBCompressionType,
    Options,
    Rdict,
    WriteBatch,
)

from webcrawler.exceptions import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_MIB = 1 << 20
# Point reads. Bloom filters say which files need not be looked into: all of them for a new URL,
# all but one for a row that is there.
_FILTERED = frozenset({"seen", "queue", "hosts", "pages", "content", "bands", "sketches"})


class RocksTable:
    """One column family. A read that fails raises: it must not look like nothing there."""

    __slots__ = ("_family", "_folder")

    def __init__(self, family: Rdict, folder: Path) -> None:
        self._family = family
        self._folder = folder

    def get(self, key: bytes) -> bytes | None:
        try:
            return cast(bytes | None, self._family.get(key))
        except Exception as error:
            raise explain(error, self._folder) from error

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        if not keys:
            return []
        try:
            return cast(list[bytes | None], self._family.get(list(keys)))
        except Exception as error:
            raise explain(error, self._folder) from error

    def scan(self, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        return self.scan_from(prefix, prefix)

    def scan_from(self, start: bytes, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        iterator = self._family.iter()
        iterator.seek(start)
        while iterator.valid():
            key = iterator.key()
            if not key.startswith(prefix):
                return
            yield key, iterator.value()
            iterator.next()
        try:
            iterator.status()
        except Exception as error:
            raise explain(error, self._folder) from error


class RocksKV:
    """Column families with atomic batches in a folder.

    Every batch is handed to the operating system before `write` returns, so kill -9 loses
    nothing; a thread asks for it to reach the disk every `sync_secs`, so a power cut loses at
    most that. `memory` bounds block cache and write buffers together.
    """

    def __init__(
        self, folder: Path, tables: Sequence[str], *, memory: int = 128 * _MIB, sync_secs: float = 1
    ) -> None:
        self.folder = folder
        cache = Cache(memory // 2)
        known = self._existing(folder)
        names = sorted({*tables, *known} - {"default"})
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._db = Rdict(
                str(folder),
                self._options(cache, memory, filtered=False),
                column_families={
                    name: self._options(cache, memory, filtered=name in _FILTERED) for name in names
                },
            )
        except Exception as error:  # rocksdict raises bare Exception
            raise explain(error, folder) from error
        self._families = {name: self._db.get_column_family(name) for name in names}
        self._handles = {name: self._db.get_column_family_handle(name) for name in names}
        self._tables = {name: RocksTable(family, folder) for name, family in self._families.items()}
        self._failure: StoreError | None = None
        self._stop = threading.Event()
        self._syncer: threading.Thread | None = None
        if sync_secs > 0:
            self._syncer = threading.Thread(
                target=self._sync_forever, args=(sync_secs,), name="frontier-sync", daemon=True
            )
            self._syncer.start()

    @staticmethod
    def _existing(folder: Path) -> list[str]:
        if not (folder / "CURRENT").exists():
            return []
        try:
            return list(Rdict.list_cf(str(folder)))
        except Exception as error:
            raise explain(error, folder) from error

    @staticmethod
    def _options(cache: Cache, memory: int, *, filtered: bool) -> Options:
        options = Options(raw_mode=True)
        options.create_if_missing(True)
        options.create_missing_column_families(True)
        table = BlockBasedOptions()
        table.set_block_cache(cache)
        # Indexes and filters stay with their open files, not in the cache: every look-up asks
        # those of several files, and finding them in the cache costs as much as all the rest.
        # About 3 bytes a URL; the number of open files bounds them.
        table.set_cache_index_and_filter_blocks(False)
        if filtered:
            table.set_bloom_filter(10, False)
            # And filters for what is not on disk yet.
            options.set_memtable_whole_key_filtering(True)
            options.set_memtable_prefix_bloom_ratio(0.1)
        options.set_block_based_table_factory(table)
        options.set_compression_type(DBCompressionType.lz4())
        # Keys come in random order: a small write buffer stays in the processor's cache, where
        # finding a key's place takes half the time. Several are flushed together, so that files
        # are no smaller for it.
        options.set_write_buffer_size(memory // 64)
        options.set_min_write_buffer_number_to_merge(3)
        options.set_max_write_buffer_number(6)
        options.set_db_write_buffer_size(memory // 2)
        # There is one writer, so it need not be prepared for others.
        options.set_allow_concurrent_memtable_write(False)
        options.set_enable_write_thread_adaptive_yield(False)
        options.set_max_total_wal_size(memory * 2)
        options.set_max_background_jobs(2)
        options.set_max_open_files(512)
        options.set_keep_log_file_num(2)
        options.set_max_log_file_size(4 * _MIB)
        options.set_level_compaction_dynamic_level_bytes(True)
        return options

    def table(self, name: str) -> RocksTable:
        return self._tables[name]

    def handle(self, name: str) -> Any:
        return self._handles[name]

    def batch(self) -> Any:
        return WriteBatch(raw_mode=True)

    def write(self, batch: Any) -> None:
        if self._failure is not None:
            # What was to be written is in memory only: later writes would not fit what is stored.
            raise self._failure
        try:
            self._db.write(batch)
        except Exception as error:
            self._failure = explain(error, self.folder)
            raise self._failure from error

    def scan(self, name: str, start: bytes, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return self._tables[name].scan_from(start, prefix)

    def last(self, name: str, prefix: bytes) -> bytes | None:
        iterator = self._families[name].iter()
        iterator.seek_for_prev(prefix + b"\xff" * 16)
        if not iterator.valid():
            return None
        key: bytes = iterator.key()
        return key if key.startswith(prefix) else None

    def _sync_forever(self, every: float) -> None:
        written = self._db.latest_sequence_number()
        while not self._stop.wait(every):
            latest = self._db.latest_sequence_number()
            if latest != written:
                try:
                    self._db.flush_wal(True)
                except Exception as error:
                    self._failure = explain(error, self.folder)  # the next write tells it
                    return
                written = latest

    def sync(self) -> None:
        try:
            self._db.flush_wal(True)
        except Exception as error:
            raise explain(error, self.folder) from error

    def checkpoint(self, folder: Path) -> None:
        try:
            Checkpoint(self._db).create_checkpoint(str(folder))
        except Exception as error:
            raise explain(error, folder) from error

    def close(self) -> None:
        self._stop.set()
        if self._syncer is not None:
            self._syncer.join()
        # The database is let go with the last family and the last handle, so each is let go even
        # if something could not be written any more.
        failure = None
        families = [family.close for family in self._families.values()]
        for step in (self.sync, self._handles.clear, *families, self._db.close):
            try:
                step()
            except Exception as error:
                failure = failure or error
        if failure is not None and self._failure is None:
            raise failure if isinstance(failure, StoreError) else explain(failure, self.folder)


def explain(error: Exception, folder: Path) -> StoreError:
    """One sentence for what RocksDB says."""
    text = str(error)
    if "lock" in text.lower() and ("resource temporarily unavailable" in text.lower()):
        return StoreError(
            f"the crawl in {folder.parent} is already running: stop it first, or use another job"
        )
    if "permission denied" in text.lower():
        return StoreError(f"no permission to write to {folder}")
    if "corruption" in text.lower() or "checksum" in text.lower():
        return StoreError(
            f"the frontier in {folder} is damaged ({text.strip()[:200]}): start from a checkpoint "
            f"(docs/frontier.md, 'Checkpoints')"
        )
    return StoreError.of(
        error, folder, f"the frontier in {folder} cannot be used: {text.strip()[:300]}"
    )
