"""A connection that redis-py has made, written and read without waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import hiredis
import redis

if TYPE_CHECKING:
    from collections.abc import Iterable

_READ_BYTES = 1 << 18
_NOTHING = object()
# What redis-py makes of these; every other error is a ResponseError.
_ERRORS = {"NOSCRIPT": redis.exceptions.NoScriptError, "LOADING": redis.BusyLoadingError}


class Wire:
    """See the module. For nobody else: its socket waits for nobody now."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.timeout: float | None = self._connection.socket_timeout
        self._socket = self._connection._sock
        self._socket.setblocking(False)
        self.fileno: int = self._socket.fileno()
        self._reader = hiredis.Reader(
            protocolError=redis.InvalidResponse, replyError=_error, notEnoughData=_NOTHING
        )
        self._unsent = memoryview(b"")

    @property
    def has_unsent(self) -> bool:
        return bool(self._unsent)

    def send(self, commands: Iterable[tuple[Any, ...]]) -> None:
        """Send as much of it as goes now."""
        self._unsent = memoryview(b"".join(map(hiredis.pack_command, commands)))
        self.send_rest()

    def send_rest(self) -> None:
        while self._unsent:
            try:
                sent = self._socket.send(self._unsent)
            except BlockingIOError:
                return
            self._unsent = self._unsent[sent:]

    def read_into(self, answers: list[Any]) -> None:
        """Add the answers that have come; an error that Redis answers with stands in its place."""
        try:
            data = self._socket.recv(_READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            raise redis.ConnectionError("it has closed the connection")
        self._reader.feed(data)
        while (answer := self._reader.gets()) is not _NOTHING:
            if isinstance(answer, redis.ConnectionError):
                raise answer
            if not isinstance(answer, hiredis.PushNotification):
                answers.append(answer)

    def close(self) -> None:
        self._connection.disconnect()


def _error(text: str) -> redis.RedisError:
    return _ERRORS.get(text.partition(" ")[0], redis.ResponseError)(text)
