"""Whatever is lost on the way to Redis or back: Redis and its worker soon have the same again."""

from __future__ import annotations

import asyncio
import time
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any

import pytest

from tests.backends import shared_server
from tests.lossy import LossyDirect, SmallCrawl
from tests.unit.test_shared_steps import make_record, open_store
from tests.unit.test_shared_worker import crash, end, open_worker, running, take, until
from webcrawler.frontier.backends.shared.keys import FINGERPRINT

if TYPE_CHECKING:
    from collections.abc import Callable

    from webcrawler.frontier.backends.shared.store import RedisStore
    from webcrawler.frontier.backends.shared.worker import WorkerStore
    from webcrawler.frontier.host import Host
    from webcrawler.frontier.record import Record

HOSTS, PAGES = 3, 5
STEPS = ("lease", "release", "done", "retry", "renew", "put")
FATES = ("unsent", "unheard", "half", "late")


def links(url: str) -> list[Record]:
    """Each page leads to the next of its host, and to one of the next host."""
    host, page = url.split("/")[2:]
    other = (int(host[1]) + 1) % HOSTS
    return [
        make_record(f"http://h{number}.test/{(int(page) + 1) % PAGES}")
        for number in (int(host[1]), other)
    ]


def restart(host: Host) -> None:
    SmallCrawl.POLICY.after_restart(host, time.time())


def open_lossy(name: str, *, by_thread: bool = False, **options: Any) -> WorkerStore:
    direct = LossyDirect(shared_server().client(), by_thread=by_thread)
    return open_worker(name, direct=direct, batch=3, restart=restart, **options)


def has_same(store: WorkerStore) -> bool:
    """Whether the session has in Redis the hosts and URLs that its worker has."""
    client = store.direct.client
    for partition, names in enumerate(store.stock.names):
        tag = store.keys.tag(partition)
        leased = client.hgetall(f"{tag}:lease:{store.session}")
        if {name.decode(): int(number) for name, number in leased.items()} != names:
            return False
        in_hand = set(client.hkeys(f"{tag}:hand:{store.session}"))
        if in_hand != set(map(FINGERPRINT.pack, store.hand.parts[partition])):
            return False
    return True


def assert_once_and_polite(*crawls: SmallCrawl) -> None:
    fetches = sorted((host, at) for crawl in crawls for at, host, _ in crawl.fetches)
    retried = sum(len(crawl.retried) for crawl in crawls)
    assert len(fetches) == HOSTS * PAGES + retried
    assert not any(crawl.refused for crawl in crawls)
    for (host, before), (other, after) in pairwise(fetches):
        assert host != other or after - before >= SmallCrawl.DELAY - 0.001, "too soon"


@pytest.mark.parametrize(("times", "by_thread"), [(1, False), (5, False), (1, True)])
@pytest.mark.parametrize("fate", FATES)
def test_a_step_or_its_answer_is_lost(fate: str, times: int, by_thread: bool) -> None:
    async def crawl(step: str) -> None:
        store = open_lossy(f"lost-{step}-{fate}-{times}-{by_thread}", by_thread=by_thread)
        direct, lost = store.direct, 0
        assert isinstance(direct, LossyDirect)

        def decide(names: list[str]) -> str:
            nonlocal lost
            is_lost = step in names and lost < times
            lost += is_lost
            return fate if is_lost else "pass"

        small = SmallCrawl(store, links)
        async with running(store):
            direct.decide = decide
            store.put([make_record("http://h0.test/0")])

            def is_done() -> bool:
                direct.deliver_late()
                return len(small.ended) == HOSTS * PAGES and lost == times

            assert await small.run(is_done, 60.0), (step, small.ended, lost)
            direct.deliver_late()
            await until(lambda: has_same(store))
            assert_once_and_polite(small)
            await until(lambda: not store.has_pending)

    async def crawl_all() -> None:  # at the same time, each on its own
        await asyncio.gather(*map(crawl, STEPS))

    asyncio.run(crawl_all())


@pytest.mark.parametrize("fate", FATES[:3])
@pytest.mark.parametrize("step", ["give_back", "release", "leave"])
def test_a_step_is_lost_when_a_worker_leaves(step: str, fate: str) -> None:
    async def crawl() -> None:
        name, lost = f"leaves-{step}-{fate}", 0
        store, other = open_lossy(name), open_lossy(name)
        small, rest = SmallCrawl(store, links), SmallCrawl(other, links)

        def decide(names: list[str]) -> str:
            nonlocal lost
            is_lost = step in names and not lost
            lost += is_lost
            return fate if is_lost else "pass"

        store.start(asyncio.get_running_loop(), lambda: None)
        pages = [f"http://h{host}.test/{page}" for host in range(HOSTS) for page in range(PAGES)]
        store.put([make_record(url) for url in pages])
        await small.run(lambda: bool(small.fetches), 60.0)  # far from all
        await until(lambda: not small.under_work)
        assert isinstance(store.direct, LossyDirect)
        store.direct.decide = decide
        small.frontier.close(time.time())
        assert lost
        async with running(other):
            assert await rest.run(lambda: len(small.ended | rest.ended) == HOSTS * PAGES, 60.0)
        assert_once_and_polite(small, rest)

    asyncio.run(crawl())


@pytest.mark.parametrize("every", [2, 3, 6])
def test_progress_is_steady_while_answers_are_lost(every: int) -> None:
    async def crawl() -> None:
        stores = [open_lossy(f"steady-{every}") for _ in range(2)]
        crawls = [SmallCrawl(store, links) for store in stores]

        def losing() -> Callable[[list[str]], str]:
            # Each store counts its own: of two that take turns, one would lose every answer.
            trips = count(1)
            return lambda names: "pass" if next(trips) % every else "unheard"

        async with running(*stores):
            for store in stores:
                assert isinstance(store.direct, LossyDirect)
                store.direct.decide = losing()
            stores[0].put([make_record("http://h0.test/0")])

            def is_done() -> bool:
                return len(crawls[0].ended | crawls[1].ended) == HOSTS * PAGES

            found = await asyncio.gather(*(crawl.run(is_done, 60.0) for crawl in crawls))
            assert all(found)
        assert_once_and_polite(*crawls)

    asyncio.run(crawl())


# -- the same one by one


def lease(store: RedisStore, number: int) -> list[tuple[bytes, list[bytes]]]:
    partition = store.keys.of_host("a.test")
    found = store.ask(partition, "lease", store.session, number, 0, 10, 1, 2, 1, 2)
    return [(told[0], told[7]) for told in found]


def release(store: RedisStore, number: int) -> Any:
    words = (store.session, "a.test", number, b"", "0", "", "")
    return store.ask(store.keys.of_host("a.test"), "release", *words)


def hand(store: RedisStore) -> set[bytes]:
    tag = store.keys.tag(store.keys.of_host("a.test"))
    return set(store.direct.client.hkeys(f"{tag}:hand:{store.session}"))


def test_a_lease_takes_once() -> None:
    store = open_store("takes-once")
    store.put([make_record(f"http://a.test/{page}") for page in range(5)])
    first = lease(store, 1)
    assert lease(store, 1) == first, "said again, it tells the same"
    release(store, 1)  # the two are still worked on
    second = lease(store, 2)
    assert lease(store, 2) == second, "and not of what came in hand before"
    assert len(hand(store)) == 4
    release(store, 2)
    assert lease(store, 1) == [], "arriving late it takes nothing"
    assert lease(store, 2) == []
    assert release(store, 2) == 0
    assert len(hand(store)) == 4


def test_a_lease_that_is_said_again_counts_the_same() -> None:
    store = open_store("counts-the-same")
    store.put([make_record(f"http://a.test/{page}") for page in range(5)])
    partition = store.keys.of_host("a.test")
    words = (store.session, 1, 0, 10, 1, 2, 1, 2)
    (told,) = store.ask(partition, "lease", *words)
    (again,) = store.ask(partition, "lease", *words)
    assert [int(word) if at in (2, 3, 4) else word for at, word in enumerate(told)] == [
        int(word) if at in (2, 3, 4) else word for at, word in enumerate(again)
    ]


@pytest.mark.parametrize("step", ["retry", "give_back"])
def test_what_arrives_late_takes_nothing_from_a_later_lease(step: str) -> None:
    store = open_store(f"late-{step}")
    record = make_record("http://a.test/1")
    store.put([record])
    partition, fingerprint = store.keys.of_host("a.test"), FINGERPRINT.pack(record.fingerprint)
    (_, (data,)) = lease(store, 1)[0]
    args = [fingerprint, 1, data, 1] if step == "retry" else [1, fingerprint]
    store.ask(partition, step, store.session, *args)
    assert not hand(store)
    release(store, 1)
    lease(store, 2)
    store.ask(partition, step, store.session, *args)
    assert hand(store) == {fingerprint}


def test_a_page_under_work_is_not_taken_away_with_a_lost_host() -> None:
    async def crawl() -> None:
        store = open_worker("under-work", batch=1)
        store.put([make_record("http://a.test/1"), make_record("http://a.test/2")])
        async with running(store):
            host, (record,) = await take(store)
            store.stock.is_closed = True  # asks for none itself
            store.release(host, time.time(), 10.0)
            store.settle()
            number = store.stock.next_number()
            assert lease(store, number), "Redis has leased the host anew, and nobody is told"
            assert not has_same(store)
            store.stock.answered = number
            await until(lambda: has_same(store))
            assert len(store.hand) == 1
            assert await end(store, record), "the page stands"

    asyncio.run(crawl())


def test_urls_in_hand_that_nobody_knows_of_wait_again() -> None:
    async def crawl() -> None:
        store = open_worker("nobody-knows", batch=2)
        store.stock.is_closed = True
        store.put([make_record("http://a.test/1"), make_record("http://a.test/2")])
        number = store.stock.next_number()
        lease(store, number)
        release(store, number)
        assert len(hand(store)) == 2
        store.stock.answered = number
        async with running(store):
            await until(lambda: not hand(store))
            store.stock.is_closed = False
            _, records = await take(store)
            assert [record.url for record in records] == ["http://a.test/1", "http://a.test/2"]

    asyncio.run(crawl())


def test_a_redis_that_has_forgotten_a_lease_ends_the_session() -> None:
    async def crawl() -> None:
        store = open_worker("forgotten")
        store.put([make_record("http://a.test/1")])
        async with running(store):
            host, _ = await take(store)
            before, tag = store.permit(), store.keys.tag(store.keys.of_host(host.name))
            store.direct.client.hdel(f"{tag}:h:{host.name}", "le")
            store.direct.client.delete(f"{tag}:lease:{store.session}")
            await until(store.has_lost_leases)
            assert not before()

    asyncio.run(crawl())


def test_links_of_a_refused_page_are_told_again() -> None:
    async def crawl() -> None:
        one, two = open_worker("told-again"), open_worker("told-again")
        async with running(one, two):
            one.put([make_record("http://a.test/1")])
            _, (record,) = await take(one)
            two.tell(one.keys.of_host("a.test"), "inherit", [two.session, one.session, 0])
            two.settle()
            link = make_record("http://b.test/2")
            assert not await end(one, record, link)
            assert one.unknown([link.fingerprint]) == [True]

    asyncio.run(crawl())


def test_a_worker_that_starts_again_has_what_its_dead_process_had() -> None:
    async def crawl() -> None:
        local = open_worker("starts-again")
        kept = local.local._kv
        local.start(asyncio.get_running_loop(), lambda: None)
        local.put([make_record("http://a.test/1")])
        await take(local)
        crash(local)
        again = open_worker("starts-again", kept)  # type: ignore[arg-type]
        assert has_same(again), "released at once, not when it is noticed"
        assert again.stock.host_count == 0
        again.close()

    asyncio.run(crawl())
