"""Backends of the store protocol: `memory`, `rocks` (default) and `redis`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawler.frontier.backends.embedded import EmbeddedStore
from webcrawler.frontier.backends.kv import KV, DictKV
from webcrawler.frontier.backends.layout import OWN_TABLES
from webcrawler.index.layout import TABLES as INDEX_TABLES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from webcrawler.config import FrontierConfig
    from webcrawler.frontier.backends.shared.connection import RedisConfig
    from webcrawler.frontier.backends.shared.store import RedisStore
    from webcrawler.frontier.backends.shared.worker import WorkerStore
    from webcrawler.frontier.host import Host

# Tables of other parts of the crawl, in the same store so that a page's ending is one commit.
SIDE_TABLES = ("robots", "content", "sketches", "bands", "archive", *INDEX_TABLES)


# Of those, what only the worker needs that fetched the page, and what it notes for itself.
WORKER_TABLES = ("archive", *INDEX_TABLES, "pages", "worker", "promises")


def open_redis(
    config: FrontierConfig, redis: RedisConfig, name: str, *, restart: Callable[[Host], None]
) -> RedisStore:
    """A look into a crawl in Redis, from anywhere."""
    from webcrawler.frontier.backends.shared.connection import connect, explained
    from webcrawler.frontier.backends.shared.driver import Direct
    from webcrawler.frontier.backends.shared.store import RedisStore

    with explained(redis.place):
        return RedisStore(
            Direct(connect(redis), redis.place),
            name,
            queues=config.front_queues,
            partitions=redis.partitions,
            buckets=redis.buckets,
            restart=restart,
        )


def open_worker(
    config: FrontierConfig,
    redis: RedisConfig,
    name: str,
    worker: Path,
    seeds_key: str = "",
    *,
    restart: Callable[[Host], None],
) -> WorkerStore:
    """A worker's share of a crawl in Redis; `worker` is the folder of its own."""
    from webcrawler.frontier.backends.rocks import RocksKV
    from webcrawler.frontier.backends.shared.connection import connect, explained
    from webcrawler.frontier.backends.shared.driver import Direct
    from webcrawler.frontier.backends.shared.worker import WorkerStore

    client = connect(redis)
    local = RocksKV(
        worker / "frontier", WORKER_TABLES, memory=config.memory, sync_secs=config.sync_secs
    )
    with explained(redis.place):
        return WorkerStore(
            Direct(client, redis.place),
            name,
            queues=config.front_queues,
            partitions=redis.partitions,
            buckets=redis.buckets,
            restart=restart,
            popular=config.seen_cache,
            worker=worker.name,
            local=local,
            local_tables=WORKER_TABLES,
            batch=config.batch,
            lease_secs=redis.lease_secs,
            stay=redis.stay,
            seeds_key=seeds_key,
        )


def open_store(
    config: FrontierConfig, folder: Path | None, *, restart: Callable[[Host], None]
) -> EmbeddedStore:
    """The store that the configuration asks for. Without a job folder nothing can be kept."""
    bloom = None
    kv: KV
    if config.backend == "rocks" and folder is not None:
        # Imported here: the memory backend works without RocksDB.
        from webcrawler.frontier.backends.rocks import RocksKV
        from webcrawler.frontier.seen import BloomFilter

        kv = RocksKV(
            folder / "frontier",
            (*OWN_TABLES, *SIDE_TABLES),
            memory=config.memory,
            sync_secs=config.sync_secs,
        )
        if config.bloom_urls:
            bloom = BloomFilter(folder / "seen.bloom", config.bloom_urls, config.bloom_error)
    else:
        kv = DictKV()
    return EmbeddedStore(
        kv,
        queues=config.front_queues,
        restart=restart,
        popular=config.seen_cache,
        cached_hosts=config.host_cache,
        bloom=bloom,
    )
