"""Answers that were lost with the connection: no host is lost with them, none is hit too soon."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from tests.unit.test_shared_steps import make_record
from tests.unit.test_shared_worker import crash, end, open_worker, running, take, until

if TYPE_CHECKING:
    from webcrawler.frontier.backends.shared.worker import WorkerStore
    from webcrawler.frontier.host import Host

LONG = 3600.0


def wait_long(host: Host) -> None:
    """Stands for the delay of a host that somebody may just have fetched from."""
    host.next_at = max(host.next_at, time.time() + LONG)


async def assert_held_for_its_delay(store: WorkerStore, name: str) -> None:
    """It was given back, with its URL, and with the clock of a restart."""
    tag, client = store.keys.tag(store.keys.of_host(name)), store.direct.client
    until_at = await until(lambda: client.zscore(f"{tag}:held", name))
    assert abs(until_at - time.time() - LONG) < 60
    assert not client.hlen(f"{tag}:lease:{store.session}")
    assert not client.hlen(f"{tag}:hand:{store.session}")
    assert client.llen(f"{tag}:q:1:{name}") == 1


def test_a_lease_that_was_never_told() -> None:
    async def crawl() -> None:
        store = open_worker("lost-lease", restart=wait_long)
        store.put([make_record("http://a.test/1")])
        partition, number = store.keys.of_host("a.test"), store.stock.next_number()
        found = store.ask(partition, "lease", store.session, number, time.time(), 10, 4, 8, 1, 2)
        assert len(found) == 1, "Redis has leased it, and nobody is told"
        async with running(store):
            await until(lambda: store.last_look.filled == set() and store.may_hand_out())
            await asyncio.sleep(0)
            assert store.direct.client.hlen(f"{store.keys.tag(partition)}:lease:{store.session}")
            store.stock.answered = number  # said again, and answered: there was no other host
            await assert_held_for_its_delay(store, "a.test")
            assert store.has_pending, "it is still to be fetched"

    asyncio.run(crawl())


def test_an_inheritance_that_was_never_told() -> None:
    async def crawl() -> None:
        name = "lost-inheritance"
        dead, heir = open_worker(name), open_worker(name, restart=wait_long)
        dead.start(asyncio.get_running_loop(), lambda: None)
        dead.put([make_record("http://a.test/1")])
        await take(dead)
        crash(dead)
        partition, number = dead.keys.of_host("a.test"), heir.stock.next_number()
        passed, _ = heir.ask(partition, "inherit", heir.session, dead.session, number)
        assert len(passed) == 1, "it is the heir's, and the heir is not told"
        async with running(heir):
            heir.stock.answered = number
            await assert_held_for_its_delay(heir, "a.test")

    asyncio.run(crawl())


def test_a_host_that_is_known_is_no_orphan() -> None:
    async def crawl() -> None:
        store = open_worker("known-host", restart=wait_long)
        store.put([make_record("http://a.test/1")])
        async with running(store):
            host, (record,) = await take(store)
            partition = store.keys.of_host(host.name)
            store.standing._ask_for_orphans(partition)
            store.settle()
            assert set(store.stock.names[partition]) == {host.name}
            assert await end(store, record)

    asyncio.run(crawl())
