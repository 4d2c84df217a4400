"""The steps in Redis that one store alone never makes: fencing, inheriting, outboxes, orphans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import xxhash

from tests.backends import shared_server
from webcrawler.frontier.backends.shared.driver import Call, Direct
from webcrawler.frontier.backends.shared.keys import FINGERPRINT
from webcrawler.frontier.backends.shared.outbox import pack_steps, unpack_steps
from webcrawler.frontier.backends.shared.store import RedisStore
from webcrawler.frontier.ending import Ending
from webcrawler.frontier.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawler.frontier.host import Host

PARTITIONS = 4


def make_record(url: str) -> Record:
    return Record(url, xxhash.xxh3_64_intdigest(url.encode()), url.split("/")[2])


def open_store(name: str) -> RedisStore:
    store = RedisStore(
        Direct(shared_server().client()), name, queues=2, partitions=PARTITIONS, buckets=4
    )
    for partition in range(PARTITIONS):
        store.ask(partition, "renew", store.session, 60, "new")
    return store


@pytest.fixture
def two(request: pytest.FixtureRequest) -> Iterator[tuple[RedisStore, RedisStore]]:
    stores = open_store(request.node.name), open_store(request.node.name)
    yield stores
    stores[0].forget()


def take(store: RedisStore) -> tuple[Host, list[Record]]:
    host = store.lease([1, 2], 0.0, 10.0)
    assert host is not None
    return host, store.refill(host, [1] * host.unread)


def inherit(heir: RedisStore, dead: RedisStore) -> None:
    for partition in range(PARTITIONS):
        heir.inherited(partition, heir.ask(partition, "inherit", heir.session, dead.session, 0))


def test_steps_are_packed() -> None:
    steps = [(3, "put", [b"", b"a" * 70_000]), (1023, "write", [b"x"])]
    assert unpack_steps(pack_steps(steps)) == steps
    assert unpack_steps(b"") == []


def test_a_host_is_leased_to_one(two: tuple[RedisStore, RedisStore]) -> None:
    one, other = two
    one.put([make_record("http://a.test/1"), make_record("http://a.test/2")])
    take(one)
    assert other.lease([1, 2], 0.0, 10.0) is None


def test_a_late_commit_is_refused(two: tuple[RedisStore, RedisStore]) -> None:
    one, other = two
    one.put([make_record("http://a.test/1")])
    _, (record,) = take(one)
    inherit(other, one)
    heard: list[bool] = []
    one.done(
        Ending(record, "stored", 1.0, 200, links=[make_record("http://b.test/")]), heard.append
    )
    assert heard == [False]
    assert (one.counts.known, one.counts.waiting, one.counts.in_hand) == (1, 1, 0)
    assert one.ask(0, "renew", one.session, 60, "")[0] == 0, "the session does not come back"
    _, (again,) = take(other)
    other.done(Ending(again, "stored", 2.0, 200), heard.append)
    assert heard == [False, True]
    other.done(Ending(again, "stored", 2.0, 200), heard.append)
    assert heard[-1], "said twice, done once"
    assert other.counts.ended["stored"] == 1


def test_an_heir_delivers_the_outbox(two: tuple[RedisStore, RedisStore]) -> None:
    one, other = two
    one.put([make_record("http://a.test/1")])
    _, (record,) = take(one)
    one.deliver = lambda *words: None  # type: ignore[method-assign]  # killed before
    links = [make_record(f"http://h{number}.test/") for number in range(20)]
    one.done(Ending(record, "stored", 1.0, 200, links=links))
    assert one.counts.known < 21
    assert sum(look[4] for look in other.looks()) == 1
    inherit(other, one)
    assert other.counts.known == 21
    assert sum(look[4] for look in other.looks()) == 0


def test_what_an_answer_never_told_is_freed(two: tuple[RedisStore, RedisStore]) -> None:
    one, other = two
    one.put([make_record("http://a.test/1"), make_record("http://b.test/1")])
    known, (record,) = take(one)
    lost, _ = take(one)
    partition = one.keys.of_host(lost.name)
    number = 0  # that of the steps a store makes that waits for its answers
    is_near = one.keys.of_host(known.name) == partition
    mine = [1, known.name, number, FINGERPRINT.pack(record.fingerprint)] if is_near else [0]
    early = one.ask(partition, "orphans", one.session, number - 1, *mine)
    assert early == [0, []], "its answer may still come"
    missing, (told,) = one.ask(partition, "orphans", one.session, number, *mine)
    assert not missing
    again = one.ask(partition, "orphans", one.session, number, *mine)
    assert again == [0, [told]], "said twice"
    assert other.lease([1, 2], 0.0, 10.0) is None, "not before its clock is set"
    one.release(one.restarted(told), float("inf"), 0.0)
    host, records = take(other)
    assert (host.name, len(records)) == (lost.name, 1)
    assert other.lease([1, 2], 0.0, 10.0) is None


def test_a_release_that_arrives_late_ends_no_newer_lease(
    two: tuple[RedisStore, RedisStore],
) -> None:
    """Said again over a new connection, while the old one still had it to deliver."""
    one, other = two
    one.put([make_record("http://a.test/1"), make_record("http://a.test/2")])
    partition = one.keys.of_host("a.test")

    def lease(number: int) -> int:
        return len(one.ask(partition, "lease", one.session, number, 0, 10, 1, 1, 1, 2))

    def release(number: int) -> Any:
        words = (one.session, "a.test", number, b"", "0", "", "")
        return one.ask(partition, "release", *words)

    assert lease(1) == 1
    assert release(1) == 1
    assert lease(2) == 1
    assert release(1) == 0
    assert other.lease([1, 2], 0.0, 10.0) is None, "it is still the first one's"
    assert release(2) == 1


def test_fingerprints_stay_integers(two: tuple[RedisStore, RedisStore]) -> None:
    one, _ = two
    one.put([make_record(f"http://a.test/{number}") for number in range(1000)])
    client = one.direct.client
    keys = [k for p in range(PARTITIONS) for k in client.keys(f"{one.keys.tag(p)}:seen:*")]
    kinds = {one.direct.ask(Call("", None, ("OBJECT", "ENCODING", key))) for key in keys}
    assert kinds == {b"intset"}


def test_tickets_are_shared_given_back_and_returned_by_the_dead(
    two: tuple[RedisStore, RedisStore],
) -> None:
    one, other = two

    def ask(
        store: RedisStore,
        spent: int,
        wanted: int,
        in_use: int = 0,
        ended: int = 0,
        secs: float = 60.0,
    ) -> Any:
        args = (store.session, secs, 10, ended, spent, in_use, wanted)
        return store.direct.ask(Call(store.keys.whole, store.script("tickets"), args))

    assert ask(one, 0, 7) == [7, 0, 0]
    assert ask(other, 0, 7) == [3, 0, 7]
    assert ask(one, 2, 5) == ask(one, 2, 5) == [5, 2, 3], "said twice, spent once"
    assert ask(one, 2, 1) == [1, 2, 3], "four are given back"
    assert ask(other, 0, 7) == [7, 2, 1]
    assert ask(one, 2, 9, secs=-1.0) == [1, 2, 7], "and is not heard of again"
    assert ask(other, 7, 9) == [1, 9, 0]
    assert ask(other, 7, 9, ended=10) == [0, 10, 0], "pages that the dead one told nobody of"
    # A page that has ended, and whose commit this one has not heard of, keeps its ticket.
    assert ask(other, 7, 9, in_use=1, ended=10) == [1, 10, 0]
