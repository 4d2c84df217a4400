"""What carries steps to Redis: in their order, each answered once, over lost connections."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
import redis

from tests.backends import shared_server
from tests.unit.test_shared_losses import lease
from tests.unit.test_shared_steps import make_record, open_store
from tests.unit.test_shared_worker import open_worker, running, until
from webcrawler.exceptions import StoreError
from webcrawler.frontier.backends.shared.connection import RedisConfig, connect
from webcrawler.frontier.backends.shared.driver import Call, Direct
from webcrawler.frontier.backends.shared.keys import FINGERPRINT
from webcrawler.frontier.backends.shared.looped import Looped
from webcrawler.frontier.backends.shared.threaded import Threaded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webcrawler.frontier.backends.shared.courier import Courier

SECS = 60.0
KINDS = ("looped", "threaded")


def make_courier(kind: str, direct: Direct) -> Courier:
    """Hears answers as the loop turns, as a worker's store does. To be made within a loop."""
    loop, made = asyncio.get_running_loop(), list[Any]()
    way: Any = (
        direct,
        lambda: loop.call_soon_threadsafe(lambda: made[0].hear()),
        lambda flush: loop.call_soon(flush),
    )
    made.append(Looped(*way, loop=loop) if kind == "looped" else Threaded(*way))
    courier: Courier = made[0]
    return courier


def echo(word: str, heard: list[Any]) -> Call:
    return Call("", None, ("ECHO", word), heard.append)


@pytest.fixture(params=["the loop turns", "settled"])
def finish(request: pytest.FixtureRequest) -> Callable[[Courier], Any]:
    """Until all is answered, while the crawl goes on and at its end."""

    async def end(courier: Courier) -> None:
        if request.param == "settled":
            assert courier.settle(SECS)
        else:
            await until(lambda: not courier.waiting)

    return end


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_answered_is_not_said_again(
    kind: str, finish: Callable[[Courier], Any], caplog: pytest.LogCaptureFixture
) -> None:
    async def tell() -> None:
        direct, heard = Direct(shared_server().client()), list[Any]()
        courier = make_courier(kind, direct)
        for number in range(10):
            courier.tell(echo(str(number), heard))
            if number == 2:
                courier.tell(Call("", None, ("QUIT",)))  # the connection ends behind its answer
        await finish(courier)
        courier.close()
        assert heard == [b"%d" % number for number in range(10)]
        assert direct.commands == 11 + 7

    asyncio.run(tell())
    assert "gone" not in caplog.text, "a new connection helped"


def test_a_lost_connection_is_made_anew_by_the_same() -> None:
    """Redis is then told to do nothing more of what the lost one brings (connection.py)."""

    async def tell() -> None:
        server = shared_server()
        client = connect(RedisConfig(url=server.url))
        pool, heard = client.connection_pool, list[Any]()
        courier = make_courier("looped", Direct(client))
        courier.tell(Call("", None, ("CLIENT", "ID"), heard.append))
        await until(lambda: heard)
        for connection in [pool.get_connection() for _ in range(3)]:
            pool.release(connection)  # others are at hand, as the index's thread leaves them
        assert isinstance(courier, Looped)
        mine = courier._connection
        assert mine.was[1] == b"%d" % heard[0]
        courier.tell(Call("", None, ("QUIT",)))
        courier.tell(Call("", None, ("CLIENT", "ID"), heard.append))
        await until(lambda: not courier.waiting)
        assert heard[1] != heard[0]
        assert courier._connection is mine
        assert mine.was[1] == b"%d" % heard[1]
        courier.close()
        client.close()

    asyncio.run(tell())


@pytest.mark.parametrize("kind", KINDS)
def test_much_at_once(kind: str, finish: Callable[[Courier], Any]) -> None:
    async def tell() -> None:
        heard = list[Any]()
        courier = make_courier(kind, Direct(shared_server().client()))
        words = [f"{number:06}" * 5000 for number in range(400)]  # more than sockets hold
        for word in words:
            courier.tell(echo(word, heard))
        await finish(courier)
        courier.close()
        assert heard == [word.encode() for word in words]

    asyncio.run(tell())


@pytest.mark.parametrize("kind", KINDS)
def test_a_redis_that_keeps_silent_is_gone_and_comes_back(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def tell() -> None:
        server, heard = shared_server(), list[Any]()
        direct = Direct(redis.Redis(port=server.port, socket_timeout=0.1, retry=None))
        courier = make_courier(kind, direct)
        courier.tell(echo("before", heard))
        await until(lambda: heard)
        server.client().client_pause(1000)
        courier.tell(echo("meanwhile", heard))
        await until(lambda: courier.is_gone)
        assert heard == [b"before"]
        await until(lambda: not courier.waiting)
        courier.close()
        assert heard == [b"before", b"meanwhile"]
        assert not courier.is_gone

    asyncio.run(tell())
    assert [record.message.split(",")[0] for record in caplog.records] == [
        "Redis is gone",
        "Redis is back",
    ], "each is said once"


@pytest.mark.parametrize("kind", KINDS)
def test_what_redis_refuses_ends_it(kind: str) -> None:
    async def tell() -> None:
        heard = list[Any]()
        courier = make_courier(kind, Direct(shared_server().client()))
        courier.on_answers = lambda: None
        courier.tell(echo("before", heard))
        courier.tell(Call("", None, ("NO-SUCH-COMMAND",)))
        courier.tell(echo("behind", heard))
        with pytest.raises(StoreError, match="unknown command"):
            courier.settle(SECS)
        assert not courier.settle(SECS)
        courier.close()
        assert heard == [b"before"]

    asyncio.run(tell())


@pytest.mark.parametrize("kind", KINDS)
def test_an_end_does_not_wait_for_a_redis_that_is_not_there(kind: str) -> None:
    async def tell() -> None:
        direct = Direct(redis.Redis(port=1))
        courier = make_courier(kind, direct)
        courier.tell(echo("", []))
        await until(lambda: courier.is_gone)
        assert not courier.settle(0.1)
        courier.close()

    asyncio.run(tell())


def test_the_loop_carries_steps_where_it_can() -> None:
    async def begin() -> None:
        store = open_worker("which-courier")
        async with running(store):
            assert isinstance(store._courier, Looped)

    asyncio.run(begin())
    sentinel = redis.Sentinel([("127.0.0.1", 1)])  # type: ignore[no-untyped-call]
    assert not Direct(sentinel.master_for("any")).is_plain, "an answer waits for a replica"


async def told_by(kind: str, direct: Direct, calls: Sequence[Call]) -> list[Any]:
    courier, answers = make_courier(kind, direct), list[Any]()
    for call in calls:
        courier.tell(call._replace(then=answers.append))
    await until(lambda: not courier.waiting)
    courier.close()
    return answers


@pytest.mark.parametrize("kind", KINDS)
def test_steps_keep_their_order_where_redis_has_lost_some_scripts(kind: str) -> None:
    store = open_store(f"lost-scripts-{kind}")
    store.put([make_record("http://a.test/1")])
    lease(store, 1)
    client, key = store.direct.client, store.keys.tag(store.keys.of_host("a.test"))
    client.script_flush()
    client.script_load(store.script("lease").text)  # by another worker, say
    words = (store.session, "a.test", 1, b"", "0", "", "")
    lease_words = (store.session, 2, 0, 10, 1, 2, 1, 2)
    record = make_record("http://a.test/1")
    ending = ("give_back", (store.session, 1, FINGERPRINT.pack(record.fingerprint)))
    calls = [
        Call(key, store.script(name), args)
        for name, args in (ending, ("release", words), ("lease", lease_words))
    ]
    answers = asyncio.run(told_by(kind, store.direct, calls))
    assert [len(told) for told in answers[2]] == [9], "it found the host"
