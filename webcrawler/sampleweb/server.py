"""The sample web on loopback: in a thread of this process, or until a signal comes."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
import socket
import threading
import time
from typing import TYPE_CHECKING, Self, TypeVar

from .arrivals import Arrival, ArrivalLog
from .connection import Connection
from .service import Service

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from .web import SampleWeb

Value = TypeVar("Value")

_BACKLOG = 2048
_SWEEP_SECS = 1.0  # how often, at least, connections are checked against their time limits


class SampleServer:
    """Serves a web under all of its host names from one thread; a context manager.

    `web` is the given web with the server's port in its URLs: ask that one for the truth. With
    several addresses (127.0.0.1, 127.0.0.2, …) it listens on the same port of each, and `dns`
    gives every host one of them, in turn.
    """

    def __init__(
        self,
        web: SampleWeb,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        addresses: Sequence[str] = (),
        log: str | Path | None = None,
        keep: int | None = None,
        clock: Callable[[], float] = time.time,
        use_uvloop: bool = True,
        cache_bytes: int = 64 * 1024 * 1024,
        idle_secs: float = 75.0,
        request_secs: float = 20.0,
    ) -> None:
        self.addresses = tuple(addresses) or (host,)
        self.log = ArrivalLog(log, keep)
        try:
            self._sockets = _bind(self.addresses, port)
        except BaseException:
            self.log.close()
            raise
        self.port: int = self._sockets[0].getsockname()[1]
        self.web = web.at(self.port)
        self._clock = clock
        self._cache_bytes = cache_bytes
        self._idle_secs = idle_secs
        self._request_secs = request_secs
        self._loop = _new_loop(use_uvloop)
        self._thread: threading.Thread | None = None
        self._stop = asyncio.Event()

    @property
    def seeds(self) -> tuple[str, ...]:
        """Where a crawl starts."""
        return self.web.seed_urls

    @property
    def dns(self) -> dict[str, str]:
        """Host name, or `*.` and a domain, to address."""
        return self.web.dns(self.addresses)

    def url(self, host: str | int = 0, path: str = "/") -> str:
        """The URL of a path on a host, which is given by name or number."""
        return self.web.url(host, path)

    @property
    def arrivals(self) -> list[Arrival]:
        """The requests that have ended, as far as they are kept."""
        return self._ask(self.log.arrivals)

    @property
    def open_connections(self) -> int:
        """How many connections are open now."""
        return self._ask(lambda: len(self._service.connections))

    def start(self) -> Self:
        """Serve in a thread; connections are accepted when this returns."""
        is_listening = threading.Event()
        errors: list[BaseException] = []

        def run() -> None:
            try:
                self._run(is_listening.set)
            except BaseException as error:
                errors.append(error)
            finally:
                is_listening.set()

        thread = threading.Thread(target=run, name="sampleweb", daemon=True)
        thread.start()
        is_listening.wait()
        if errors:
            raise errors[0]
        return self

    def stop(self) -> None:
        """End all connections and the thread; what was noted stays readable."""
        thread = self._thread
        if thread is None:
            self._close()
        elif thread.is_alive():
            with contextlib.suppress(RuntimeError):  # it has just ended by itself
                self._loop.call_soon_threadsafe(self._stop.set)
            if thread is not threading.current_thread():
                thread.join()

    def run(self, announce: Callable[[Self], None] | None = None) -> None:
        """Serve in this thread, which is the main one, until SIGINT or SIGTERM."""
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.add_signal_handler(number, self._stop.set)
        self._run(lambda: announce(self) if announce else None)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    def _run(self, listening: Callable[[], None]) -> None:
        self._thread = threading.current_thread()
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve(listening))
        finally:
            self._close()

    async def _serve(self, listening: Callable[[], None]) -> None:
        service = self._service = Service(
            self.web, self._loop, self.log, self._clock, self._cache_bytes
        )
        servers = [
            await self._loop.create_server(lambda: Connection(service), sock=sock, backlog=_BACKLOG)
            for sock in self._sockets
        ]
        listening()
        pause = min(_SWEEP_SECS, self._idle_secs / 4, self._request_secs / 4)
        try:
            while not self._stop.is_set():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stop.wait(), pause)
                now = self._loop.time()
                for connection in list(service.connections):
                    connection.expire(now, self._idle_secs, self._request_secs)
        finally:
            for server in servers:
                server.close()
            for connection in list(service.connections):
                connection.abort()
            await asyncio.sleep(0)  # the connections' endings are noted
            await asyncio.sleep(0)

    def _close(self) -> None:
        for sock in self._sockets:
            sock.close()
        self._loop.close()
        self.log.close()

    def _ask(self, question: Callable[[], Value]) -> Value:
        """Put a question to the server's thread, behind everything that it is doing."""
        thread = self._thread
        if thread is None or not thread.is_alive() or thread is threading.current_thread():
            return question()
        answers: list[Value] = []
        is_answered = threading.Event()

        def answer() -> None:
            answers.append(question())
            is_answered.set()

        with contextlib.suppress(RuntimeError):  # it has just ended
            self._loop.call_soon_threadsafe(answer)
        while not is_answered.wait(0.1):
            if not thread.is_alive():
                return question()
        return answers[0]


def serve(
    web: SampleWeb,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    addresses: Sequence[str] = (),
    log: str | Path | None = None,
    keep: int | None = 0,
    announce: Callable[[SampleServer], None] | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM; `announce` is called when connections are accepted."""
    SampleServer(web, host, port, addresses=addresses, log=log, keep=keep).run(announce)


def _bind(addresses: Sequence[str], port: int) -> list[socket.socket]:
    """Sockets on the same port of all addresses; port 0 finds one that is free on each."""
    for attempt in range(50):
        sockets: list[socket.socket] = []
        wanted = port
        try:
            for address in addresses:
                family = socket.AF_INET6 if ":" in address else socket.AF_INET
                sock = socket.socket(family, socket.SOCK_STREAM)
                sockets.append(sock)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                sock.bind((address, wanted))
                wanted = sock.getsockname()[1]
        except OSError as error:
            for sock in sockets:
                sock.close()
            if port or error.errno != errno.EADDRINUSE or attempt == 49:
                raise
        else:
            return sockets
    raise AssertionError("the last attempt returns or raises")


def _new_loop(use_uvloop: bool) -> asyncio.AbstractEventLoop:
    if use_uvloop:
        with contextlib.suppress(ImportError):
            import uvloop  # wanted, not needed

            loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
            return loop
    return asyncio.new_event_loop()
