"""The handler against real servers on loopback, most of them badly behaved."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import ipaddress
import ssl
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import uvloop
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy import Request, Spider, signals
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
    StopDownload,
    UnsupportedURLSchemeError,
)
from scrapy.http import HtmlResponse, Response
from scrapy.utils.test import get_crawler

from tests.ports import free_port
from webcrawler.download import AiohttpHandler, CachedResolver, HttpClient, Limits, Wire
from webcrawler.download.tls import make_tls_context
from webcrawler.visit import META_KEY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from scrapy.crawler import Crawler

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
Step = bytes | float


class Server:
    """Plays its script for every request: bytes are sent, a number is a pause in seconds.

    With `again` a connection is kept for more requests; otherwise it is closed after the script.
    """

    def __init__(self, *script: Step, again: bool = False) -> None:
        self.script = script
        self.again = again
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []
        self.connections = 0
        self.port = 0
        self._tasks: set[asyncio.Task[None] | None] = set()

    async def start(self, tls: ssl.SSLContext | None = None) -> None:
        self._server = await asyncio.start_server(self._talk, "127.0.0.1", 0, ssl=tls)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        self._server.close()
        for task in self._tasks:
            if task is not None:
                task.cancel()
        await asyncio.sleep(0)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._tasks.add(asyncio.current_task())
        gone = (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError)
        with contextlib.suppress(*gone):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                length = 0
                for line in head.lower().split(b"\r\n"):
                    if line.startswith(b"content-length:"):
                        length = int(line.partition(b":")[2])
                self.bodies.append(await reader.readexactly(length))
                for step in self.script:
                    if isinstance(step, bytes):
                        writer.write(step)
                        await writer.drain()
                    else:
                        await asyncio.sleep(step)
                if not self.again:
                    break
        writer.close()


@contextlib.asynccontextmanager
async def serving(server: Server, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    await server.start(tls)
    try:
        yield server
    finally:
        await server.stop()


@contextlib.asynccontextmanager
async def handling(
    *, crawler: Crawler | None = None, verify: bool = True, **options: Any
) -> AsyncIterator[AiohttpHandler]:
    limits = options.pop("limits", Limits())
    resolver = options.pop("resolver", None) or CachedResolver(hosts={"*.test": "127.0.0.1"})
    tls = options.pop("tls", None) or make_tls_context(verify=verify)
    client = HttpClient(limits=limits, resolver=resolver, tls=tls, **options)
    handler = AiohttpHandler(client, crawler)
    try:
        yield handler
    finally:
        await handler.close()


@pytest.fixture(params=["uvloop", "asyncio"])
def run(request: pytest.FixtureRequest) -> Callable[[Awaitable[Any]], Any]:
    factory = uvloop.new_event_loop if request.param == "uvloop" else asyncio.new_event_loop

    def runner(work: Any) -> Any:
        problems: list[dict[str, Any]] = []
        with asyncio.Runner(loop_factory=factory) as loop_runner:
            loop = loop_runner.get_loop()
            loop.set_exception_handler(lambda _, context: problems.append(context))
            # Nothing here may hang: a minute is for a machine that does other things too.
            result = loop_runner.run(asyncio.wait_for(work, 60))
        assert not problems, problems
        return result

    return runner


async def fetch(
    *script: Step, meta: dict[str, Any] | None = None, method: str = "GET", **options: Any
) -> Response:
    async with serving(Server(*script)) as server, handling(**options) as handler:
        request = Request(f"http://a.test:{server.port}/", meta=meta or {}, method=method)
        return await handler.download_request(request)


READABLE: dict[str, tuple[tuple[Step, ...], int, bytes]] = {
    "content-length": ((OK,), 200, b"hi"),
    "in pieces": ((OK[:9], 0.01, OK[9:30], 0.01, OK[30:-1], 0.01, OK[-1:]), 200, b"hi"),
    "no length": ((b"HTTP/1.1 200 OK\r\n\r\n", 0.01, b"h", 0.01, b"i"), 200, b"hi"),
    "HTTP/1.0": ((b"HTTP/1.0 200 OK\r\n\r\nhi",), 200, b"hi"),
    "connection close": (
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi",),
        200,
        b"hi",
    ),
    "chunked": (
        (CHUNKED + b"1\r\nh\r\n", 0.01, b"1;ext=1\r\ni\r\n0\r\nTrailer: x\r\n\r\n"),
        200,
        b"hi",
    ),
    "interim answers": (
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", 0.01, OK),
        200,
        b"hi",
    ),
    "204": ((b"HTTP/1.1 204 No Content\r\n\r\n",), 204, b""),
    "304 that speaks of a length": (
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n",),
        304,
        b"",
    ),
    "status 999": ((b"HTTP/1.1 999 \xff\xfe\r\nContent-Length: 2\r\n\r\nhi",), 999, b"hi"),
    "no reason": ((b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi",), 200, b"hi"),
    "bare line feeds": ((b"HTTP/1.1 200 OK\nContent-Length: 2\nX: y\n\nhi",), 200, b"hi"),
    "folded header": (
        (b"HTTP/1.1 200 OK\r\nX: a\r\n  b\r\nContent-Length: 2\r\n\r\nhi",),
        200,
        b"hi",
    ),
    "empty lines first": ((b"\r\n\r\n" + OK,), 200, b"hi"),
    "unknown transfer coding": (
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhi",),
        200,
        b"hi",
    ),
    "more than promised": ((OK + b"surplus",), 200, b"hi"),
    "more than promised, later": ((OK[:-1], 0.02, OK[-1:] + b"surplus"), 200, b"hi"),
    "more than promised, and closed": (
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi surplus",),
        200,
        b"hi",
    ),
    "204 with a body": ((b"HTTP/1.1 204 None\r\nContent-Length: 5\r\n\r\nhello",), 204, b""),
    "304 with a body": ((b"HTTP/1.1 304 Same\r\n\r\n<html>hello",), 304, b""),
    "a second answer": ((OK + OK,), 200, b"hi"),
}


@pytest.mark.parametrize("name", READABLE)
def test_readable(run: Callable[..., Any], name: str) -> None:
    script, status, body = READABLE[name]
    response = run(fetch(*script))
    assert (response.status, response.body) == (status, body)
    assert response.flags == []


UNREADABLE: dict[str, tuple[tuple[Step, ...], type[Exception]]] = {
    "nothing": ((), DownloadFailedError),
    "HTTP/0.9": ((b"<html>hello</html>",), DownloadFailedError),
    "SSH": ((b"SSH-2.0-OpenSSH_9.2\r\n",), DownloadFailedError),
    "binary": ((bytes(range(256)) * 20,), DownloadFailedError),
    "TLS alert": ((b"\x15\x03\x01\x00\x02\x02\x46",), DownloadFailedError),
    "status of four digits": ((b"HTTP/1.1 2000 OK\r\n\r\n",), DownloadFailedError),
    "half a head": ((b"HTTP/1.1 200 OK\r\nContent-Le",), DownloadFailedError),
    "absurd length": (
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nhi",),
        DownloadFailedError,
    ),
    "negative length": (
        (b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nhi",),
        DownloadFailedError,
    ),
    "two lengths": (
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi",),
        DownloadFailedError,
    ),
    "huge length": (
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9999999999999\r\n\r\nhi", 5.0),
        DownloadCancelledError,
    ),
    "null byte": ((b"HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n",), DownloadFailedError),
    "switching protocols": (
        (b"HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\nx", 5.0),
        DownloadFailedError,
    ),
    "interim answers for ever": (
        (b"HTTP/1.1 102 Processing\r\n\r\n" * 100, 5.0),
        DownloadFailedError,
    ),
    "header too long": (
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 200_000 + b"\r\n\r\n",),
        DownloadCancelledError,
    ),
    "headers too long together": (
        (b"HTTP/1.1 200 OK\r\n" + (b"X: " + b"a" * 2000 + b"\r\n") * 40 + b"\r\n", 5.0),
        DownloadCancelledError,
    ),
    "header without end": ((b"HTTP/1.1 200 OK\r\n", *(b"a" * 50_000,) * 9), DownloadCancelledError),
    "too many headers": (
        (b"HTTP/1.1 200 OK\r\n" + b"X: a\r\n" * 5000 + b"\r\n",),
        DownloadFailedError,
    ),
    "reason without end": ((b"HTTP/1.1 200 " + b"a" * 300_000,), DownloadCancelledError),
    "cut off": ((b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhi",), ResponseDataLossError),
    "last chunk missing": (
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n",),
        ResponseDataLossError,
    ),
    "bad chunk": (
        (CHUNKED + b"2\r\nhi\r\n", 0.05, b"ZZ\r\n", 5.0),
        ResponseDataLossError,
    ),
    "chunk of absurd size": (
        (CHUNKED, 0.05, b"FFFFFFFFFFFFFFFFFF\r\nhi", 5.0),
        ResponseDataLossError,
    ),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable(run: Callable[..., Any], name: str) -> None:
    script, error = UNREADABLE[name]
    with pytest.raises(error) as caught:
        run(fetch(*script))
    assert str(caught.value).startswith("http://a.test:")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["cut off", "last chunk missing", "bad chunk"])
def test_what_there_is_of_a_cut_off_body(run: Callable[..., Any], name: str) -> None:
    script, _ = UNREADABLE[name]
    response = run(fetch(*script, meta={"download_fail_on_dataloss": False}))
    assert response.body == b"hi"
    assert response.flags == ["dataloss"]


def test_what_must_not_be_sent_any_more(run: Callable[..., Any]) -> None:
    """Who has lost a host meanwhile finds out when there is a connection, and sends nothing."""

    async def check() -> None:
        heard: list[bytes] = []
        is_over = asyncio.Event()

        async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heard.append(await reader.read())
            writer.close()
            is_over.set()

        listener = await asyncio.start_server(listen, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        meta = {META_KEY: SimpleNamespace(may_send=lambda: False)}
        async with handling() as handler:
            with pytest.raises(DownloadFailedError, match="another worker"):
                await handler.download_request(Request(f"http://a.test:{port}/", meta=meta))
        await is_over.wait()
        assert heard == [b""]
        listener.close()

    run(check())


def test_a_reset_connection(run: Callable[..., Any]) -> None:
    async def check() -> None:
        async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi")
            await writer.drain()
            writer.transport.abort()

        listener = await asyncio.start_server(reset, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        async with handling() as handler:
            with pytest.raises((ResponseDataLossError, DownloadFailedError)):
                await handler.download_request(Request(f"http://a.test:{port}/"))
        listener.close()

    run(check())


ODD_URLS = [
    "/?a=%7Eb",
    "//double//slash",
    "/a;x=1;y?z;w",
    "/%e9%FF?%c0%af=%E9",
    "/a/./b/../c",
    "/?q=a+b&q=%20&&=",
    "/?",
    "/a|b^c`{}[]\"<>'",
    "/%2e%2E/%2F",
    "/:@!$&'()*,=~-._",
]


@pytest.mark.parametrize("target", ODD_URLS)
def test_the_url_arrives_byte_for_byte(run: Callable[..., Any], target: str) -> None:
    async def check() -> bytes:
        async with serving(Server(OK)) as server, handling() as handler:
            url = f"http://a.test:{server.port}{target}"
            response = await handler.download_request(Request(url, meta={"verbatim_url": True}))
            assert response.url == url
            return server.heads[0]

    assert run(check()).split(b"\r\n")[0] == b"GET " + target.encode() + b" HTTP/1.1"


def test_response_and_meta(run: Callable[..., Any]) -> None:
    head = (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\n"
        b"X-Odd: caf\xe9 \xff\r\nContent-Length: 6\r\n\r\n<html>"
    )

    async def check() -> None:
        async with serving(Server(head, again=True)) as server, handling() as handler:
            request = Request(f"http://a.test:{server.port}/", headers={"User-Agent": "bot"})
            response = await handler.download_request(request)
            assert isinstance(response, HtmlResponse)
            assert response.headers.getlist("Set-Cookie") == [b"a=1", b"b=2"]
            assert response.headers["X-Odd"] == b"caf\xe9 \xff"
            assert response.ip_address == ipaddress.ip_address("127.0.0.1")
            assert response.protocol == "HTTP/1.1"
            assert response.certificate is None
            assert 0 < request.meta["download_latency"] < 60
            assert "wire" not in request.meta
            await handler.download_request(Request(request.url))
            # No cookie jar, no header of aiohttp's own.
            assert server.heads[1] == b"GET / HTTP/1.1\r\nHost: a.test:%d\r\n\r\n" % server.port

    run(check())


def test_head_and_post(run: Callable[..., Any]) -> None:
    async def check() -> None:
        async with serving(Server(OK[:-2], again=True)) as server, handling() as handler:
            url = f"http://a.test:{server.port}/"
            for _ in range(2):
                response = await handler.download_request(Request(url, method="HEAD"))
                assert (response.status, response.body) == (200, b"")
            assert server.connections == 1
        assert (await fetch(OK, method="HEAD")).body == b""  # and one that sends it all the same
        async with serving(Server(OK, again=True)) as server, handling() as handler:
            big = b"x" * 3_000_000
            url = f"http://a.test:{server.port}/"
            for body in (b"a=1", big):
                await handler.download_request(Request(url, method="POST", body=body))
            assert server.bodies == [b"a=1", big]

    run(check())


def test_large_bodies(run: Callable[..., Any]) -> None:
    body = bytes(range(256)) * 20_000
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
    assert run(fetch(head, body)).body == body
    chunks = b"".join(b"3e8\r\n" + body[i : i + 1000] + b"\r\n" for i in range(0, len(body), 1000))
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert run(fetch(head, chunks, b"0\r\n\r\n")).body == body


def test_connections_are_used_again(run: Callable[..., Any]) -> None:
    async def check() -> None:
        async with serving(Server(OK, again=True)) as server, handling() as handler:
            for _ in range(5):
                await handler.download_request(Request(f"http://a.test:{server.port}/"))
            assert server.connections == 1
            await handler.download_request(Request(f"http://b.test:{server.port}/"))
            assert server.connections == 2

    run(check())


def test_a_connection_closed_while_idle_costs_nothing(run: Callable[..., Any]) -> None:
    async def check() -> None:
        # It does not say that it closes the connection after each answer, but it does.
        async with serving(Server(OK)) as server, handling() as handler:
            for _ in range(4):
                response = await handler.download_request(Request(f"http://a.test:{server.port}/"))
                assert response.body == b"hi"
                await asyncio.sleep(0.1)  # time for that to arrive
            assert server.connections == 4

    run(check())


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_nothing_is_sent_twice(run: Callable[..., Any], method: str) -> None:
    class Reluctant(Server):
        """Answers the first request of a connection and hangs up on the second."""

        async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.heads.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(OK)
            with contextlib.suppress(asyncio.IncompleteReadError):
                self.heads.append(await reader.readuntil(b"\r\n\r\n"))
            writer.close()

    async def check() -> None:
        async with serving(Reluctant()) as server, handling() as handler:
            url = f"http://a.test:{server.port}/"
            await handler.download_request(Request(url))
            with pytest.raises(DownloadFailedError):
                await handler.download_request(Request(url, method=method))
            assert len(server.heads) == 2

    run(check())


def test_an_answer_nobody_asked_for_is_not_taken_for_the_next(run: Callable[..., Any]) -> None:
    async def check() -> None:
        poison = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"
        server = Server(OK, 0.05, poison, again=True)
        async with serving(server), handling() as handler:
            url = f"http://a.test:{server.port}/"
            assert (await handler.download_request(Request(url))).body == b"hi"
            await asyncio.sleep(0.2)
            assert (await handler.download_request(Request(url))).body == b"hi"
            assert server.connections == 2

    run(check())


def test_idle_connections_are_bounded(run: Callable[..., Any]) -> None:
    async def check() -> None:
        async with serving(Server(OK, again=True)) as server, handling(idle_size=2) as handler:
            url = f"http://{{}}.test:{server.port}/"
            for host in ("a", "b", "c", "b", "c"):
                await handler.download_request(Request(url.format(host)))
            assert server.connections == 3
            await handler.download_request(Request(url.format("a")))  # was the oldest
            assert server.connections == 4

    run(check())


def test_many_at_once(run: Callable[..., Any]) -> None:
    async def check() -> None:
        async with (
            serving(Server(0.01, OK, again=True)) as server,
            handling(pool_size=8) as handler,
        ):
            url = f"http://a.test:{server.port}/"
            responses = await asyncio.gather(
                *(handler.download_request(Request(f"{url}{i}")) for i in range(100))
            )
            assert [r.url for r in responses] == [f"{url}{i}" for i in range(100)]
            assert server.connections == 8

    run(check())


SLOW = {
    "no answer": ((5.0,), {}, Limits(first_byte_secs=0.1)),
    "half a head": ((b"HTTP/1.1 200 OK\r\n", 5.0), {}, Limits(first_byte_secs=0.1)),
    "half a body": ((OK[:-1], 5.0), {}, Limits(total_secs=0.2)),
    "drip": (
        (b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", *((b"x", 0.02) * 200)),
        {"download_timeout": 0.3},
        Limits(),
    ),
    "interim drip": (
        ((b"HTTP/1.1 102 Processing\r\n\r\n", 0.02) * 200),
        {},
        Limits(first_byte_secs=0.1),
    ),
    "nothing in the time of this request": ((5.0,), {"download_timeout": 0.1}, Limits()),
}


@pytest.mark.parametrize("name", SLOW)
def test_slow_answers(run: Callable[..., Any], name: str) -> None:
    script, meta, limits = SLOW[name]
    with pytest.raises(DownloadTimeoutError):
        run(fetch(*script, meta=dict(meta), limits=limits))


def test_a_slow_body_may_take_longer_than_the_first_byte(run: Callable[..., Any]) -> None:
    limits = Limits(first_byte_secs=0.2, total_secs=30)
    assert run(fetch(OK[:-1], 0.4, OK[-1:], limits=limits)).body == b"hi"


def test_a_cancelled_fetch_is_cancelled(run: Callable[..., Any]) -> None:
    async def check() -> None:
        async with serving(Server(5.0)) as server, handling() as handler:
            task = asyncio.create_task(
                handler.download_request(Request(f"http://a.test:{server.port}/"))
            )
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    run(check())


@pytest.mark.parametrize(
    "script",
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + b"x" * 100,),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", 0.05, b"x" * 100),
        (b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 100),
        (b"HTTP/1.1 200 OK\r\n\r\n", *((b"x" * 10, 0.01) * 500)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"64\r\n" + b"x" * 100),
    ],
)
def test_bodies_above_the_limit(run: Callable[..., Any], script: tuple[Step, ...]) -> None:
    with pytest.raises(DownloadCancelledError, match="limit 99"):
        run(fetch(*script, limits=Limits(max_size=99)))
    with pytest.raises(DownloadCancelledError, match="limit 99"):
        run(fetch(*script, meta={"download_maxsize": 99}))


def test_a_body_at_the_limit(run: Callable[..., Any]) -> None:
    script = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + b"x" * 100
    assert len(run(fetch(script, limits=Limits(max_size=100))).body) == 100
    assert len(run(fetch(script, limits=Limits(max_size=9), meta={"download_maxsize": 0})).body)


def test_large_bodies_can_be_warned_of(
    run: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    run(fetch(OK, meta={"download_warnsize": 1}))
    assert "DOWNLOAD_WARNSIZE" in caplog.text


def test_where_nobody_listens(run: Callable[..., Any], unused_port: int) -> None:
    async def check() -> None:
        async with handling() as handler:
            with pytest.raises(DownloadConnectionRefusedError):
                await handler.download_request(Request(f"http://a.test:{unused_port}/"))

    run(check())


@pytest.fixture
def unused_port() -> int:
    return free_port()


def test_names_without_address(run: Callable[..., Any]) -> None:
    async def nobody(host: str) -> list[str]:
        raise OSError(1, "unknown here")

    async def check() -> None:
        async with handling(resolver=CachedResolver(lookup=nobody)) as handler:
            with pytest.raises(CannotResolveHostError, match="unknown here"):
                await handler.download_request(Request("http://nowhere.example/"))

    run(check())


@pytest.mark.parametrize("url", ["http://127.0.0.1:{}/", "http://[::1]:{}/", "http://in.side:{}/"])
def test_private_addresses_can_be_refused(run: Callable[..., Any], url: str) -> None:
    async def private(host: str) -> list[str]:
        return ["127.0.0.1"]

    async def check() -> None:
        resolver = CachedResolver(deny_private=True, lookup=private, hosts={"ok.test": "127.0.0.1"})
        async with serving(Server(OK)) as server, handling(resolver=resolver) as handler:
            for _ in range(2):
                with pytest.raises(DownloadCancelledError, match="private address"):
                    await handler.download_request(Request(url.format(server.port)))
            await handler.download_request(Request(f"http://ok.test:{server.port}/"))
            assert len(server.heads) == 1

    run(check())


@pytest.mark.parametrize("url", ["http:///x", "ftp://a.test/", "http://a.test:99999/"])
def test_urls_that_cannot_be_fetched(run: Callable[..., Any], url: str) -> None:
    async def check() -> None:
        async with handling() as handler:
            with pytest.raises(UnsupportedURLSchemeError):
                await handler.download_request(Request(url, meta={"verbatim_url": True}))

    run(check())


# ---- the wire ----


def test_the_wire_is_byte_for_byte(run: Callable[..., Any]) -> None:
    head = (
        b"HTTP/1.1  200   Very  OK\r\nX-A:a\r\nx-a:   b  \r\nX-Fold: c\r\n  d\r\n"
        b"Content-Length: 6\r\nContent-Encoding: gzip\r\nX-\t: \xff\r\n\r\n"
    )
    head = head.replace(b"HTTP/1.1  200   Very", b"HTTP/1.1 200 Very").replace(b"X-\t", b"X-Z")
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n"

    async def check() -> None:
        script = (interim[:30], 0.01, interim[30:] + head[:40], 0.01, head[40:] + b"\x1f\x8bbody")
        async with serving(Server(*script, again=True)) as server, handling(keep_wire=True) as h:
            for _ in range(2):  # the second over the same connection
                request = Request(f"http://a.test:{server.port}/x", headers={"A": "b"})
                response = await h.download_request(request)
                wire = request.meta["wire"]
                assert isinstance(wire, Wire)
                assert wire.request_head == server.heads[-1]
                assert wire.request_body == b""
                assert wire.response_head == head
                assert wire.body == b"\x1f\x8bbody" == response.body
                assert wire.address == "127.0.0.1"
                assert 0 < wire.first_byte_secs <= wire.total_secs
                assert abs(datetime.datetime.now().timestamp() - wire.at) < 60
            assert server.connections == 1

    run(check())


def test_the_wire_of_bare_line_feeds_large_bodies_and_posts(run: Callable[..., Any]) -> None:
    async def check() -> None:
        head, body = b"HTTP/1.1 200 OK\nContent-Length: 900000\nX: y\n\n", b"z" * 900_000
        async with serving(Server(head, body)) as server, handling(keep_wire=True) as handler:
            request = Request(f"http://a.test:{server.port}/x", method="POST", body=b"q")
            await handler.download_request(request)
            wire = request.meta["wire"]
            assert (wire.response_head, wire.body, wire.request_body) == (head, body, b"q")

    run(check())


def test_without_the_tap_the_head_is_put_together(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webcrawler.download.client.install_tap", lambda *_: None)

    async def check() -> None:
        head = b"HTTP/1.1 404 Not \xe9\r\nX-a:  1\r\nx-A: \xff\r\nContent-Length: 0\r\n\r\n"
        async with serving(Server(head)) as server, handling(keep_wire=True) as handler:
            request = Request(f"http://a.test:{server.port}/x")
            await handler.download_request(request)
            assert request.meta["wire"].response_head == head.replace(b":  ", b": ")

    run(check())


# ---- signals ----


def crawler_for_signals() -> Crawler:
    crawler = get_crawler(Spider, {"TWISTED_REACTOR_ENABLED": False})
    crawler.spider = Spider("s")
    return crawler


def test_signals_are_sent_to_whoever_listens(run: Callable[..., Any]) -> None:
    heard: list[Any] = []

    def on_headers(headers: Any, body_length: int, request: Request, spider: Spider) -> None:
        heard.append((headers["Content-Length"], body_length, request.url[:14], spider.name))

    def on_bytes(data: bytes, request: Request, spider: Spider) -> None:
        heard.append(data)

    async def check() -> None:
        crawler = crawler_for_signals()
        crawler.signals.connect(on_headers, signals.headers_received)
        crawler.signals.connect(on_bytes, signals.bytes_received)
        response = await fetch(OK[:-1], 0.02, OK[-1:], crawler=crawler)
        assert response.body == b"hi"
        assert response.flags == []

    run(check())
    assert heard == [(b"2", 2, "http://a.test:", "s"), b"h", b"i"]


@pytest.mark.parametrize("fail", [True, False])
@pytest.mark.parametrize(
    ("signal", "body"), [(signals.headers_received, b""), (signals.bytes_received, b"h")]
)
def test_a_listener_may_stop_a_download(
    run: Callable[..., Any], signal: object, body: bytes, fail: bool
) -> None:
    def stop(request: Request) -> None:
        raise StopDownload(fail=fail)

    async def check() -> None:
        crawler = crawler_for_signals()
        crawler.signals.connect(stop, signal)
        script = (OK[:-1], 5.0, OK[-1:])
        if fail:
            with pytest.raises(StopDownload) as caught:
                await fetch(*script, crawler=crawler)
            response = caught.value.response
        else:
            response = await fetch(*script, crawler=crawler)
        assert response is not None
        assert response.body == body
        assert response.flags == ["download_stopped"]

    run(check())


def test_the_rest_of_a_body_can_be_left_unread(run: Callable[..., Any]) -> None:
    async def check() -> None:
        script = (b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 100, 0.05, b"y" * 100, 5.0)
        meta = {"download_truncate": 100}
        response = await fetch(*script, meta=meta, crawler=crawler_for_signals())
        assert response.body == b"x" * 100
        assert response.flags == ["download_stopped"]
        meta = {"download_truncate": 1000}
        response = await fetch(OK, meta=meta, crawler=crawler_for_signals())
        assert (response.body, response.flags) == (b"hi", [])

    run(check())


# ---- TLS and proxies ----


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for a.test, with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a.test")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("a.test")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "a.pem"
    path.write_bytes(
        made.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return path


def server_tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def trusting(certificate: Path) -> ssl.SSLContext:
    context = make_tls_context()
    context.load_verify_locations(certificate)
    return context


def test_tls(run: Callable[..., Any], certificate: Path) -> None:
    async def check() -> None:
        server = Server(OK, again=True)
        async with serving(server, server_tls(certificate)):
            url = f"https://a.test:{server.port}/"
            async with handling() as handler:
                with pytest.raises(DownloadCancelledError, match=r"self.signed"):
                    await handler.download_request(Request(url))
            async with handling(verify=False) as handler:
                response = await handler.download_request(Request(url))
                assert response.body == b"hi"
            async with handling(tls=trusting(certificate), keep_wire=True) as handler:
                request = Request(url)
                response = await handler.download_request(request)
                pem = ssl.DER_cert_to_PEM_cert(response.certificate)
                assert certificate.read_text().startswith(pem.rstrip()[:-30])
                assert request.meta["wire"].response_head == OK[:-2]
                with pytest.raises(DownloadCancelledError, match=r"b\.test"):
                    await handler.download_request(Request(f"https://b.test:{server.port}/"))

    run(check())


def test_https_where_http_is_spoken(run: Callable[..., Any]) -> None:
    async def check() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(100)
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()

        listener = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        async with handling() as handler:
            with pytest.raises(DownloadFailedError):
                await handler.download_request(Request(f"https://a.test:{port}/"))
        listener.close()

    run(check())


class Proxy:
    """An HTTP proxy that answers plain requests itself and tunnels CONNECT to one port."""

    def __init__(self, target_port: int = 0, status: bytes = b"200 OK") -> None:
        self.target_port = target_port
        self.status = status
        self.heads: list[bytes] = []

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._talk, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head)
        if not head.startswith(b"CONNECT"):
            writer.write(OK.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n"))
            writer.close()
            return
        writer.write(b"HTTP/1.1 " + self.status + b"\r\n\r\n")
        if not self.status.startswith(b"200"):
            writer.close()
            return
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.target_port)
        await asyncio.gather(
            self._copy(reader, up_writer), self._copy(up_reader, writer), return_exceptions=True
        )

    @staticmethod
    async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()


def test_http_through_a_proxy(run: Callable[..., Any]) -> None:
    async def check() -> None:
        async with Proxy() as proxy, handling(keep_wire=True) as handler:
            for address in (proxy.address, f"http://{proxy.address}"):
                request = Request(
                    "http://far.example:81//x?y=%7E",
                    headers={"Proxy-Authorization": "Basic dTpw"},
                    meta={"proxy": address},
                )
                assert (await handler.download_request(request)).body == b"hi"
                assert proxy.heads[-1] == (
                    b"GET http://far.example:81//x?y=%7E HTTP/1.1\r\nHost: far.example:81\r\n"
                    b"Proxy-Authorization: Basic dTpw\r\n\r\n"
                )
                assert request.meta["wire"].request_head == proxy.heads[-1]

    run(check())


def test_https_through_a_proxy(run: Callable[..., Any], certificate: Path) -> None:
    async def check() -> None:
        server = Server(OK, again=True)
        async with (
            serving(server, server_tls(certificate)),
            Proxy(server.port) as proxy,
            handling(tls=trusting(certificate)) as handler,
        ):
            request = Request(
                "https://a.test/x",
                headers={"Proxy-Authorization": "Basic dTpw"},
                meta={"proxy": proxy.address},
            )
            for _ in range(2):
                response = await handler.download_request(request)
                assert response.body == b"hi"
            assert len(proxy.heads) == 1
            assert proxy.heads[0].startswith(b"CONNECT a.test:443 HTTP/1.1\r\n")
            assert b"Proxy-Authorization: Basic dTpw\r\n" in proxy.heads[0]
            assert server.heads == [b"GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n"] * 2
            assert response.certificate

    run(check())


def test_a_proxy_that_refuses_or_is_none(run: Callable[..., Any], unused_port: int) -> None:
    async def check() -> None:
        async with Proxy(status=b"407 No") as proxy, handling() as handler:
            request = Request("https://a.test/", meta={"proxy": proxy.address})
            with pytest.raises(DownloadFailedError, match="407"):
                await handler.download_request(request)
            request = Request("http://a.test/", meta={"proxy": f"127.0.0.1:{unused_port}"})
            with pytest.raises(DownloadConnectionRefusedError):
                await handler.download_request(request)
            request = Request("http://a.test/", meta={"proxy": "socks5://127.0.0.1:1"})
            with pytest.raises(UnsupportedURLSchemeError, match="proxies"):
                await handler.download_request(request)

    run(check())


def test_the_address_to_fetch_from_can_be_chosen(run: Callable[..., Any]) -> None:
    async def check() -> None:
        peers: list[str] = []

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            peers.append(writer.get_extra_info("peername")[0])
            writer.write(OK)
            writer.close()

        listener = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        async with handling(bind_address=("127.0.0.5", 0)) as handler:
            await handler.download_request(Request(f"http://a.test:{port}/"))
        listener.close()
        assert peers == ["127.0.0.5"]

    run(check())


# ---- anything at all ----

PIECES = st.sampled_from(
    [
        *(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.0 302 Found\r\n", b"HTTP/1.1 100 \r\n\r\n", b"HTTP/"),
        *(b"Content-Length: 5\r\n", b"Content-Length: 0\r\n", b"Content-Length: x\r\n"),
        *(b"Transfer-Encoding: chunked\r\n", b"Connection: close\r\n", b"X: \xff\r\n", b": \r\n"),
        *(b"\r\n", b"\n", b"\0", b"5\r\nhello\r\n", b"0\r\n\r\n", b"hello", b"ffffffff\r\n"),
    ]
)
ENDINGS = (DownloadFailedError, DownloadCancelledError, ResponseDataLossError)


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES | st.binary(max_size=20), max_size=8), st.integers(0, 40), st.booleans())
def test_whatever_a_server_says_has_an_ending(said: list[bytes], cut: int, is_head: bool) -> None:
    text = b"".join(said)

    async def check() -> None:
        method = "HEAD" if is_head else "GET"
        with contextlib.suppress(*ENDINGS):
            response = await fetch(text[:cut], 0.0, text[cut:], method=method, keep_wire=True)
            assert isinstance(response, Response)

    asyncio.run(asyncio.wait_for(check(), 30))
