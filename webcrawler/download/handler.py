"""AiohttpHandler: Scrapy's download handler for http and https.

Selected by DOWNLOAD_HANDLERS, for the schemes http and https. Needs an asyncio event loop, with or
without the Twisted reactor. It returns bodies as received; Scrapy's HttpCompressionMiddleware
decompresses them and bounds what comes out by DOWNLOAD_MAXSIZE, its CookiesMiddleware does the
cookies, its RedirectMiddleware the redirects.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.exceptions import NotConfigured, ResponseDataLossError, UnsupportedURLSchemeError
from scrapy.utils.asyncio import is_asyncio_available

from webcrawler.download.dns import PrivateAddressError
from webcrawler.download.errors import scrapy_error
from webcrawler.download.origin import split
from webcrawler.download.responses import make_response
from webcrawler.download.shared import get_client
from webcrawler.download.watch import watcher_for
from webcrawler.visit import META_KEY

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Headers, Response

    from webcrawler.download.client import HttpClient
    from webcrawler.download.origin import Origin

logger = logging.getLogger(__name__)

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
# The length is ours to tell; the password is the proxy's to know.
_OWN = frozenset({b"Host", b"Content-Length", b"Transfer-Encoding", b"Proxy-Authorization"})
_BREAKS = bytes.maketrans(b"\r\n\0", b"   ")


class AiohttpHandler(BaseDownloadHandler):
    """Fetches what Scrapy asks for, over the client it is given.

    Honours in `request.meta`: download_timeout, download_maxsize, download_warnsize,
    download_truncate (bytes after which the rest is left unread), download_fail_on_dataloss, proxy.
    Sets download_latency (seconds to the head of the answer)
    and, where the client keeps it, wire (a Wire). Without a crawler no signals are sent.
    """

    lazy = False

    def __init__(self, client: HttpClient, crawler: Crawler | None = None) -> None:
        self._client = client
        self._limits = client.limits
        self._crawler = crawler
        self._warned_of_loss = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not is_asyncio_available():
            raise NotConfigured(
                "AiohttpHandler needs asyncio: set TWISTED_REACTOR to Scrapy's default"
                " or TWISTED_REACTOR_ENABLED to False"
            )
        return cls(get_client(crawler), crawler)

    async def download_request(self, request: Request) -> Response:
        client, limits = self._client, self._limits
        meta, url = request.meta, request.url
        proxy = meta.get("proxy")
        try:
            origin, target = split(url)
            if proxy is None:
                route = client.route(origin)
                head = request_head(request, origin, target)
            else:
                authorization = request.headers.get(b"Proxy-Authorization")
                route = client.route(
                    origin,
                    proxy if "://" in proxy else f"http://{proxy}",
                    authorization.decode("latin-1") if authorization else None,
                )
                if not route.is_ssl():
                    head = request_head(request, origin, f"{origin.url}{target}", authorization)
                else:
                    head = request_head(request, origin, target)
        except PrivateAddressError as error:
            raise scrapy_error(error, url) from error
        except ValueError as error:
            raise UnsupportedURLSchemeError(f"{url}: {error}") from error
        watcher = watcher_for(self._crawler, request) if self._crawler is not None else None
        try:
            answer = await client.exchange(
                route,
                head,
                request.body,
                method=request.method,
                max_size=meta.get("download_maxsize", limits.max_size),
                total_secs=meta.get("download_timeout", limits.total_secs),
                watcher=watcher,
                may_send=getattr(meta.get(META_KEY), "may_send", None),
            )
        except Exception as error:
            problem = scrapy_error(error, url)
            logger.debug("%s", problem)
            raise problem from error
        meta["download_latency"] = answer.first_byte_secs
        if answer.wire is not None:
            meta["wire"] = answer.wire
        flags = None
        if answer.stopped:
            flags = ["download_stopped"]
        elif not answer.complete:
            if meta.get("download_fail_on_dataloss", limits.fail_on_data_loss):
                self._warn_of_loss(url)
                raise ResponseDataLossError(f"{url}: cut off after {len(answer.body)} bytes")
            flags = ["dataloss"]
        warn_size = meta.get("download_warnsize", limits.warn_size)
        if warn_size and len(answer.body) > warn_size:
            logger.warning("%s has %d bytes, above DOWNLOAD_WARNSIZE", url, len(answer.body))
        response = make_response(url, answer, flags)
        if watcher is not None and watcher.stop is not None and watcher.stop.fail:
            watcher.stop.response = response
            raise watcher.stop
        return response

    async def close(self) -> None:
        """Closes what all handlers of the crawl share; the second to be called finds it closed."""
        await self._client.close()
        await self._client.resolver.close()

    def _warn_of_loss(self, url: str) -> None:
        if not self._warned_of_loss:
            self._warned_of_loss = True
            logger.warning(
                "%s was cut off; set DOWNLOAD_FAIL_ON_DATALOSS to False to get what there is"
                " (this is said once)",
                url,
            )


def request_head(
    request: Request, origin: Origin, target: str, proxy_authorization: bytes | None = None
) -> bytes:
    """The bytes of a request up to its empty line; ValueError for a method that is none."""
    method, headers, body = request.method, request.headers, request.body
    if not _TOKEN.fullmatch(method):
        raise ValueError(f"{method!r} is no HTTP method")
    lines = [
        f"{method} {target} HTTP/1.1".encode("ascii"),
        b"Host: " + (_last(headers, b"Host") or origin.host_header),
    ]
    # Headers is a dict of lists; its own items() looks every name up again.
    for name, values in dict.items(headers):
        if name not in _OWN:
            lines += [name + b": " + value for value in values]
    if origin.authorization is not None and b"Authorization" not in headers:
        lines.append(b"Authorization: " + origin.authorization)
    if proxy_authorization is not None:
        lines.append(b"Proxy-Authorization: " + proxy_authorization)
    if body or method in _WITH_BODY:
        lines.append(b"Content-Length: %d" % len(body))
    lines.append(b"\r\n")
    head = b"\r\n".join(lines)
    if head.count(b"\n") != len(lines) or head.count(b"\r") != len(lines) or b"\0" in head:
        # A value with a line break in it (a hostile cookie) would be a header of its own.
        clean = [line.translate(_BREAKS) for line in lines[:-1]]
        head = b"\r\n".join([*clean, b"\r\n"])
    return head


def _last(headers: Headers, name: bytes) -> bytes | None:
    values = dict.get(headers, name)
    return values[-1] if values else None
