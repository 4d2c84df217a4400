"""What all connections of a server share: the web, its rendered answers, the log, the limits."""

from __future__ import annotations

from email.utils import formatdate
from typing import TYPE_CHECKING

from .wire import Answer, Request, accepts_gzip, write_answer

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from .arrivals import ArrivalLog
    from .connection import Connection
    from .web import SampleWeb

_OVERHEAD = 600  # bytes that a kept answer takes beside its head and body


class Service:
    """Lives in one event loop. Answers are rendered once and kept while there is room."""

    def __init__(
        self,
        web: SampleWeb,
        loop: asyncio.AbstractEventLoop,
        log: ArrivalLog,
        clock: Callable[[], float],
        cache_bytes: int,
    ) -> None:
        self.web = web
        self.loop = loop
        self.log = log
        self.clock = clock
        self.connections: set[Connection] = set()
        self._connection_count = 0
        self._answers: dict[tuple[str, str, bool], Answer] = {}
        self._room = cache_bytes
        self._attempts: dict[tuple[str, str], int] = {}
        self._date = (0, b"")

    def opened(self, connection: Connection) -> int:
        """Take note of a connection and give it its number."""
        self.connections.add(connection)
        self._connection_count += 1
        return self._connection_count

    def closed(self, connection: Connection) -> None:
        """Forget a connection."""
        self.connections.discard(connection)

    def answer(self, request: Request) -> Answer:
        """The answer to a GET or HEAD request."""
        is_gzip_accepted = accepts_gzip(request.headers.get(b"accept-encoding"))
        key = (request.host, request.target, is_gzip_accepted)
        answer = self._answers.get(key)
        if answer is not None:
            return answer
        page = (request.host, request.target.partition("?")[0])
        attempt = self._attempts.get(page, 0)
        response = self.web.respond(request.host, request.target, attempt)
        answer = write_answer(response, is_gzip_accepted)
        if response.is_constant:
            self._keep(key, answer)
        else:
            self._attempts[page] = attempt + 1
        return answer

    def date_line(self) -> bytes:
        """The Date header, written anew every second."""
        now = int(self.clock())
        if now != self._date[0]:
            self._date = (now, f"Date: {formatdate(now, usegmt=True)}\r\n".encode())
        return self._date[1]

    def _keep(self, key: tuple[str, str, bool], answer: Answer) -> None:
        size = _size(key, answer)
        self._room -= size
        self._answers[key] = answer
        while self._room < 0 and self._answers:
            oldest = next(iter(self._answers))
            self._room += _size(oldest, self._answers.pop(oldest))


def _size(key: tuple[str, str, bool], answer: Answer) -> int:
    # The response holds the body once more where it was compressed.
    return len(key[1]) + len(answer.head) + len(answer.body) + len(answer.response.body) + _OVERHEAD
