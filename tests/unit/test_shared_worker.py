"""A worker's store: the same steps in the background, and what it knows of the others."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.backends import shared_server
from tests.unit.test_shared_steps import PARTITIONS, make_record
from webcrawler.frontier.backends import WORKER_TABLES
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


def open_worker(
    name: str, local: DictKV | None = None, direct: Direct | None = None, **options: Any
) -> WorkerStore:
    return WorkerStore(
        direct or Direct(shared_server().client()),
        name,
        queues=2,
        partitions=PARTITIONS,
        buckets=4,
        worker="worker",
        local=local if local is not None else KeptKV(),
        local_tables=WORKER_TABLES,
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
        async with running(two):
            one.start(asyncio.get_running_loop(), lambda: None)
            one.put([first])
            host, (record,) = await take(one)
            assert await two.look_up(first.fingerprint, first.url) is not None
            assert await two.look_up(second.fingerprint, second.url) is None, "never put"
            assert await end(one, record, second)
            one.release(host, time.time(), 10.0)
            one.close()
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


def promise(store: WorkerStore, record: Record, heard: list[bool]) -> None:
    """A page ends, with rows in the worker's own tables."""
    ending = Ending(record, "stored", time.time(), 200)
    ending.batch.put("links", b"key", b"links")
    ending.batch.put("index-new", b"note", b"page")
    store.done(ending, heard.append)


def rows(store: WorkerStore) -> list[bytes]:
    tables = ("links", "index-new", "promises")
    return [key for name in tables for key, _ in store.table(name).scan()]


def crash(store: WorkerStore) -> None:
    """What kill -9 does: nothing more is sent, heard or written."""
    assert store._courier is not None
    assert store._timer is not None
    store._timer.cancel()
    store._courier.close()
    store._courier = None


@pytest.mark.parametrize("is_sent", [False, True])
def test_what_a_dead_process_promised_stands_if_redis_says_so(is_sent: bool) -> None:
    async def crawl() -> None:
        name, local = f"promised-{is_sent}", KeptKV()
        one = open_worker(name, local)
        one.start(asyncio.get_running_loop(), lambda: None)
        one.put([make_record("http://a.test/1")])
        _, (record,) = await take(one)
        assert one._courier is not None
        heard: list[bool] = []
        if is_sent:
            one._hear = lambda: None  # type: ignore[method-assign]  # it dies before it hears
            promise(one, record, heard)
            client, key = one.direct.client, f"{one.keys.tag(one.keys.of_host('a.test'))}:pages"
            await until(lambda: client.hlen(key))
        else:
            one.tell = lambda *words: None  # type: ignore[method-assign]  # it dies before it asks
            promise(one, record, heard)
        assert not heard
        assert len(rows(one)) == 3
        crash(one)
        again = open_worker(name, local)
        assert again.number == one.number
        async with running(again):
            if is_sent:
                assert rows(again)[:2] == [b"key", b"note"]
                assert again.counts.ended["stored"] == 1
                assert again.counts.in_hand == 0
            else:
                assert rows(again) == []
                _, (record,) = await take(again)  # at once: it need not wait for its own lease
                promise(again, record, heard)
                await until(lambda: heard == [True])
        assert not list(local.table("promises").scan())

    asyncio.run(crawl())


def test_the_rows_of_a_refused_page_go() -> None:
    async def crawl() -> None:
        one, two = open_worker("refused"), open_worker("refused")
        async with running(one, two):
            one.put([make_record("http://a.test/1")])
            _, (record,) = await take(one)
            two.tell(one.keys.of_host("a.test"), "inherit", [two.session, one.session, 0])
            two.settle()
            heard: list[bool] = []
            promise(one, record, heard)
            await until(lambda: heard)
            assert heard == [False]
            assert rows(one) == []

    asyncio.run(crawl())


def test_what_was_handed_out_before_a_loss_may_not_be_sent() -> None:
    async def crawl() -> None:
        one = open_worker("permits")
        async with running(one):
            before = one.permit()
            assert before()
            one.standing._valid_until = 0.0  # renewed too late, or not yet
            assert not before()
            await until(before)
            one.standing.lose()
            assert not before()
            await until(lambda: one.has_lost_leases() or one.may_hand_out())
            await until(one.may_hand_out)
            assert not before(), "nor under the new session"
            assert one.permit()()

    asyncio.run(crawl())


def test_a_look_that_was_made_before_a_put_does_not_end_the_crawl() -> None:
    async def crawl() -> None:
        one = open_worker("quiet")
        one.start(asyncio.get_running_loop(), lambda: None)
        await until(lambda: not one.has_pending)
        hear, one._hear = one._hear, lambda: None  # type: ignore[method-assign]
        for _ in range(2):  # two looks are on their way
            assert one._timer is not None
            one._timer.cancel()
            one._tick()
        one.put([make_record("http://a.test/1")])
        one._hear = hear  # type: ignore[method-assign]
        assert one._timer is not None
        one._timer.cancel()
        one.settle()
        assert one.has_pending
        one.close()

    asyncio.run(crawl())
