"""Pages to crawl: an nginx of our own on several loopback addresses, and what it was asked for."""

from __future__ import annotations

import random
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PYTHON_DOC = Path("/usr/share/doc/python3.11/html")
POSTGRES_DOC = Path("/usr/share/doc/postgresql-doc-15/html")
# What webcrawler.sampleweb.logs reads.
_ARRIVALS = (
    "$msec $request_time $host $server_addr $remote_addr $connection "
    '$status $body_bytes_sent $request_method $request_uri "$http_user_agent"'
)
_SEEN = "$msec $request_time $status $sent_http_content_type $host$uri"


@dataclass(frozen=True)
class Seen:
    """What a server saw of one crawl."""

    pages: frozenset[str]
    requests: int
    first_at: float
    last_at: float


@dataclass(frozen=True)
class Site:
    seeds: list[str]
    log: Path
    pid: int  # of nginx

    def seen(self) -> Seen:
        """HTML pages that were answered with 200, whatever the crawler says of itself."""
        pages, times, requests = set(), [], 0
        for line in self.log.read_text(encoding="utf-8", errors="replace").splitlines():
            at, took, status, kind, url = line.split(" ", 4)
            requests += 1
            times.append((float(at) - float(took), float(at)))
            if status == "200" and kind.startswith("text/html"):
                pages.add(url)
        first_at = min((start for start, _ in times), default=0.0)
        last_at = max((end for _, end in times), default=0.0)
        return Seen(frozenset(pages), requests, first_at, last_at)


def make_tiny_pages(folder: Path, pages: int = 1000, links: int = 8) -> None:
    """Pages of a few hundred bytes that link to each other, the same at every call."""
    draw = random.Random(1)
    folder.mkdir(parents=True)
    for number in range(pages):
        targets = {(number * 2 + 1) % pages, (number * 2 + 2) % pages}
        targets |= {draw.randrange(pages) for _ in range(links - 2)}
        anchors = "".join(f'<p><a href="{target}.html">page {target}</a>' for target in targets)
        text = f"<!doctype html><title>{number}</title><h1>Page {number}</h1>{anchors}"
        (folder / f"{number}.html").write_text(text, encoding="utf-8")
    (folder / "index.html").write_text('<a href="0.html">start</a>', encoding="utf-8")


def addresses_from(first: str, count: int) -> list[str]:
    """127.0.0.1, 127.0.0.2 and so on, over the ends of the last number."""
    a, b, c, d = (int(part) for part in first.split("."))
    numbers = range(c * 254 + d - 1, c * 254 + d - 1 + count)
    return [f"{a}.{b}.{n // 254}.{n % 254 + 1}" for n in numbers]


@contextmanager
def nginx(root: Path, addresses: int, *, arrivals: bool = False) -> Iterator[Site]:
    """Serves a folder; `arrivals` writes the log for the politeness auditor instead."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        raise SystemExit("nginx is not installed: apt-get install nginx-light")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    hosts = [f"{address}:{port}" for address in addresses_from("127.0.0.1", addresses)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        listens = "".join(f"listen {host};" for host in hosts)
        (folder / "nginx.conf").write_text(
            f"""daemon off; master_process off; pid {folder}/pid; error_log {folder}/error;
            events {{ worker_connections 4096; }}
            http {{
              types {{ text/html html; text/css css; application/javascript js; image/png png;
                       text/plain txt; }}
              log_format seen '{_ARRIVALS if arrivals else _SEEN}';
              access_log {folder}/log seen; keepalive_requests 1000000;
              server {{ {listens} root {root}; }}
            }}""",
            encoding="utf-8",
        )
        command = [program, "-c", str(folder / "nginx.conf"), "-e", str(folder / "error")]
        with subprocess.Popen(command) as server:
            try:
                _wait_for(port)
                yield Site(
                    [f"http://{host}/index.html" for host in hosts], folder / "log", server.pid
                )
            finally:
                server.terminate()
                server.wait()  # Popen itself waits a moment only after Ctrl-C


def _wait_for(port: int) -> None:
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit("nginx did not start")


@contextmanager
def redis_server() -> Iterator[tuple[str, Path]]:
    """A Redis of our own on a Unix socket, nothing kept on disk; its URL, and its socket."""
    program = shutil.which("redis-server")
    if program is None:
        raise FileNotFoundError("redis-server is not installed: apt-get install redis-server")
    with tempfile.TemporaryDirectory() as name:
        socket_path = Path(name) / "redis.sock"
        command = [program, "--port", "0", "--unixsocket", str(socket_path), "--save", ""]
        command += ["--appendonly", "no", "--dir", name, "--loglevel", "warning"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
            try:
                for _ in range(100):
                    if socket_path.exists():
                        break
                    time.sleep(0.05)
                yield f"unix://{socket_path}", socket_path
            finally:
                server.terminate()
                server.wait()  # Popen itself waits a moment only after Ctrl-C
