"""Steps carried by the event loop itself: to one server, by a plain socket.

No thread takes the interpreter from the crawl: a round trip is one write and one read, when the
socket is ready. One round trip is under way at a time; what is told meanwhile goes with the next.
Connections are made by redis-py, in a thread, for that may take its time.
"""

from __future__ import annotations

import select
import threading
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import redis

from webcrawler.frontier.backends.shared.connection import GONE, explain
from webcrawler.frontier.backends.shared.courier import Courier
from webcrawler.frontier.backends.shared.wire import Wire

if TYPE_CHECKING:
    import asyncio

    from webcrawler.frontier.backends.shared.driver import Call
    from webcrawler.frontier.backends.shared.scripts import Script

_TURN_SECS = 0.05


class Looped(Courier):
    """See the module. All is done by the loop's thread, in `settle` too."""

    def __init__(self, *args: Any, loop: asyncio.AbstractEventLoop, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._loop = loop
        self._queue: list[Call] = []  # to be sent with the next round trip
        self._calls: list[Call] = []  # of the one under way
        self._new: list[Script] = []  # scripts that are loaded in front of them
        self._commands = 0  # that are answered in it
        self._words: list[Any] = []  # answers that have come
        self._timer: asyncio.TimerHandle | None = None
        self._wire: Wire | None = None
        self._connection: Any = None  # redis-py's: always the same, which ends its former self
        self._made: SimpleQueue[Wire | Exception] = SimpleQueue()
        self._stop = threading.Event()
        self._connect(0.0)

    # -- sending

    def flush(self) -> None:
        if self._told:
            self._queue += self._told
            self._told = []
        self._send()

    def _send(self) -> None:
        """Begin a round trip with what was flushed, if none is under way."""
        if not self._queue or self._calls or self._wire is None:
            return
        self._calls, self._queue, self._words = self._queue, [], []
        try:
            self._direct.commands += len(self._calls)
            self._new, commands = self._direct.words(self._calls)
            self._commands = len(commands)
            self._wire.send(commands)
        except GONE as error:
            self._lost(error)
            return
        if self._wire.has_unsent:
            self._loop.add_writer(self._wire.fileno, self._write)
        if self._wire.timeout is not None:
            self._timer = self._loop.call_later(self._wire.timeout, self._is_late)

    def _write(self) -> None:
        if self._wire is None:
            return
        try:
            self._wire.send_rest()
        except GONE as error:
            self._lost(error)
            return
        if not self._wire.has_unsent:
            self._loop.remove_writer(self._wire.fileno)

    def _is_late(self) -> None:
        self._lost(redis.TimeoutError("it does not answer"))

    # -- hearing

    def _read(self) -> None:
        if self._wire is None:
            return
        try:
            self._wire.read_into(self._words)
        except GONE as error:
            self._lost(error)
            return
        except redis.RedisError as error:
            self._give_up(error)
            return
        if self._calls and len(self._words) >= self._commands:
            self._answered()

    def _answered(self) -> None:
        self._cancel_timer()
        calls, self._calls = self._calls, []
        answers: list[Any] = []
        try:
            self._direct.understand(answers, self._words, self._new, calls)
        except redis.RedisError as error:
            self._heard(calls, answers)
            self._give_up(error)
            return
        self._queue[:0] = self._heard(calls, answers)
        self._send()

    def _lost(self, error: Exception) -> None:
        """The connection is gone; what was answered before counts."""
        self._cancel_timer()
        self._drop_wire()
        answers: list[Any] = []
        calls, self._calls = self._calls, []
        self._direct.lost(answers, self._words, self._new)
        self._queue[:0] = self._heard(calls, answers)
        self._new, self._words = [], []
        self._connect(self._pause_after(error, answers))

    def _give_up(self, error: Exception) -> None:
        self._stop.set()
        self._drop_wire()
        is_known = isinstance(error, redis.RedisError)
        self._fail(explain(error, self._direct.place) if is_known else error)

    # -- connecting

    def _connect(self, pause: float) -> None:
        threading.Thread(target=self._make, args=(pause,), name="redis", daemon=True).start()

    def _make(self, pause: float) -> None:
        """In a thread: a connection, or why there is none."""
        if self._stop.wait(pause):
            return
        try:
            if self._connection is None:
                self._connection = self._direct.client.connection_pool.get_connection()
            self._connection.connect()
            self._made.put(Wire(self._connection))
        except Exception as error:
            self._made.put(error)
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._take)

    def _take(self) -> None:
        try:
            made = self._made.get_nowait()
        except Empty:
            return
        if self._stop.is_set():
            if isinstance(made, Wire):
                made.close()
        elif isinstance(made, GONE):
            self._lost(made)
        elif isinstance(made, Exception):
            self._give_up(made)
        else:
            self._wire = made
            self._loop.add_reader(made.fileno, self._read)
            self._send()

    def _drop_wire(self) -> None:
        if self._wire is not None:
            self._loop.remove_reader(self._wire.fileno)
            self._loop.remove_writer(self._wire.fileno)
            self._wire.close()
            self._wire = None

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # -- the end

    def _is_running(self) -> bool:
        return not self._stop.is_set()

    def _turn(self) -> None:
        """What the loop would do if it were not waiting for us."""
        if self._wire is None:
            self._stop.wait(_TURN_SECS / 10)
            self._take()
            return
        poll = select.poll()
        poll.register(self._wire.fileno, select.POLLIN)
        if self._wire.has_unsent:
            poll.register(self._wire.fileno, select.POLLIN | select.POLLOUT)
        for _, events in poll.poll(_TURN_SECS * 1000):
            if events & select.POLLOUT:
                self._write()
            if events & ~select.POLLOUT:
                self._read()

    def close(self) -> None:
        self._stop.set()
        self._cancel_timer()
        self._drop_wire()
