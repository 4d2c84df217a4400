"""Redis does what it was told, and the answer is lost on its way: again and again."""

from __future__ import annotations

import random
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from tests.integration.test_workers import (
    assert_all_and_polite,
    assert_good,
    logged,
    server,
    shared,
    start,
    web,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.crawling import Crawls
    from tests.redis_server import RedisServer
    from webcrawler.sampleweb import SampleServer

__all__ = ["server", "shared", "web"]  # fixtures

STEADY_SECS = 60.0  # seventy pages of eight hosts: a few seconds of delays, the rest is losses


class LossyWay:
    """Stands between workers and Redis; while it `loses`, one answer of six and its connection.

    Drawn, not counted: of workers that take turns, one might lose every answer.
    """

    LOST = 1 / 6

    def __init__(self, port: int) -> None:
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"
        self.loses = False
        self.lost = 0
        self._draw = random.Random(1)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            redis = socket.create_connection(("127.0.0.1", self._port))
            threading.Thread(target=self._pass, args=(client, redis, False), daemon=True).start()
            threading.Thread(target=self._pass, args=(redis, client, True), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                if is_answer and self.loses and self._draw.random() < self.LOST:
                    self.lost += 1
                    break
                target.sendall(data)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def way(server: RedisServer) -> Iterator[LossyWay]:
    way = LossyWay(server.port)
    yield way
    way.close()


@pytest.mark.slow
def test_answers_are_lost(shared: Crawls, web: SampleServer, way: LossyWay) -> None:
    shared.settings["REDIS_URL"] = way.url
    workers = start(shared, web, 2, FRONTIER_LEASE_SECS=60)  # none is lost
    workers[0].until(lambda: len(logged(shared)) > 10)
    way.loses = True
    workers[0].until(lambda: len(logged(shared)) > 80, STEADY_SECS)
    way.loses = False
    assert_good(workers)
    assert way.lost > 1
    assert not any("away for too long" in worker.stderr for worker in workers)
    assert_all_and_polite(web, twice=0)
    assert sorted(set(logged(shared))) == sorted(web.web.truth().reachable_pages())
