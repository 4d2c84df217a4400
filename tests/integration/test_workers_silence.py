"""A connection to Redis that goes dead without a word, as behind a firewall that drops packets."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from tests.crawling import Crawls, fetched, read_log
from tests.redis_server import RedisServer
from webcrawler.sampleweb import SampleServer, SampleWeb
from webcrawler.sampleweb.audit import audit

if TYPE_CHECKING:
    from collections.abc import Iterator


DELAY = 0.1


class SilentWay:
    """Stands before Redis. After `fall_silent` the connections that there are carry nothing any
    more and stay open; new ones are as good as ever."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"
        self._ways: list[threading.Event] = []
        self.connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def fall_silent(self) -> None:
        for is_silent in self._ways:
            is_silent.set()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._port))
                is_silent = threading.Event()
                self._ways.append(is_silent)
                self.connections += 1
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=_carry, args=(*ends, is_silent), daemon=True).start()

    def close(self) -> None:
        self._listener.close()


def _carry(source: socket.socket, target: socket.socket, is_silent: threading.Event) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            if not is_silent.is_set():
                target.sendall(data)


@pytest.fixture
def server() -> Iterator[RedisServer]:
    server = RedisServer()
    yield server
    server.close()


def test_a_silent_connection_is_given_up(crawls: Crawls, server: RedisServer) -> None:
    way = SilentWay(server.port)
    crawls.settings = {
        "FRONTIER_BACKEND": "redis",
        "REDIS_URL": way.url,
        "REDIS_PARAMS": '{"socket_timeout": 1}',
        "FRONTIER_PARTITIONS": 8,
        "FRONTIER_LEASE_SECS": 20,
        "POLITENESS_MIN_DELAY": DELAY,
    }
    with SampleServer(SampleWeb.plain(hosts=6, pages=90)) as web:
        workers = [crawls.start("web", web.seeds) for _ in range(2)]
        for least in (15, 45):
            workers[0].until(lambda least=least: len(web.arrivals) > least)
            way.fall_silent()
        for worker in workers:
            assert worker.wait() == 0, worker.stderr
            assert "Traceback" not in worker.stderr, worker.stderr
            assert "Redis is back" in worker.stderr or "Redis is gone" not in worker.stderr
        counts = Counter(fetched(web))
        assert counts == Counter(web.web.truth().reachable_pages().keys()), "each page once"
        found = audit(web.arrivals, DELAY)
        assert found.is_polite, found
    lines = [line["url"] for job in crawls.job.glob("worker-*") for line in read_log(job)]
    assert sorted(lines) == sorted(counts)
    assert way.connections >= 4, "dead connections were replaced"
    way.close()
