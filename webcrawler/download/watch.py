"""Scrapy's signals during a download, for the rare crawl in which somebody listens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydispatch import dispatcher  # type: ignore[import-untyped]  # has none, nor stubs
from scrapy import signals
from scrapy.exceptions import StopDownload
from twisted.python.failure import Failure

from webcrawler.download.responses import make_headers

if TYPE_CHECKING:
    from aiohttp.http import RawResponseMessage
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.signalmanager import SignalManager


def has_listeners(manager: SignalManager, signal: object) -> bool:
    """Whether anybody would hear a signal: 0.3 us, where sending it to nobody takes 4."""
    for sender in (manager.sender, dispatcher.Any):
        heard = dispatcher.connections.get(id(sender))
        if heard and (heard.get(signal) or heard.get(dispatcher.Any)):
            return True
    return False


def watcher_for(crawler: Crawler, request: Request) -> SignalWatcher | Truncator | None:
    """None, the normal case, where nobody listens to a download's progress."""
    if "download_truncate" in request.meta:
        return Truncator(request.meta["download_truncate"])
    manager = crawler.signals
    wants_head = has_listeners(manager, signals.headers_received)
    wants_chunks = has_listeners(manager, signals.bytes_received)
    if not wants_head and not wants_chunks:
        return None
    return SignalWatcher(crawler, request, wants_head, wants_chunks)


class Truncator:
    """Ends a download when enough has come: the rest is not wanted (`download_truncate`)."""

    __slots__ = ("_left", "stop")

    def __init__(self, size: int) -> None:
        self._left = size
        self.stop: StopDownload | None = None

    def head(self, message: RawResponseMessage) -> bool:
        return False

    def chunk(self, data: bytes) -> bool:
        self._left -= len(data)
        return self._left <= 0


class SignalWatcher:
    """Sends headers_received and bytes_received; remembers who raised StopDownload."""

    __slots__ = ("_crawler", "_request", "_wants_chunks", "_wants_head", "stop")

    def __init__(
        self, crawler: Crawler, request: Request, wants_head: bool, wants_chunks: bool
    ) -> None:
        self._crawler = crawler
        self._request = request
        self._wants_head = wants_head
        self._wants_chunks = wants_chunks
        self.stop: StopDownload | None = None

    def head(self, message: RawResponseMessage) -> bool:
        if not self._wants_head:
            return False
        length = message.headers.get("Content-Length", "")
        return self._send(
            signals.headers_received,
            headers=make_headers(message.raw_headers),
            body_length=int(length) if length.isdecimal() else None,
        )

    def chunk(self, data: bytes) -> bool:
        return self._wants_chunks and self._send(signals.bytes_received, data=data)

    def _send(self, signal: object, **arguments: Any) -> bool:
        results = self._crawler.signals.send_catch_log(
            signal=signal, request=self._request, spider=self._crawler.spider, **arguments
        )
        for _, result in results:
            if isinstance(result, Failure) and isinstance(result.value, StopDownload):
                self.stop = result.value
                return True
        return False
