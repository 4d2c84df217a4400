"""A server on loopback that does what a test has written down, and notes what was asked and when.

Unlike tests/odd_server.py it can stream without end and knows when each of its answers was through,
which is from when a host's delay counts.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from itertools import pairwise
from socket import SO_LINGER, SOL_SOCKET
from struct import pack
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterable

Stream = Callable[[], AsyncIterator[bytes]]
HTML = "text/html; charset=utf-8"


@dataclass(frozen=True)
class Answer:
    """What is answered: a body whole, or a `stream` of pieces until its reader has enough.

    `ending` is whole, reset (nothing is answered), or hang (nothing ever is); `wait` is how long
    the answer takes.
    """

    status: int = 200
    body: bytes = b"<!DOCTYPE html><title>fine</title><p>A fine page.</p>"
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str = HTML
    ending: str = "whole"
    wait: float = 0.0
    stream: Stream | None = None


@dataclass
class Asked:
    """One request; `ended_at` is when the last byte of its answer was on its way."""

    host: str
    path: str
    headers: dict[str, str]
    at: float
    ended_at: float = 0.0
    sent: int = field(default=0)


Script = Answer | list[Answer] | Callable[[Asked], Answer]


def rules(text: str | bytes, **headers: str) -> Answer:
    """A robots.txt."""
    body = text.encode() if isinstance(text, str) else text
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Answer(200, body, pairs, "text/plain")


def moved(location: str, status: int = 302) -> Answer:
    return Answer(status, b"moved", (("Location", location),))


def page(*links: str, head: str = "", text: str = "", **headers: str) -> Answer:
    """A page with these links, which may be whole elements."""
    elements = [link if link.startswith("<") else f'<a href="{link}">{link}</a>' for link in links]
    body = f"<!DOCTYPE html><title>page</title>{head}<p>{text}</p>{' '.join(elements)}"
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Answer(body=body.encode(), headers=pairs)


class ScriptedServer:
    """Serves `script`: (host, path), or host for all of its other paths.

    A list is answered one after the other, its last for ever. "{port}" in headers and bodies is
    this server's. What is not named is a fine page; robots.txt, unless it is named, is 404.
    """

    def __init__(self, script: dict[Any, Script] | None = None) -> None:
        self.script: dict[Any, Script] = dict(script or {})
        self.asked: list[Asked] = []
        self.port = 0
        self._turns: dict[Any, int] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._ready = threading.Event()

    # -- what a test asks

    def url(self, host: str, path: str = "/") -> str:
        return f"http://{host}:{self.port}{path}"

    def urls(self, hosts: Iterable[str], path: str = "/") -> list[str]:
        return [self.url(host, path) for host in hosts]

    def of(self, host: str) -> list[Asked]:
        """What was asked of a host, in order."""
        return [asked for asked in list(self.asked) if asked.host == host]

    def paths(self, host: str) -> list[str]:
        return [asked.path for asked in self.of(host)]

    def gaps(self, host: str) -> list[float]:
        """Seconds from the end of each answer of a host to its next request."""
        asked = self.of(host)
        return [b.at - a.ended_at for a, b in pairwise(asked)]

    # -- serving

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", self.port, backlog=512)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        mine = asyncio.current_task()
        tasks = [task for task in asyncio.all_tasks() if task is not mine]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; whether the connection can be used again."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head[1:] if line)
        }
        asked = Asked(
            headers.get("host", "").partition(":")[0], head[0].split(" ")[1], headers, time.time()
        )
        self.asked.append(asked)
        answer = self._answer(asked)
        if answer.wait:
            await asyncio.sleep(answer.wait)
        if answer.ending == "hang":
            await asyncio.Event().wait()
        if answer.ending == "reset":
            writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, pack("ii", 1, 0))
            asked.ended_at = time.time()
            writer.transport.abort()
            return False
        lines = [f"HTTP/1.1 {answer.status} Status"]
        if answer.content_type:
            lines.append(f"Content-Type: {answer.content_type}")
        lines += [f"{k}: {v}".replace("{port}", str(self.port)) for k, v in answer.headers]
        body = answer.body.replace(b"{port}", str(self.port).encode())
        if answer.stream is None:
            lines.append(f"Content-Length: {len(body)}")
        writer.write("\r\n".join([*lines, "\r\n"]).encode("latin-1"))
        if answer.stream is None:
            writer.write(body)
            asked.sent = len(body)
            asked.ended_at = time.time()
            await writer.drain()
            return True
        async for piece in answer.stream():
            writer.write(piece)
            asked.sent += len(piece)
            asked.ended_at = time.time()
            await writer.drain()
        return False

    def _answer(self, asked: Asked) -> Answer:
        for key in ((asked.host, asked.path), asked.host):
            if key in self.script:
                if key == asked.host and asked.path == "/robots.txt":
                    continue
                found = self.script[key]
                if isinstance(found, list):
                    turn = self._turns.get(key, 0)
                    self._turns[key] = turn + 1
                    found = found[min(turn, len(found) - 1)]
                return found if isinstance(found, Answer) else found(asked)
        return Answer(404, b"none") if asked.path == "/robots.txt" else Answer()

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        self._loop.close()
