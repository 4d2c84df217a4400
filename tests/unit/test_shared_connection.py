"""What a lost connection still brings to Redis, after its steps were said again, does nothing."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from tests.backends import shared_server
from tests.unit.test_shared_steps import PARTITIONS, make_record
from webcrawler.frontier.backends.shared.connection import GONE, RedisConfig, connect
from webcrawler.frontier.backends.shared.driver import Call, Direct
from webcrawler.frontier.backends.shared.store import RedisStore

if TYPE_CHECKING:
    from collections.abc import Iterator


class HoldingWay:
    """Stands before Redis. While it `holds`, a client that sends is cut off, and what it sent is
    kept on the way: `deliver` brings it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"
        self.holds = False
        self._held: list[tuple[socket.socket, bytes]] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._port))
                threading.Thread(target=self._pass, args=(client, server), daemon=True).start()
                threading.Thread(target=self._answer, args=(server, client), daemon=True).start()

    def _pass(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(1 << 16):
                if self.holds:
                    self._held.append((server, data))
                    client.shutdown(socket.SHUT_RDWR)
                    return
                server.sendall(data)

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(1 << 16):
                client.sendall(data)

    def deliver(self) -> None:
        """Bring everything that was kept."""
        held, self._held = self._held, []
        assert held
        for server, data in held:
            with suppress(OSError):  # Redis does not listen any more
                server.sendall(data)

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def way() -> Iterator[HoldingWay]:
    way = HoldingWay(shared_server().port)
    yield way
    way.close()


def say_late(way: HoldingWay, direct: Direct, call: Call, *then: Call) -> None:
    """A step is on its way when the connection is lost; it is said again, others follow."""
    way.holds = True
    with pytest.raises(GONE):
        direct.ask(call)
    way.holds = False
    direct.ask_all([call, *then])
    way.deliver()
    for _ in range(100):  # whatever has arrived there, Redis has done
        direct.ask(Call("", None, ("PING",)))


def test_a_late_copy_is_not_done(way: HoldingWay) -> None:
    direct = Direct(connect(RedisConfig(url=way.url)))
    words = [("SET", "late-copy", word) for word in ("old", "new")]
    say_late(way, direct, *(Call("", None, each) for each in words))
    assert direct.ask(Call("", None, ("GET", "late-copy"))) == b"new"
    direct.close()


def test_a_host_stays_unblocked(way: HoldingWay) -> None:
    direct = Direct(connect(RedisConfig(url=way.url)))
    store = RedisStore(direct, "late-freeze", queues=2, partitions=PARTITIONS, buckets=4)
    store.put([make_record("http://a.test/1")])
    key, script = store.keys.tag(store.keys.of_host("a.test")), store.script("freeze")
    block, unblock = (Call(key, script, ("a.test", *flags)) for flags in ((1, 0), (0, 1)))
    say_late(way, direct, block, unblock)
    host: Any = store.host("a.test")
    assert not host.is_blocked
    store.close()


def test_connections_of_others_live_on(way: HoldingWay) -> None:
    one, two = (Direct(connect(RedisConfig(url=way.url))) for _ in range(2))
    number = two.ask(Call("", None, ("CLIENT", "ID")))
    for _ in range(3):
        say_late(way, one, Call("", None, ("PING",)))
    assert two.ask(Call("", None, ("CLIENT", "ID"))) == number
    one.close()
    two.close()


def test_it_is_not_needed(way: HoldingWay) -> None:
    """Users may have no right to end connections: they crawl all the same."""
    admin = shared_server().client()
    admin.acl_setuser(
        "late", enabled=True, passwords=["+secret"], categories=["+@all"],
        commands=["-client|kill", "-client|info"], keys=["*"],
    )  # fmt: skip
    params = {"username": "late", "password": "secret"}
    direct = Direct(connect(RedisConfig(url=way.url, params=params)))
    say_late(way, direct, Call("", None, ("PING",)))
    direct.close()
    admin.acl_deluser("late")
