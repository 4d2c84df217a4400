"""A worker's store: the same steps in the background, and what it knows of the others."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from tests.backends import shared_server
from tests.unit.test_shared_steps import PARTITIONS, make_record
from webcrawler.frontier.backends import LOCAL_TABLES
from webcrawler.frontier.backends.kv import DictKV
from webcrawler.frontier.backends.shared.driver import Direct
from webcrawler.frontier.backends.shared.worker import WorkerStore
from webcrawler.frontier.ending import Ending

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from webcrawler.frontier.host import Host
    from webcrawler.frontier.record import Record

PATIENCE = 60.0


class KeptKV(DictKV):
    """Outlives the store that closes it, as a folder does."""

    def close(self) -> None:
        pass


def open_worker(name: str, local: DictKV | None = None, **options: Any) -> WorkerStore:
    return WorkerStore(
        Direct(shared_server().client()),
        name,
        queues=2,
        partitions=PARTITIONS,
        buckets=4,
        worker="worker",
        local=local if local is not None else KeptKV(),
        local_tables=LOCAL_TABLES,
        **options,
    )


@asynccontextmanager
async def running(*stores: WorkerStore) -> AsyncIterator[None]:
    loop = asyncio.get_running_loop()
    for store in stores:
        store.start(loop, lambda: None)
    try:
        yield
    finally:
        for store in stores:
            store.close()


async def until(condition: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        await asyncio.sleep(0.01)
    return found


async def take(store: WorkerStore) -> tuple[Host, list[Record]]:
    host = await until(lambda: store.lease([1, 2], time.time(), 10.0))
    return host, store.refill(host, [1])


async def end(store: WorkerStore, record: Record, *links: Record) -> bool:
    heard: list[bool] = []
    ending = Ending(record, "stored", time.time(), 200, links=list(links))
    store.done(ending, heard.append)
    await until(lambda: heard)
    return heard[0]


def test_a_worker_knows_what_another_one_met() -> None:
    async def crawl() -> None:
        one, two = open_worker("known"), open_worker("known")
        assert (one.number, two.number) == (1, 2)
        first, second = make_record("http://a.test/1"), make_record("http://b.test/2")
        second.via = first.fingerprint
        async with running(one, two):
            one.put([first])
            host, (record,) = await take(one)
            assert await two.look_up(first.fingerprint, first.url) is not None
            assert await two.look_up(second.fingerprint, second.url) is None, "never put"
            assert await end(one, record, second)
            one.release(host, time.time(), 10.0)
            known = await two.look_up(first.fingerprint, first.url)
            assert known is not None
            assert known.page is not None
            assert (known.page.url, known.page.outcome) == (first.url, "stored")
            host, (record,) = await take(two)
            assert record.url == second.url
            assert two.url_of(record.via) == first.url, "read with the host's robots.txt"
            two.retry(record)
            two.release(host, time.time(), 10.0)
            two._urls.clear()
            _, (record,) = await take(two)
            assert two.url_of(record.via) == first.url, "not forgotten by a retry"

    asyncio.run(crawl())
