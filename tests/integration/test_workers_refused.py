"""What can be wrong with Redis is one sentence, and exit code 2."""

from __future__ import annotations

import signal
import socketserver
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.integration.test_workers import (
    assert_all_and_polite,
    assert_good,
    assert_one_sentence,
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


class _OldRedis(socketserver.StreamRequestHandler):
    """Knows one thing: its version. Before 6 there was no HELLO."""

    version = b""

    def handle(self) -> None:
        about = b"redis_version:%s\r\nredis_mode:standalone\r\n" % self.version
        hello = b"%1\r\n$5\r\nproto\r\n:3\r\n"
        if self.version < b"6":
            hello = b"-ERR unknown command `HELLO`, with args beginning with: `3`\r\n"
        answers = {b"INFO": b"$%d\r\n%s\r\n" % (len(about), about), b"HELLO": hello}
        while line := self.rfile.readline():
            words = []
            for _ in range(int(line[1:])):
                size = int(self.rfile.readline()[1:])
                words.append(self.rfile.read(size + 2)[:-2].upper())
            self.wfile.write(answers.get(words[0], b"+OK\r\n"))


@contextmanager
def old_redis(version: bytes) -> Iterator[str]:
    handler = type("OldRedis", (_OldRedis,), {"version": version})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as old:
        old.daemon_threads = True
        threading.Thread(target=old.serve_forever, daemon=True).start()
        yield f"redis://127.0.0.1:{old.server_address[1]}/0"
        old.shutdown()


@pytest.mark.parametrize(
    ("version", "said"), [(b"5.0.14", "is too old"), (b"6.0.16", "is version 6.0.16")]
)
def test_a_redis_that_is_too_old(
    shared: Crawls, web: SampleServer, version: bytes, said: str
) -> None:
    with old_redis(version) as shared.settings["REDIS_URL"]:
        worker = shared.start("web", web.seeds)
        assert_one_sentence(worker, f"{said}: at least 6.2 is needed")


def test_a_crawl_of_another_shape(shared: Crawls, web: SampleServer) -> None:
    assert_good(start(shared, web, 1, max_pages=3, FRONTIER_FRONT_QUEUES=4))
    other = shared.start("web", web.seeds, FRONTIER_FRONT_QUEUES=5)
    assert_one_sentence(other, "was started with FRONTIER_FRONT_QUEUES=4, not 5")
    other = shared.start("web", web.seeds, FRONTIER_FRONT_QUEUES=4, FRONTIER_PARTITIONS=9)
    assert_one_sentence(other, "was started with FRONTIER_PARTITIONS=8, not 9")


def test_a_redis_that_becomes_full(shared: Crawls, web: SampleServer, server: RedisServer) -> None:
    workers = start(shared, web, 2)
    workers[0].until(lambda: len(logged(shared)) > 30)
    server.client().config_set("maxmemory", "1mb")  # less than it uses empty
    for worker in workers:
        assert_one_sentence(worker, "is full: give it more memory")
    server.client().config_set("maxmemory", "0")
    assert_good(start(shared, web, 2))
    assert_all_and_polite(web, twice=16)


@pytest.mark.slow
def test_a_crawl_ends_though_redis_is_gone(
    shared: Crawls, web: SampleServer, server: RedisServer
) -> None:
    shared.settings |= {"CONTENTSEEN_ENABLED": True, "NEARDUP_ENABLED": True}
    (worker,) = start(shared, web, 1)
    worker.until(lambda: len(logged(shared)) > 10)
    server.stop()
    worker.until(lambda: "Redis is gone" in worker.stderr)
    worker.signal(signal.SIGTERM)
    assert worker.wait() in (0, 2), worker.stderr
    assert "Traceback" not in worker.stderr, worker.stderr
    server.start()
    assert_good(start(shared, web, 1))
    assert_all_and_polite(web, twice=24)
