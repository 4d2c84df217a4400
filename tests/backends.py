"""The frontier's backends, each made so that a test can close, crash and reopen it."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from tests.redis_server import RedisServer
from webcrawler.frontier.backends import SIDE_TABLES
from webcrawler.frontier.backends.embedded import EmbeddedStore
from webcrawler.frontier.backends.kv import DictKV
from webcrawler.frontier.backends.layout import OWN_TABLES
from webcrawler.frontier.backends.rocks import RocksKV
from webcrawler.frontier.backends.shared.driver import Direct
from webcrawler.frontier.backends.shared.store import RedisStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from webcrawler.frontier.host import Host
    from webcrawler.frontier.store import Store

NAMES = ("memory", "rocks", "redis")
_numbers = count()


@cache
def shared_server() -> RedisServer:
    """One Redis for all tests that only need one."""
    server = RedisServer()
    atexit.register(server.close)
    return server


class Backend:
    """`open` opens the store, again after `store.close()` or after `crash`.

    Without the tables of others than the frontier, RocksDB opens in half the time.
    """

    def __init__(
        self, name: str, queues: int = 4, partitions: int = 1, *, has_side_tables: bool = True
    ) -> None:
        self.name = name
        self.queues = queues
        self.partitions = partitions
        self._tables = (*OWN_TABLES, *(SIDE_TABLES if has_side_tables else ()))
        self._folder = Path(tempfile.mkdtemp(prefix="frontier-test-"))
        self._kv = DictKV()
        self._crawl = f"test-{next(_numbers)}"
        self.store: EmbeddedStore | RedisStore | None = None

    def open(self, restart: Callable[[Host], None] = lambda host: None) -> Store:
        if self.name == "redis":
            self.store = RedisStore(
                Direct(shared_server().client()),
                self._crawl,
                queues=self.queues,
                partitions=self.partitions,
                buckets=4,
                restart=restart,
                is_alone=True,
            )
            return self.store
        if self.name == "rocks":
            kv = RocksKV(self._folder / "frontier", self._tables, memory=8 << 20, sync_secs=0)
        else:
            kv = self._kv  # type: ignore[assignment]
        # Small caches, so that the tests go through the tables.
        self.store = EmbeddedStore(
            kv, queues=self.queues, restart=restart, popular=8, cached_hosts=3
        )
        return self.store

    def crash(self) -> None:
        """What kill -9 leaves: every write that was made, and nothing that was only in memory."""
        assert self.store is not None
        if isinstance(self.store, RedisStore):
            self.store.direct.close()
            return
        self.store._handles.clear()
        self.store.kv.close()

    def remove(self) -> None:
        if self.name == "redis":
            shared_server().client().flushall()
        shutil.rmtree(self._folder, ignore_errors=True)
