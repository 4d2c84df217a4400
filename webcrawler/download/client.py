"""One HTTP/1.1 exchange after another over aiohttp's pooled connections.

aiohttp's connector does what is hard (names, happy eyeballs, TLS, proxy tunnels, the pool) and its
C parser reads the answers; ClientSession is left out. What it does besides, redirects, cookies,
authentication, tracing, decompression, is done in Scrapy's middlewares here, and costs more than
the exchange itself: a tiny page took 90 us through the session and 30 to 40 this way.

No Scrapy in this file. Errors are aiohttp's, OSError, TimeoutError and the three below.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, Protocol

from aiohttp import (
    ClientConnectionError,
    ClientError,
    ClientPayloadError,
    ClientRequest,
    ClientTimeout,
    ServerDisconnectedError,
    TCPConnector,
)
from aiohttp.http_exceptions import HttpProcessingError
from multidict import CIMultiDict
from yarl import URL

from webcrawler.download.deadline import Deadline
from webcrawler.download.tap import forget, install_tap, read_without_surplus, take_head
from webcrawler.download.wire import Wire

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from aiohttp.client_proto import ResponseHandler
    from aiohttp.connector import Connection
    from aiohttp.http import RawResponseMessage
    from aiohttp.streams import StreamReader

    from webcrawler.download.dns import CachedResolver
    from webcrawler.download.limits import Limits
    from webcrawler.download.origin import Origin

_NO_TIMEOUT = ClientTimeout(total=None)  # ours spans more than aiohttp's
_MAX_HEADERS = 256
_MAX_INTERIM = 16


class HeadTooLargeError(ClientError):
    """The status line and headers exceed their bound."""


class BodyTooLargeError(ClientError):
    """The body exceeds its bound, or announces that it will."""

    def __init__(self, size: int, limit: int, *, announced: bool) -> None:
        super().__init__(f"{size} bytes {'announced' if announced else 'received'}, limit {limit}")
        self.size = size


class BadAnswerError(ClientError):
    """An answer that is HTTP, but no answer to what was asked."""


class Peer(NamedTuple):
    """The other end of a connection."""

    address: str
    certificate: bytes | None


class Answer(NamedTuple):
    """What came back. `complete` is false where the body was cut off by the other side."""

    message: RawResponseMessage
    body: bytes
    peer: Peer
    first_byte_secs: float
    complete: bool
    stopped: bool
    wire: Wire | None


class Watcher(Protocol):
    """Somebody who looks on and may end a download early; absent in the normal case."""

    def head(self, message: RawResponseMessage) -> bool:
        """Called once before the body; true ends the download here."""

    def chunk(self, data: bytes) -> bool:
        """Called for every piece of the body; true ends the download after it."""


class HttpClient:
    """A pool of connections and the exchanges over it.

    `pool_size` bounds connections in use, `idle_size` those kept alive for later (aiohttp bounds
    only the former, and a crawl of many hosts would keep one open for each). Made anywhere, used
    in one event loop; the connector is made at the first exchange.
    """

    def __init__(
        self,
        *,
        limits: Limits,
        resolver: CachedResolver,
        tls: ssl.SSLContext,
        pool_size: int = 100,
        idle_size: int = 200,
        keep_alive_secs: float = 15.0,
        bind_address: tuple[str, int] | None = None,
        keep_wire: bool = False,
    ) -> None:
        self.limits = limits
        self.resolver = resolver
        self._tls = tls
        self._pool_size = pool_size
        self._idle_size = idle_size
        self._keep_alive_secs = keep_alive_secs
        self._bind_address = bind_address
        self._keep_wire = keep_wire
        self._connector: TCPConnector | None = None
        self._idle: OrderedDict[ResponseHandler, Peer] = OrderedDict()
        self._direct = lru_cache(maxsize=8192)(self._make_route)

    def route(
        self, origin: Origin, proxy: str | None = None, proxy_authorization: str | None = None
    ) -> ClientRequest:
        """How to reach an origin, in the form the connector takes.

        ValueError for a proxy that is not http or https, PrivateAddressError for an address
        literal the resolver refuses.
        """
        if proxy is None:
            return self._direct(origin.url)
        self.resolver.check_literal(origin.host)
        proxy_url = URL(proxy)
        if proxy_url.scheme not in ("http", "https") or not proxy_url.raw_host:
            raise ValueError(f"only http and https proxies are supported, not {proxy!r}")
        self.resolver.allow(proxy_url.raw_host)
        headers: CIMultiDict[str] = CIMultiDict()
        if proxy_authorization is not None and origin.url.scheme == "https":
            headers["Proxy-Authorization"] = proxy_authorization
        return ClientRequest(
            "GET",
            origin.url,
            loop=asyncio.get_running_loop(),
            ssl=self._tls,
            proxy=proxy_url,
            proxy_headers=headers,
        )

    async def exchange(
        self,
        route: ClientRequest,
        head: bytes,
        body: bytes = b"",
        *,
        method: str = "GET",
        max_size: int = 0,
        total_secs: float = 180.0,
        watcher: Watcher | None = None,
        may_send: Callable[[], bool] | None = None,
    ) -> Answer:
        """Sends one request, once, and returns its answer, whole.

        `may_send` is asked when there is a connection, just before the request is written to it.
        """
        limits = self.limits
        loop = asyncio.get_running_loop()
        connector = self._connector or self._open(loop)
        at = time.time()
        began = time.perf_counter()  # uvloop's own clock stands still between two polls
        started_at = loop.time()
        with Deadline(loop, started_at + min(limits.first_byte_secs, total_secs)) as deadline:
            peer: Peer | None
            while True:
                connection = await connector.connect(route, [], _NO_TIMEOUT)
                protocol = connection.protocol
                assert protocol is not None
                peer = self._idle.pop(protocol, None)
                if peer is None or not (protocol.should_close or protocol.transport is None):
                    break
                # It was closed or talked while it idled: whatever it said is no answer to this.
                connection.close()
            try:
                if may_send is not None and not may_send():
                    raise ClientConnectionError("not sent: the host is another worker's by now")
                message, payload, interim = await self._send(
                    protocol, loop, head, body, method == "HEAD"
                )
            except BaseException:
                # Not sent again here: the server may have seen it, and two at once is too many.
                connection.close()
                raise
            if not self._keep_wire:
                forget(protocol)
            try:
                first_byte_secs = time.perf_counter() - began
                if peer is None:
                    peer = _peer_of(protocol)
                complete, stopped = True, False
                if sum(map(len, chain.from_iterable(message.raw_headers))) > (
                    limits.max_header_bytes
                ):
                    raise HeadTooLargeError(f"more than {limits.max_header_bytes} bytes of headers")
                if watcher is not None and watcher.head(message):
                    content, stopped = b"", True
                elif watcher is None and payload.is_eof():
                    # The usual small page: all of it came with its head.
                    content = payload.read_nowait()
                    if max_size and len(content) > max_size:
                        raise BodyTooLargeError(len(content), max_size, announced=False)
                else:
                    deadline.move(started_at + total_secs)
                    content, complete, stopped = await _read_body(
                        protocol, message, payload, max_size, watcher
                    )
            except BaseException:
                connection.close()
                raise
            self._release(connection, protocol, peer, keep=complete and not stopped)
        wire = None
        if self._keep_wire:
            wire = Wire(
                request_head=head,
                request_body=body,
                response_head=take_head(protocol, message, interim),
                body=content,
                address=peer.address,
                at=at,
                first_byte_secs=first_byte_secs,
                total_secs=time.perf_counter() - began,
            )
        return Answer(message, content, peer, first_byte_secs, complete, stopped, wire)

    async def close(self) -> None:
        """Closes every connection; a later exchange would open a new pool."""
        connector, self._connector = self._connector, None
        self._idle.clear()
        self._direct.cache_clear()
        if connector is not None:
            await connector.close()

    def _open(self, loop: asyncio.AbstractEventLoop) -> TCPConnector:
        self._connector = connector = TCPConnector(
            limit=self._pool_size,
            limit_per_host=0,  # the frontier sees to that
            use_dns_cache=False,  # the resolver does
            resolver=self.resolver,
            keepalive_timeout=self._keep_alive_secs,
            local_addr=self._bind_address,
        )
        install_tap(connector, loop, 2 * self.limits.max_header_bytes)
        return connector

    def _make_route(self, url: URL) -> ClientRequest:
        assert url.raw_host is not None
        self.resolver.check_literal(url.raw_host)
        return ClientRequest("GET", url, loop=asyncio.get_running_loop(), ssl=self._tls)

    async def _send(
        self,
        protocol: ResponseHandler,
        loop: asyncio.AbstractEventLoop,
        head: bytes,
        body: bytes,
        bodiless: bool,
    ) -> tuple[RawResponseMessage, StreamReader, int]:
        limit = self.limits.max_header_bytes
        protocol.set_response_params(
            skip_payload=bodiless,
            read_until_eof=True,
            auto_decompress=False,
            max_line_size=limit,
            max_field_size=limit,
            max_headers=_MAX_HEADERS,
        )
        transport = protocol.transport
        if transport is None:
            raise ServerDisconnectedError
        transport.write(head + body if body else head)
        interim = 0
        while True:
            try:
                message, payload = await protocol.read()
            except HttpProcessingError:
                answer = read_without_surplus(
                    protocol, loop, limit, _MAX_HEADERS, bodiless=bodiless
                )
                if answer is None:
                    raise
                message, payload = answer
            code = message.code
            if not 100 <= code < 200:
                return message, payload, interim
            interim += 1
            if code == 101 or interim > _MAX_INTERIM:
                raise BadAnswerError(f"{interim} interim answers, the last with status {code}")

    def _release(
        self, connection: Connection, protocol: ResponseHandler, peer: Peer, *, keep: bool
    ) -> None:
        if not keep:
            connection.close()
            return
        connection.release()
        if protocol.is_connected():
            idle = self._idle
            idle[protocol] = peer
            if len(idle) > self._idle_size:
                oldest, _ = idle.popitem(last=False)
                oldest.close()


async def _read_body(
    protocol: ResponseHandler,
    message: RawResponseMessage,
    payload: StreamReader,
    max_size: int,
    watcher: Watcher | None,
) -> tuple[bytes, bool, bool]:
    """The body, whether it is complete, and whether the watcher stopped it."""
    if max_size:
        announced = message.headers.get("Content-Length", "")
        if announced.isdecimal() and int(announced) > max_size and not payload.is_eof():
            raise BodyTooLargeError(int(announced), max_size, announced=True)

    def wake(_: object) -> None:
        # A parser that gave up half-way closes the connection without telling the body's reader.
        if not payload.is_eof() and payload.exception() is None:
            payload.set_exception(ClientPayloadError("the connection was closed half-way"))

    chunks: list[bytes] = []
    size = 0
    closed = protocol.closed
    if closed is not None:
        closed.add_done_callback(wake)
    try:
        while chunk := await payload.readany():
            chunks.append(chunk)
            size += len(chunk)
            if max_size and size > max_size:
                raise BodyTooLargeError(size, max_size, announced=False)
            if watcher is not None and watcher.chunk(chunk):
                return b"".join(chunks), True, True
    except (ClientPayloadError, OSError, RuntimeError):
        # aiohttp drops what came with the end of the connection, often all there is.
        chunks.extend(getattr(payload, "_buffer", ()))
        return b"".join(chunks), False, False
    finally:
        if closed is not None:
            closed.remove_done_callback(wake)
            closed.remove_done_callback(_heed)
            closed.add_done_callback(_heed)
    return b"".join(chunks), True, False


def _heed(closed: asyncio.Future[None]) -> None:
    """Take note of how a kept connection ended, or asyncio complains that nobody did."""
    if not closed.cancelled():
        closed.exception()


def _peer_of(protocol: ResponseHandler) -> Peer:
    transport = protocol.transport
    if transport is None:  # closed by the other side right after its answer
        return Peer("", None)
    name = transport.get_extra_info("peername")
    tls = transport.get_extra_info("ssl_object")
    certificate = tls.getpeercert(binary_form=True) if tls is not None else None
    return Peer(name[0] if name else "", certificate)
