"""The first bytes of an answer exactly as they came.

For two things. The archive wants the very bytes of a head; aiohttp keeps names and values, not
what is between them (white space, line ends, folded lines, the status line). And an answer that is
followed by bytes nobody announced (a length that is too small, a body after 204 or 304 or HEAD) is
readable, as every browser shows, but aiohttp's parser throws it away if all comes in one piece.

aiohttp gives no public place to listen: this is the one file that reaches into its connector.
Where that fails some day, heads are put together again from what aiohttp keeps, which differs from
the original only in white space, and the talkative servers are errors.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from aiohttp.client_proto import ResponseHandler
from aiohttp.http import HttpResponseParser

if TYPE_CHECKING:
    import asyncio
    from typing import Any

    from aiohttp import TCPConnector
    from aiohttp.http import RawResponseMessage
    from aiohttp.streams import StreamReader

_END = re.compile(rb"\r?\n\r?\n")
_LENGTH = re.compile(rb"^content-length:[ \t]*(\d{1,9})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_BODILESS = frozenset({b"204", b"304"})


class TappedProtocol(ResponseHandler):
    """A connection that remembers how an answer began: `limit` bytes and a read more at most."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limit: int) -> None:
        super().__init__(loop)
        self._limit = limit
        self._heard: list[bytes] = []
        self._room = 0

    def set_response_params(self, **options: Any) -> None:
        # The start of an exchange, hence of an answer.
        self._heard = []
        self._room = self._limit
        super().set_response_params(**options)

    def data_received(self, data: bytes) -> None:
        if self._room > 0:
            self._heard.append(data)
            self._room -= len(data)
        super().data_received(data)

    def take_heard(self) -> bytes:
        """What was heard since the exchange began; stops listening."""
        heard, self._heard = self._heard, []
        self._room = 0
        return b"".join(heard)


def install_tap(connector: TCPConnector, loop: asyncio.AbstractEventLoop, limit: int) -> None:
    """Makes the connector's future connections remember; without effect on an unknown aiohttp."""
    if hasattr(connector, "_factory"):
        connector._factory = functools.partial(TappedProtocol, loop=loop, limit=limit)  # type: ignore[assignment]  # same call, a subclass


def forget(protocol: ResponseHandler) -> None:
    """Lets go of what was heard: an idle connection should not hold a page."""
    if isinstance(protocol, TappedProtocol):
        protocol.take_heard()


def take_head(protocol: ResponseHandler, message: RawResponseMessage, interim: int) -> bytes:
    """The head of the answer just read: its own bytes, or put together from what is known.

    `interim` is how many 1xx answers came before it.
    """
    if isinstance(protocol, TappedProtocol):
        heard = protocol.take_heard()
        start = len(heard) - len(heard.lstrip(b"\r\n"))
        for _ in range(interim):
            end = _END.search(heard, start)
            if end is None:
                break
            start = end.end()
        end = _END.search(heard, start)
        if end is not None:
            return heard[start : end.end()]
    return assemble_head(message)


def assemble_head(message: RawResponseMessage) -> bytes:
    """The head as it is usually written."""
    version = message.version
    reason = (message.reason or "").encode("utf-8", "surrogateescape")
    lines = [b"HTTP/%d.%d %d %s" % (version.major, version.minor, message.code, reason)]
    lines.extend(name + b": " + value for name, value in message.raw_headers)
    return b"\r\n".join(lines) + b"\r\n\r\n"


def read_without_surplus(
    protocol: ResponseHandler,
    loop: asyncio.AbstractEventLoop,
    limit: int,
    max_headers: int,
    *,
    bodiless: bool,
) -> tuple[RawResponseMessage, StreamReader] | None:
    """The answer that a parser gave up on because more came with it; None if that was not why."""
    if not isinstance(protocol, TappedProtocol):
        return None
    heard = b"".join(protocol._heard)
    end = _END.search(heard)
    if end is None:
        return None
    size = end.end()
    if not bodiless and heard[9:12] not in _BODILESS:
        length = _LENGTH.search(heard, 0, size)
        if length is None:
            return None
        size += int(length[1])
    if size >= len(heard):
        return None
    parser = HttpResponseParser(
        protocol,
        loop,
        2**16,
        response_with_body=not bodiless,
        read_until_eof=True,
        auto_decompress=False,
        max_line_size=limit,
        max_field_size=limit,
        max_headers=max_headers,
    )
    try:
        messages, _, _ = parser.feed_data(heard[:size])
    except Exception:
        return None  # there is more wrong with it
    if len(messages) != 1 or not messages[0][1].is_eof():
        return None
    message, payload = messages[0]
    return None if 100 <= message.code < 200 else (message, payload)
