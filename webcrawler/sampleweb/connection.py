"""One connection of a client: requests in, answers out, in order, each noted."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import TYPE_CHECKING, cast

from .arrivals import Arrival
from .response import DRIP, RESET, TRUNCATED, Response
from .wire import (
    STATUS_LINES,
    Answer,
    BadRequest,
    Request,
    is_unchanged,
    read_request,
    write_answer,
)

if TYPE_CHECKING:
    from .service import Service

_HEAD_LIMIT = 32 * 1024
_BODY_LIMIT = 1024 * 1024
_PENDING_LIMIT = 64 * 1024  # what may wait, unread, behind a request that is being answered


class Connection(asyncio.Protocol):
    """Answers one request at a time; what a client sends meanwhile waits, within bounds."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._transport: asyncio.Transport | None = None
        self._number = 0
        self._client = self._server = ""
        self._buffer = b""
        self._skipped = 0  # bytes of a request's body that are still to come
        self._heard_at = 0.0  # when the buffer's first byte came
        self._chunk_at = 0.0  # when its last bytes came
        self._request: Request | None = None  # the one that is being answered
        self._arrived_at = 0.0  # when that one's first byte came
        self._sent_at = 0.0  # just before its answer's last byte was written
        self._status = self._size = 0
        self._is_sent = False
        self._is_clogged = False  # the client reads more slowly than we write
        self._is_reading_paused = False
        self._is_last = False  # the connection closes after this answer
        self._is_eof = False  # the client sends nothing more
        self._timer: asyncio.TimerHandle | None = None
        # By the loop's clock, for time limits: the last move, and the start of a request.
        self._active_at = self._started_at = 0.0

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport = cast(asyncio.Transport, transport)
        # With no room for waiting bytes, asyncio tells when the last one has gone out.
        transport.set_write_buffer_limits(high=0)
        self._client = str(transport.get_extra_info("peername", ("",))[0])
        self._server = str(transport.get_extra_info("sockname", ("",))[0])
        self._active_at = self._service.loop.time()
        self._number = self._service.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._service.closed(self)
        if self._timer is not None:
            self._timer.cancel()
        if self._request is not None:
            self._note(is_complete=False)
        self._transport = None

    def data_received(self, data: bytes) -> None:
        self._chunk_at = self._service.clock()
        self._active_at = self._service.loop.time()
        if self._buffer:
            self._buffer += data
        else:
            self._buffer = data
            self._heard_at = self._chunk_at
            self._started_at = self._active_at
        if self._request is None:
            self._advance()
        elif len(self._buffer) > _PENDING_LIMIT and self._transport is not None:
            self._is_reading_paused = True
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        self._is_eof = True
        if self._timer is not None:
            # One who waits for a slow page and is killed looks like this, and has gone.
            return False
        # A client may close its half after the last request and still read the answers.
        self._advance()
        return self._request is not None

    def pause_writing(self) -> None:
        self._is_clogged = True

    def resume_writing(self) -> None:
        self._is_clogged = False
        self._active_at = self._service.loop.time()
        if self._is_sent:
            self._finish()
            # Not at once: asyncio's transports must not be closed from within this call.
            self._service.loop.call_soon(self._advance)

    # What the service calls

    def expire(self, now: float, idle_secs: float, request_secs: float) -> None:
        """End the connection if nothing has moved for too long, by the loop's clock."""
        quiet = now - self._active_at
        if self._transport is None:
            return
        if self._request is None and not self._buffer and not self._skipped:
            if quiet > idle_secs:
                self._transport.close()
        elif self._is_clogged and quiet > request_secs:
            self._transport.abort()
        elif self._request is None and now - self._started_at > request_secs:
            self._refuse(408, "too slow")
            self._advance()

    def abort(self) -> None:
        """End the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    # Reading

    def _advance(self) -> None:
        """Answer what has come in, one after the other, until something has to be waited for."""
        transport = self._transport
        if transport is None:
            return
        while self._request is None and not transport.is_closing():
            if self._is_last or not self._take():
                break
        if self._request is not None:
            return
        if self._is_last or self._is_eof:
            transport.close()
        elif self._is_reading_paused:
            self._is_reading_paused = False
            transport.resume_reading()

    def _take(self) -> bool:
        """Take a request from the buffer and answer it; False if none is there as a whole."""
        if self._skipped:
            cut = min(self._skipped, len(self._buffer))
            self._skipped -= cut
            self._buffer = self._buffer[cut:]
        if self._buffer.startswith(b"\r\n"):  # allowed before a request line
            self._buffer = self._buffer.lstrip(b"\r\n")
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0 and len(self._buffer) <= _HEAD_LIMIT:
            return False
        if not 0 <= end <= _HEAD_LIMIT:
            self._refuse(431, "too long")
            return True
        head = self._buffer[:end]
        try:
            request = read_request(head)
        except BadRequest as error:
            self._refuse(error.status, error.reason)
            return True
        self._buffer = self._buffer[end + 4 :]
        self._skipped = request.body_size
        self._arrived_at = self._heard_at
        # What follows in the buffer came with the last bytes, or before them.
        self._heard_at = self._chunk_at
        self._answer(request)
        return True

    # Answering

    def _answer(self, request: Request) -> None:
        self._request = request
        self._is_last = self._is_last or not request.is_kept_alive
        if request.body_size > _BODY_LIMIT:
            self._is_last = True
            answer = _plain(413, "too large")
        elif request.method not in ("GET", "HEAD"):
            answer = _plain(405, "GET and HEAD only", ("Allow", "GET, HEAD"))
        else:
            answer = self._service.answer(request)
        response = answer.response
        self._status = response.status
        if response.ending == RESET:
            self._reset()
        elif response.delay and response.ending != DRIP:
            self._later(response.delay, answer)
        else:
            self._send(answer)

    def _later(self, delay: float, answer: Answer) -> None:
        self._timer = self._service.loop.call_later(delay, self._send_later, answer)

    def _send_later(self, answer: Answer) -> None:
        self._timer = None
        self._send(answer)
        self._advance()

    def _send(self, answer: Answer) -> None:
        request, transport = self._request, self._transport
        if transport is None or request is None:
            return
        response, body = answer.response, answer.body
        status = response.status
        if is_unchanged(request, answer):
            self._status = status = 304
            body = b""
        elif request.method == "HEAD":
            body = b""
        head = STATUS_LINES[status] + self._service.date_line()
        head += answer.unchanged_head if status == 304 else answer.head
        if self._is_last:
            head += b"Connection: close\r\n"
        elif b"connection" in request.headers:
            head += b"Connection: keep-alive\r\n"
        head += b"\r\n"
        half = len(body) // 2
        self._size = len(body)
        self._sent_at = self._service.clock()
        if response.ending == TRUNCATED and body:
            self._is_last = True
            self._size = half
            transport.write(head + body[:half])
            self._note(is_complete=False)
        elif response.ending == DRIP and body:
            transport.write(head + body[:half])
            self._timer = self._service.loop.call_later(
                response.delay, self._send_rest, body[half:]
            )
        else:
            transport.write(head + body)
            self._sent()

    def _send_rest(self, rest: bytes) -> None:
        self._timer = None
        if self._transport is not None:
            self._sent_at = self._service.clock()
            self._transport.write(rest)
            self._sent()
            self._advance()

    def _sent(self) -> None:
        self._is_sent = True
        if not self._is_clogged:
            self._finish()
        else:
            self._sent_at = 0.0  # it is still on its way

    def _finish(self) -> None:
        """The last byte of the answer has gone out."""
        self._is_sent = False
        self._note(is_complete=True)

    def _reset(self) -> None:
        transport = self._transport
        if transport is not None:
            # Without lingering, closing sends RST instead of FIN.
            sock = transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._note(is_complete=False)
            transport.abort()

    def _refuse(self, status: int, reason: str) -> None:
        """Answer what is no request, and have done with it."""
        self._request = Request("", "", "", {}, False, 0)
        self._arrived_at = self._heard_at
        self._status = status
        self._is_last = True
        self._buffer = b""
        self._send(_plain(status, reason))

    def _note(self, *, is_complete: bool) -> None:
        request = self._request
        if request is None:
            return
        self._request = None
        self._service.log.note(
            Arrival(
                request.host,
                request.target,
                self._status,
                self._arrived_at,
                # Before the write: after it, the client may have read the answer, waited and asked
                # again before a busy machine lets this process look at its clock.
                self._sent_at or self._service.clock(),
                self._client,
                self._server,
                self._number,
                request.method,
                self._size,
                request.headers.get(b"user-agent", b"").decode("latin-1"),
                is_complete,
            )
        )
        self._size = 0
        self._sent_at = 0.0


def _plain(status: int, reason: str, *headers: tuple[str, str]) -> Answer:
    body = f"{status} {reason}\n".encode()
    return write_answer(Response(status, "text/plain; charset=utf-8", body, headers), False)
