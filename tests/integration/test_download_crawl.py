"""Real crawls in processes of their own, with and without the Twisted reactor."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import brotli
import pytest

from tests.ports import free_port
from tests.programs import program

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
PAGE = b"<html><title>p</title><p>hello</p></html>"
BOMB_SIZE = 64 * 1024 * 1024

SPIDER = """
import json, sys
import scrapy
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.downloadermiddlewares import cookies
from tldextract import TLDExtract

# Scrapy's own would download the list of public suffixes, and log that it could not.
cookies._split_domain = TLDExtract(suffix_list_urls=(), cache_dir=None)

PATHS, SETTINGS, BASE, OUT = json.loads(sys.argv[1])

class Crawl(scrapy.Spider):
    name = "crawl"
    seen = {}
    left = []

    async def start(self):
        self.downloader = self.crawler.engine.downloader
        if hasattr(self.downloader, "on_left"):
            self.downloader.on_left = lambda request, result: self.left.append(request.url)
        for path in PATHS:
            yield scrapy.Request(BASE + path, meta={"path": path, "cookiejar": 1},
                                 errback=self.fail, dont_filter=True)

    def parse(self, response):
        self.seen[response.meta["path"]] = {
            "status": response.status, "size": len(response.body), "url": response.url,
            "class": type(response).__name__, "retries": response.meta.get("retry_times", 0),
            "slot": response.meta["download_slot"], "ip": str(response.ip_address),
            "wire": "wire" in response.meta, "latency": response.meta["download_latency"] > 0,
        }
        if response.meta["path"] == "/cookie":
            yield response.follow("/echo", meta={"path": "/echo", "cookiejar": 1})
        if response.meta["path"] == "/echo":
            self.seen["/echo"]["text"] = response.text

    def fail(self, failure):
        self.seen[failure.request.meta["path"]] = {
            "error": type(failure.value).__name__,
            "retries": failure.request.meta.get("retry_times", 0),
        }

    def closed(self, reason):
        json.dump({"reason": reason, "seen": self.seen, "left": self.left,
                   "active": len(self.downloader.active),
                   "loop": type(__import__("asyncio").get_running_loop()).__module__,
                   "peak": peak_bytes(),
                   "stats": {k: v for k, v in self.crawler.stats.get_stats().items()
                             if isinstance(v, (int, str))}}, open(OUT, "w"))

def peak_bytes():
    # Not getrusage's: that one remembers the process that started this one.
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024

process = AsyncCrawlerProcess({
    "DOWNLOAD_HANDLERS": {"http": "webcrawler.download.AiohttpHandler",
                          "https": "webcrawler.download.AiohttpHandler"},
    "DOWNLOADER": "webcrawler.download.Downloader",
    "TELNETCONSOLE_ENABLED": False, "LOG_LEVEL": "INFO", "DOWNLOAD_DELAY": 0,
    "DNS_HOSTS": "*.test=127.0.0.1", "RETRY_TIMES": 2, "ARCHIVE_ENABLED": False, **SETTINGS})
process.crawl(Crawl)
process.start()
"""


def answer(head: str, body: bytes = b"") -> bytes:
    return f"HTTP/1.1 {head}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@cache
def bomb(path: str) -> bytes:
    """A page of a few kilobytes that unpacks to BOMB_SIZE."""
    zeros = bytes(BOMB_SIZE)
    coding, packed = {
        "/gzip-bomb": lambda: ("gzip", gzip.compress(zeros)),
        "/deflate-bomb": lambda: ("deflate", zlib.compress(zeros)),
        "/br-bomb": lambda: ("br", brotli.compress(zeros, quality=4)),
        "/twice-bomb": lambda: ("gzip, gzip", gzip.compress(gzip.compress(zeros))),
    }[path]()
    return answer(f"200 OK\r\nContent-Type: text/html\r\nContent-Encoding: {coding}", packed)


class Site:
    """A small site in a thread: pages, redirects, bombs, and ways to fail."""

    def __init__(self) -> None:
        html = "200 OK\r\nContent-Type: text/html"
        self.visits: Counter[str] = Counter()
        self.answers = {
            "/page": answer(html, PAGE),
            "/gzip": answer(f"{html}\r\nContent-Encoding: gzip", gzip.compress(PAGE)),
            "/large": answer(html, bytes(3_000_000)),
            "/redirect": answer("302 Found\r\nLocation: /page"),
            "/cookie": answer(f"{html}\r\nSet-Cookie: a=b", PAGE),
            "/garbage": b"\x00\x01garbage\r\n\r\n",
            "/drop": b"",
            "/missing": answer("404 Not Found", b"no"),
        }

    def start(self) -> None:
        started = threading.Event()
        threading.Thread(target=self._run, args=(started,), daemon=True).start()
        assert started.wait(10)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)

    def _run(self, started: threading.Event) -> None:
        async def main() -> None:
            self._loop = asyncio.get_running_loop()
            self._stopped = asyncio.Event()
            server = await asyncio.start_server(self._talk, "127.0.0.1", 0)
            self.base = f"http://site.test:{server.sockets[0].getsockname()[1]}"
            started.set()
            await self._stopped.wait()
            server.close()

        asyncio.run(main())

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                path = head.split()[1].decode().partition("?")[0]
                self.visits[path] += 1
                if path == "/flaky" and self.visits[path] < 3:
                    writer.write(answer("503 Busy"))
                elif path == "/flaky":
                    writer.write(self.answers["/page"])
                elif path == "/echo":
                    writer.write(answer("200 OK\r\nContent-Type: text/plain", head))
                elif path == "/hang":
                    await self._stopped.wait()
                    return
                elif path.endswith("-bomb"):
                    writer.write(bomb(path))
                else:
                    writer.write(self.answers[path])
                    if path in ("/drop", "/garbage"):
                        return
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    made.start()
    yield made
    made.stop()


def crawl(tmp_path: Path, base: str, paths: list[str], **settings: Any) -> dict[str, Any]:
    script, out = tmp_path / "crawl.py", tmp_path / "out.json"
    script.write_text(SPIDER, encoding="utf-8")
    done = subprocess.run(
        [
            *(sys.executable, "-W", "always::DeprecationWarning", str(script)),
            json.dumps([paths, settings, base, str(out)]),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "no_proxy": "*"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    for word in ("Traceback", "DeprecationWarning", "Unclosed", "never retrieved", "unhandled"):
        assert word not in done.stderr, done.stderr
    result: dict[str, Any] = json.loads(out.read_text())
    assert result["active"] == 0
    return result


REACTORS = {
    "reactor": {},
    "no reactor": {"TWISTED_REACTOR_ENABLED": False},
    "reactor on uvloop": {"ASYNCIO_EVENT_LOOP": "uvloop.Loop"},
    "uvloop alone": {"ASYNCIO_EVENT_LOOP": "uvloop.Loop", "TWISTED_REACTOR_ENABLED": False},
}


@pytest.mark.parametrize("reactor", REACTORS)
def test_a_crawl(tmp_path: Path, site: Site, reactor: str) -> None:
    paths = ["/page", "/gzip", "/redirect", "/flaky", "/cookie", "/garbage", "/drop", "/missing"]
    result = crawl(tmp_path, site.base, paths, HTTPERROR_ALLOW_ALL=True, **REACTORS[reactor])
    seen = result["seen"]
    assert result["reason"] == "finished"
    assert ("uvloop" in result["loop"]) == ("uvloop" in reactor)
    assert seen["/page"] == {
        "status": 200,
        "size": len(PAGE),
        "url": f"{site.base}/page",
        "class": "HtmlResponse",
        "retries": 0,
        "slot": "site.test",
        "ip": "127.0.0.1",
        "wire": False,
        "latency": True,
    }
    assert (seen["/gzip"]["size"], seen["/gzip"]["class"]) == (len(PAGE), "HtmlResponse")
    assert seen["/redirect"]["url"] == f"{site.base}/page"
    assert (seen["/flaky"]["status"], seen["/flaky"]["retries"]) == (200, 2)
    assert "Cookie: a=b" in seen["/echo"]["text"]
    assert seen["/garbage"] == {"error": "DownloadFailedError", "retries": 2}
    assert seen["/drop"] == {"error": "DownloadFailedError", "retries": 2}
    assert seen["/missing"]["status"] == 404
    # Every fetch left the downloader once, whatever became of it.
    fetched = Counter(url.removeprefix(site.base) for url in result["left"])
    assert fetched == site.visits


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "twice"])
def test_a_bomb_is_not_unpacked(tmp_path: Path, site: Site, name: str) -> None:
    path = f"/{name}-bomb"
    assert len(bomb(path)) < 100_000
    result = crawl(tmp_path, site.base, [path, "/page"], DOWNLOAD_MAXSIZE=1_000_000)
    assert result["seen"][path]["error"] == "IgnoreRequest"
    assert result["seen"]["/page"]["status"] == 200
    assert result["peak"] < 300 * 1024 * 1024


def test_limits_from_settings(tmp_path: Path, site: Site) -> None:
    result = crawl(
        tmp_path,
        site.base,
        ["/large", "/hang", "/page"],
        DOWNLOAD_MAXSIZE=1_000_000,
        DOWNLOAD_TIMEOUT=1,
        RETRY_TIMES=0,
        ARCHIVE_ENABLED=True,
    )
    assert result["seen"]["/large"]["error"] == "DownloadCancelledError"
    assert result["seen"]["/hang"]["error"] == "DownloadTimeoutError"
    assert result["seen"]["/page"]["wire"]


def test_nothing_listens_there(tmp_path: Path) -> None:
    result = crawl(tmp_path, "http://127.0.0.1:9", ["/"], RETRY_TIMES=1)
    assert result["seen"]["/"] == {"error": "DownloadConnectionRefusedError", "retries": 1}


def test_scrapys_own_downloader_takes_the_handler(tmp_path: Path, site: Site) -> None:
    result = crawl(tmp_path, site.base, ["/page"], DOWNLOADER="scrapy.core.downloader.Downloader")
    assert result["seen"]["/page"]["status"] == 200


@pytest.fixture
def nginx(tmp_path: Path) -> Iterator[str]:
    """nginx serving a folder of pages; the base URL."""
    server = program("nginx")
    port = free_port()
    folder = tmp_path / "nginx"
    (folder / "www").mkdir(parents=True)
    for number in range(50):
        (folder / "www" / f"{number}.html").write_bytes(PAGE * (number * 100 + 1))
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    # Started by root it would become somebody who may not read this test's folder.
    user = "user root; " if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(
        f"{user}daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1;"
        " events { worker_connections 256; }"
        f" http {{ access_log {folder}/access.log combined; {temporary} gzip on; gzip_types *;"
        " types { text/html html; } keepalive_requests 7;"
        f" server {{ listen 127.0.0.1:{port}; root {folder}/www; }} }}"
    )
    process = subprocess.Popen(
        [server, "-p", str(folder), "-e", f"{folder}/error.log", "-c", f"{folder}/nginx.conf"]
    )
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://n.test:{port}"
    finally:
        process.terminate()
        process.wait(10)


def test_nginx(tmp_path: Path, nginx: str) -> None:
    # Connections are closed after seven requests, bodies come compressed and in chunks.
    paths = [f"/{number % 50}.html" for number in range(100)]
    result = crawl(tmp_path, nginx, paths, CONCURRENT_REQUESTS=8)
    assert result["stats"]["downloader/response_status_count/200"] == 100
    assert "retry/count" not in result["stats"]
    for number in range(50):
        seen = result["seen"][f"/{number}.html"]
        assert (seen["size"], seen["class"]) == (len(PAGE) * (number * 100 + 1), "HtmlResponse")
