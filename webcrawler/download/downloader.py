"""Downloader: middlewares, then the handler, and nothing in between.

Selected by DOWNLOADER. Scrapy's own keeps a queue, a delay and a set of transfers for each host;
here the scheduler owns politeness and hands out only what may be fetched now, so a request that
arrives is fetched. DOWNLOAD_DELAY, CONCURRENT_REQUESTS_PER_DOMAIN and DOWNLOAD_SLOTS have no
effect; CONCURRENT_REQUESTS has.
"""

from __future__ import annotations

import asyncio
import logging
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

import scrapy.core.downloader
from scrapy import signals
from scrapy.http import Request, Response
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.deprecate import argument_is_required
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from webcrawler.download.watch import has_listeners

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Spider
    from scrapy.crawler import Crawler

    Method = Callable[..., Any]

logger = logging.getLogger(__name__)
T = TypeVar("T")


class Downloader(scrapy.core.downloader.Downloader):
    """Scrapy's downloader without slots.

    A request is in `active` from `fetch` until its result is handed to the engine. `on_left`, if
    somebody set it, is called with the request and its result (a response, another request or an
    exception) each time one has just left, exactly once, whatever the ending: fetched, failed,
    refused or answered by a middleware, redirected, cancelled. `on_fetched` is called for what
    really went to a server: with the request, the answer or the exception, and the seconds.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.on_left: Callable[[Request, Any], None] | None = None
        self.on_fetched: Callable[[Request, Response | Exception, float], None] | None = None
        methods = self.middleware.methods
        self._before: list[Method] = [m for m in methods["process_request"] if m]
        self._after: list[Method] = [m for m in methods["process_response"] if m]
        self._rescue: list[Method] = [m for m in methods["process_exception"] if m]
        # Middlewares of the old form get their spider from Scrapy's own loop.
        self._has_old_methods = any(
            argument_is_required(method, "spider")
            for method in (*self._before, *self._after, *self._rescue)
        )

    def fetch(self, request: Request, spider: Spider | None = None) -> Deferred[Response | Request]:
        """Fires with what the middlewares made of the request; `spider` is not looked at."""
        self.active.add(request)
        if self._has_old_methods:
            work = self.middleware.download_async(self._enqueue_request, request)
        else:
            work = self._pass(request)
        deferred: Deferred[Response | Request] = Deferred.fromFuture(asyncio.ensure_future(work))
        # Not in the coroutine: the engine would find itself idle before it has the result.
        return deferred.addBoth(self._leave, request)

    def _leave(self, result: T, request: Request) -> T:
        self.active.discard(request)
        if self.on_left is not None:
            try:
                self.on_left(request, result.value if isinstance(result, Failure) else result)
            except Exception:
                logger.exception("on_left failed for %s", request)
        return result

    async def _pass(self, request: Request) -> Response | Request:
        """Scrapy's middleware protocol, without a coroutine for every plain answer."""
        result: Any = None
        try:
            for method in self._before:
                result = method(request=request)
                if result is not None:
                    result = await _checked(method, result, nothing_is_fine=True)
                    if result is not None:
                        break
            else:
                result = await self._enqueue_request(request)
        except Exception as error:
            # Refusals in a row would otherwise keep the loop from its sockets.
            await asyncio.sleep(0)
            result = await self._recover(error, request)
        if isinstance(result, Request):
            return result
        for method in self._after:
            result = method(request=request, response=result)
            if not isinstance(result, Response):
                result = await _checked(method, result, nothing_is_fine=False)
                if isinstance(result, Request):
                    return result
        response: Response = result
        return response

    async def _recover(self, error: Exception, request: Request) -> Response | Request:
        for method in self._rescue:
            result = method(request=request, exception=error)
            if result is not None:
                answer = await _checked(method, result, nothing_is_fine=True)
                if answer is not None:
                    return answer
        raise error

    async def _enqueue_request(self, request: Request) -> Response:
        """What is called behind the last middleware: Scrapy would queue, this fetches."""
        manager = self.signals
        if self.DOWNLOAD_SLOT not in request.meta:
            request.meta[self.DOWNLOAD_SLOT] = self.get_slot_key(request)
        if has_listeners(manager, signals.request_reached_downloader):
            manager.send_catch_log(
                signal=signals.request_reached_downloader,
                request=request,
                spider=self.crawler.spider,
            )
        started_at = monotonic()
        try:
            response = await self.handlers.download_request_async(request)
            if self.on_fetched is not None:
                self.on_fetched(request, response, monotonic() - started_at)
            if has_listeners(manager, signals.response_downloaded):
                manager.send_catch_log(
                    signal=signals.response_downloaded,
                    response=response,
                    request=request,
                    spider=self.crawler.spider,
                )
            return response
        except Exception as error:
            if self.on_fetched is not None:
                self.on_fetched(request, error, monotonic() - started_at)
            raise
        finally:
            if has_listeners(manager, signals.request_left_downloader):
                manager.send_catch_log(
                    signal=signals.request_left_downloader,
                    request=request,
                    spider=self.crawler.spider,
                )


async def _checked(
    method: Method, result: Any, *, nothing_is_fine: bool
) -> Response | Request | None:
    """What a middleware's method gave, awaited where it has to be; TypeError for anything odd."""
    if not isinstance(result, Response | Request):
        result = await ensure_awaitable(result)
    if isinstance(result, Response | Request) or (result is None and nothing_is_fine):
        return result
    name = getattr(method, "__qualname__", repr(method))
    raise TypeError(f"Middleware {name} must return a Response or Request, got {type(result)}")
