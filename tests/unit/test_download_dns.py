from __future__ import annotations

import asyncio
import socket
import threading
from collections import Counter
from typing import TYPE_CHECKING, TypeVar

import pytest
from aiohttp.abc import AbstractResolver
from hypothesis import given
from hypothesis import strategies as st

from webcrawler.download.dns import (
    CachedResolver,
    PrivateAddressError,
    ResolutionError,
    is_public,
)
from webcrawler.download.lookup import ThreadedLookup

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

T = TypeVar("T")


def run(work: Coroutine[object, object, T]) -> T:
    return asyncio.run(work)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Names:
    """A name server in a dict; a name it does not know is an error, a gate makes it wait."""

    def __init__(self, **answers: Sequence[str]) -> None:
        self.answers = {name.replace("_", "."): found for name, found in answers.items()}
        self.asked: Counter[str] = Counter()
        self.gates: dict[str, asyncio.Event] = {}

    async def __call__(self, host: str) -> Sequence[str]:
        self.asked[host] += 1
        if host in self.gates:
            await self.gates[host].wait()
        try:
            return self.answers[host]
        except KeyError:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known") from None


def test_is_a_resolver_for_aiohttp() -> None:
    resolver = CachedResolver(lookup=Names(a_test=["192.0.2.1", "2001:db8::1"]))
    assert isinstance(resolver, AbstractResolver)

    async def check() -> None:
        both = await resolver.resolve("a.test", 443)
        assert [(r["host"], r["port"], r["family"]) for r in both] == [
            ("192.0.2.1", 443, socket.AF_INET),
            ("2001:db8::1", 443, socket.AF_INET6),
        ]
        assert {r["hostname"] for r in both} == {"a.test"}
        (only,) = await resolver.resolve("a.test", 80, family=socket.AF_INET6)
        assert only["host"] == "2001:db8::1"
        with pytest.raises(ResolutionError):
            await CachedResolver(lookup=Names(b=["192.0.2.1"])).resolve("b", family=socket.AF_INET6)

    run(check())


def test_a_thousand_questions_make_one_query() -> None:
    names = Names(a_test=["192.0.2.1"])
    resolver = CachedResolver(lookup=names)

    async def check() -> None:
        names.gates["a.test"] = asyncio.Event()
        tasks = [asyncio.create_task(resolver.addresses("A.test.")) for _ in range(1000)]
        await asyncio.sleep(0)
        names.gates["a.test"].set()
        assert set(await asyncio.gather(*tasks)) == {("192.0.2.1",)}

    run(check())
    assert names.asked == {"a.test": 1}
    assert resolver.counters() == {
        "queries": 1,
        "hits": 999,
        "negative_hits": 0,
        "failures": 0,
        "cached": 1,
    }


def test_a_slow_name_does_not_hold_up_others() -> None:
    names = Names(slow_test=["192.0.2.1"], fast_test=["192.0.2.2"])
    resolver = CachedResolver(lookup=names)

    async def check() -> None:
        names.gates["slow.test"] = asyncio.Event()
        slow = asyncio.create_task(resolver.addresses("slow.test"))
        await asyncio.sleep(0)
        assert await resolver.addresses("fast.test") == ("192.0.2.2",)
        assert not slow.done()
        names.gates["slow.test"].set()
        await slow

    run(check())


def test_good_news_and_bad_news_age_differently() -> None:
    clock, names = Clock(), Names(a_test=["192.0.2.1"])
    resolver = CachedResolver(ttl=100, negative_ttl=10, lookup=names, clock=clock)

    async def check() -> None:
        for host, lifetime, answer in (("a.test", 100, "192.0.2.1"), ("no.test", 10, None)):
            assert await resolver.prefetch(host) == answer
            clock.now += lifetime - 1
            assert await resolver.prefetch(host) == answer
            assert names.asked[host] == 1
            clock.now += 1
            assert await resolver.prefetch(host) == answer
            assert names.asked[host] == 2

    run(check())
    assert resolver.failures == 2
    assert resolver.negative_hits == 1


def test_the_least_recently_asked_leaves_a_full_cache() -> None:
    names = Names(a=["192.0.2.1"], b=["192.0.2.2"], c=["192.0.2.3"])
    resolver = CachedResolver(size=2, lookup=names)

    async def check() -> None:
        for host in "abac":
            await resolver.addresses(host)
        assert resolver.peek("a") == "192.0.2.1"
        assert resolver.peek("b") is None
        assert resolver.peek("c") == "192.0.2.3"

    run(check())


def test_a_look_up_without_answer_fails_in_time_and_is_remembered() -> None:
    names = Names(hangs=["192.0.2.1"])
    resolver = CachedResolver(timeout=0.01, lookup=names)

    async def check() -> None:
        names.gates["hangs"] = asyncio.Event()
        for _ in range(2):
            with pytest.raises(ResolutionError, match=r"no answer in 0\.01 s"):
                await resolver.addresses("hangs")

    run(check())
    assert names.asked["hangs"] == 1
    assert (resolver.failures, resolver.negative_hits) == (1, 1)


def test_whoever_stops_waiting_stops_nobody_else() -> None:
    names = Names(a=["192.0.2.1"])
    resolver = CachedResolver(lookup=names)

    async def check() -> None:
        gate = names.gates["a"] = asyncio.Event()
        first = asyncio.create_task(resolver.addresses("a"))
        second = asyncio.create_task(resolver.addresses("a"))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        gate.set()
        assert await second == ("192.0.2.1",)
        assert first.cancelled()

    run(check())
    assert names.asked["a"] == 1


@pytest.mark.parametrize("problem", [OSError("x"), RuntimeError("y"), UnicodeError("z")])
def test_whatever_a_look_up_raises_means_no_address(problem: Exception) -> None:
    async def broken(host: str) -> Sequence[str]:
        raise problem

    resolver = CachedResolver(lookup=broken)
    with pytest.raises(ResolutionError, match=str(problem)):
        run(resolver.addresses("a"))


def test_no_addresses_are_a_failure_too() -> None:
    resolver = CachedResolver(lookup=Names(a=[]))
    with pytest.raises(ResolutionError, match="no address"):
        run(resolver.addresses("a"))


def test_static_answers_come_first() -> None:
    names = Names(a_test=["192.0.2.1"], other=["192.0.2.2"])
    resolver = CachedResolver(
        hosts={"*.sample.test": "127.0.0.1", "a.test": ["127.0.0.2", "::1"], "*.b.test": "::2"},
        lookup=names,
    )

    async def check() -> None:
        assert await resolver.addresses("x.sample.test") == ("127.0.0.1",)
        assert await resolver.addresses("X.Y.Sample.Test.") == ("127.0.0.1",)
        assert await resolver.addresses("A.TEST") == ("127.0.0.2", "::1")
        assert await resolver.addresses("b.b.test") == ("::2",)
        for outside in ("sample.test", "xsample.test", "b.test"):
            with pytest.raises(ResolutionError):
                await resolver.addresses(outside)
        assert await resolver.addresses("other") == ("192.0.2.2",)

    run(check())
    assert resolver.peek("q.sample.test") == "127.0.0.1"
    assert "a.test" not in names.asked


def test_a_static_answer_that_is_no_address_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="nowhere"):
        CachedResolver(hosts={"a": "nowhere"})


@pytest.mark.parametrize("literal", ["192.0.2.7", "2001:db8::7", "[2001:db8::7]"])
def test_literals_answer_themselves(literal: str) -> None:
    names = Names()
    resolver = CachedResolver(lookup=names)
    assert run(resolver.addresses(literal)) == (literal.strip("[]"),)
    assert resolver.peek(literal) == literal.strip("[]")
    assert not names.asked


def test_peek_never_asks_and_prefetch_never_raises() -> None:
    names = Names(a=["192.0.2.1"])
    resolver = CachedResolver(lookup=names)
    assert resolver.peek("a") is None
    assert not names.asked

    async def check() -> None:
        assert await resolver.prefetch("a") == "192.0.2.1"
        assert await resolver.prefetch("b") is None

    run(check())
    assert resolver.peek("a") == "192.0.2.1"
    assert resolver.peek("b") is None
    assert resolver.failures == 1


def test_private_addresses_can_be_refused() -> None:
    names = Names(
        inside=["10.0.0.1"],
        mixed=["192.168.0.1", "93.184.216.34"],
        seed=["127.0.0.1"],
        meta=["169.254.169.254"],
    )
    resolver = CachedResolver(
        deny_private=True, allowed=["seed"], hosts={"s.test": "127.0.0.1"}, lookup=names
    )

    async def check() -> None:
        for host in ("inside", "meta", "127.0.0.1", "[::1]", "::ffff:10.0.0.1"):
            with pytest.raises(PrivateAddressError):
                await resolver.addresses(host)
            assert resolver.peek(host) is None
        assert await resolver.addresses("mixed") == ("93.184.216.34",)
        assert await resolver.addresses("seed") == ("127.0.0.1",)
        assert await resolver.addresses("s.test") == ("127.0.0.1",)
        resolver.allow("Inside")
        assert await resolver.addresses("inside") == ("10.0.0.1",)

    run(check())
    with pytest.raises(PrivateAddressError):
        resolver.check_literal("127.0.0.1")
    resolver.check_literal("93.184.216.34")
    resolver.check_literal("example.org")
    resolver.allow("127.0.0.1")
    resolver.check_literal("127.0.0.1")
    CachedResolver().check_literal("127.0.0.1")


@pytest.mark.parametrize(
    "address",
    [
        *("0.0.0.0", "10.1.2.3", "100.64.0.1", "127.9.9.9", "169.254.1.1", "172.16.0.1"),
        *("192.168.1.1", "224.0.0.1", "255.255.255.255", "::", "::1", "fc00::1", "fe80::1"),
        *("::ffff:192.168.0.1", "2002:7f00:1::", "64:ff9b::a00:1", "ff02::1"),
    ],
)
def test_not_public(address: str) -> None:
    assert not is_public(address)


@given(st.ip_addresses(network="8.0.0.0/8") | st.ip_addresses(network="2600::/16"))
def test_public(address: object) -> None:
    assert is_public(str(address))


def test_close_ends_what_is_under_way() -> None:
    names = Names()
    resolver = CachedResolver(lookup=names)

    async def check() -> None:
        names.gates["a"] = asyncio.Event()
        task = asyncio.create_task(resolver.addresses("a"))
        await asyncio.sleep(0)
        await resolver.close()
        with pytest.raises(asyncio.CancelledError):
            await task
        await resolver.close()

    run(check())


class Blocking:
    """A blocking query that waits at a gate, as a dead name server makes one wait."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.threads: set[str] = set()
        self.lock = threading.Lock()
        self.inside = 0
        self.most = 0

    def __call__(self, host: str) -> tuple[str, ...]:
        with self.lock:
            self.threads.add(threading.current_thread().name)
            self.inside += 1
            self.most = max(self.most, self.inside)
        if host.startswith("slow"):
            self.gate.wait(10)
        with self.lock:
            self.inside -= 1
        if host.startswith("bad"):
            raise UnicodeError("label too long")
        return ("192.0.2.1",)


def test_threads_are_bounded_and_daemons() -> None:
    query = Blocking()
    lookup = ThreadedLookup(threads=4, query=query)

    async def check() -> None:
        slow = [asyncio.create_task(lookup(f"slow{i}")) for i in range(3)]
        assert await lookup("fast") == ("192.0.2.1",)  # there is a thread left for it
        more = [asyncio.create_task(lookup(f"slow{i}")) for i in range(20)]
        await asyncio.sleep(0)
        query.gate.set()
        assert set(await asyncio.gather(*slow, *more)) == {("192.0.2.1",)}
        with pytest.raises(OSError, match="label too long"):
            await lookup("bad")
        threads = [t for t in threading.enumerate() if t.name in query.threads]
        assert all(thread.daemon for thread in threads)

    run(check())
    lookup.close()
    assert query.most <= 4


def test_one_thread_serves_questions_that_come_one_by_one() -> None:
    query = Blocking()
    lookup = ThreadedLookup(threads=50, query=query)

    async def check() -> None:
        for i in range(30):
            await lookup(f"fast{i}")
            await asyncio.to_thread(lambda: None)

    run(check())
    lookup.close()
    assert len(query.threads) < 10  # a thread may be a moment late to call itself idle


def test_an_abandoned_question_is_not_asked() -> None:
    asked: list[str] = []
    gate = threading.Event()

    def query(host: str) -> tuple[str, ...]:
        asked.append(host)
        gate.wait(10)
        return ("192.0.2.1",)

    lookup = ThreadedLookup(threads=1, query=query)

    async def check() -> None:
        first = asyncio.create_task(lookup("first"))
        await asyncio.sleep(0)
        second = asyncio.create_task(lookup("second"))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        gate.set()
        await first
        await lookup("third")

    run(check())
    lookup.close()
    assert asked == ["first", "third"]


def test_the_system_knows_this_machine() -> None:
    resolver = CachedResolver()

    async def check() -> None:
        assert set(await resolver.addresses("localhost")) <= {"127.0.0.1", "::1"}
        with pytest.raises(ResolutionError):
            await resolver.addresses("a" * 70 + ".invalid")  # no label may be that long
        await resolver.close()

    run(check())
