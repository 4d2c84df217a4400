from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request, Spider, signals
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.exceptions import DownloadFailedError, IgnoreRequest, ScrapyDeprecationWarning
from scrapy.http import Response
from scrapy.utils.defer import deferred_to_future
from scrapy.utils.test import get_crawler
from twisted.internet.defer import CancelledError

from webcrawler.download import Downloader

if TYPE_CHECKING:
    from collections.abc import Callable

URL = "http://host.test/page"


class Handler(BaseDownloadHandler):
    """Answers by the path of the URL."""

    async def download_request(self, request: Request) -> Response:
        if "fail" in request.url:
            raise DownloadFailedError("as asked")
        if "hang" in request.url:
            await asyncio.Event().wait()
        await asyncio.sleep(0)
        return Response(request.url, status=200)


class Middleware:
    """A middleware whose methods are put in by a test; what they return or raise counts."""

    before: Callable[[Request], Any] = staticmethod(lambda request: None)
    after: Callable[[Request, Response], Any] = staticmethod(lambda request, response: response)
    rescue: Callable[[Request, Exception], Any] = staticmethod(lambda request, exception: None)

    def process_request(self, request: Request) -> Any:
        return Middleware.before(request)

    def process_response(self, request: Request, response: Response) -> Any:
        return Middleware.after(request, response)

    def process_exception(self, request: Request, exception: Exception) -> Any:
        return Middleware.rescue(request, exception)


class Async:
    """The same in the other colour, above it; it only looks."""

    async def process_request(self, request: Request) -> None:
        await asyncio.sleep(0)

    async def process_response(self, request: Request, response: Response) -> Response:
        await asyncio.sleep(0)
        return response

    async def process_exception(self, request: Request, exception: Exception) -> None:
        await asyncio.sleep(0)


class OldStyle:
    def process_request(self, request: Request, spider: Spider) -> None:
        request.meta["spider_name"] = spider.name


@pytest.fixture(autouse=True)
def _plain_middleware(monkeypatch: pytest.MonkeyPatch) -> None:
    # Whatever a test puts into Middleware is taken out again.
    for name in ("before", "after", "rescue"):
        monkeypatch.setattr(Middleware, name, Middleware.__dict__[name])


def use(**methods: Callable[..., Any]) -> None:
    for name, method in methods.items():
        setattr(Middleware, name, staticmethod(method))


def raising(error: Exception) -> Callable[..., Any]:
    def method(*arguments: object) -> Any:
        raise error

    return method


class Fetch:
    """One request through a downloader: what came out, and what was told on the way."""

    def __init__(self, url: str = URL, *, extra: dict[Any, int] | None = None, **settings: Any):
        self.left: list[Request] = []
        self.told: list[str] = []
        self.active_at_result: int | None = None
        self.request = Request(url)
        self.url = url
        self.settings = {
            "TWISTED_REACTOR_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
            "DOWNLOADER_MIDDLEWARES_BASE": {},
            "DOWNLOADER_MIDDLEWARES": {Async: 1, Middleware: 2, **(extra or {})},
            "DOWNLOAD_HANDLERS": {"http": Handler},
            **settings,
        }

    async def run(self, *, cancel: bool = False, on_left: Callable[..., None] | None = None) -> Any:
        crawler = get_crawler(Spider, self.settings)
        crawler.spider = Spider("s")
        self.downloader = downloader = Downloader(crawler)
        downloader.on_left = on_left or (lambda request, result: self.left.append(request))

        def hear(name: str) -> Callable[..., None]:
            def listener(request: Request) -> None:
                assert request is self.request
                self.told.append(name)

            return listener

        listeners = [hear(name) for name in ("reached", "downloaded", "left")]
        for listener, signal in zip(
            listeners,
            (
                signals.request_reached_downloader,
                signals.response_downloaded,
                signals.request_left_downloader,
            ),
            strict=True,
        ):
            crawler.signals.connect(listener, signal)
        deferred = downloader.fetch(self.request)
        assert self.request in downloader.active
        assert not self.left

        def note(result: Any) -> Any:
            self.active_at_result = len(downloader.active)
            return result

        deferred.addBoth(note)
        future = deferred_to_future(deferred)
        if cancel:
            for _ in range(5):
                await asyncio.sleep(0)
            assert self.request in downloader.active
            deferred.cancel()
        try:
            return await future
        finally:
            assert self.active_at_result == 0
            assert not downloader.active
            if on_left is None:
                assert self.left == [self.request]
            downloader.close()

    def __call__(self, **options: Any) -> Any:
        return asyncio.run(self.run(**options))


def test_fetched() -> None:
    fetch = Fetch()
    response = fetch()
    assert (response.status, response.url) == (200, URL)
    assert fetch.told == ["reached", "downloaded", "left"]
    assert fetch.request.meta["download_slot"] == "host.test"


def test_failed() -> None:
    fetch = Fetch("http://host.test/fail")
    with pytest.raises(DownloadFailedError):
        fetch()
    assert fetch.told == ["reached", "left"]


def test_refused_by_a_middleware() -> None:
    use(before=raising(IgnoreRequest("robots.txt")))
    fetch = Fetch()
    with pytest.raises(IgnoreRequest):
        fetch()
    assert fetch.told == []


def test_answered_by_a_cache() -> None:
    cached = Response(URL, status=203)
    use(before=lambda request: cached)
    fetch = Fetch()
    assert fetch() is cached
    assert fetch.told == []


def test_turned_into_another_request_before() -> None:
    other = Request("http://other.test/")
    use(before=lambda request: other, after=raising(AssertionError("not for requests")))
    assert Fetch()() is other


def test_redirected_after() -> None:
    other = Request("http://other.test/")
    use(after=lambda request, response: other)
    fetch = Fetch()
    assert fetch() is other
    assert fetch.told == ["reached", "downloaded", "left"]


def test_refused_after() -> None:
    use(after=raising(IgnoreRequest("not this one")))
    with pytest.raises(IgnoreRequest):
        Fetch()()


def test_rescued_with_a_retry() -> None:
    again = Request(URL)
    use(rescue=lambda request, exception: again)
    assert Fetch("http://host.test/fail")() is again


def test_rescued_with_a_response_that_the_others_see() -> None:
    use(
        rescue=lambda request, exception: Response(URL, status=299),
        after=lambda request, response: response.replace(status=response.status - 1),
    )
    assert Fetch("http://host.test/fail")().status == 298


def test_an_error_of_a_rescuer() -> None:
    use(rescue=raising(KeyError("broken")))
    with pytest.raises(KeyError):
        Fetch("http://host.test/fail")()


def test_an_error_after_is_nobodys_to_rescue() -> None:
    # As in Scrapy: process_exception is for what happens below, not for process_response.
    use(after=raising(ValueError("broken")), rescue=lambda request, exception: Response(URL))
    with pytest.raises(ValueError, match="broken"):
        Fetch()()


def test_cancelled() -> None:
    with pytest.raises((CancelledError, asyncio.CancelledError)):
        Fetch("http://host.test/hang")(cancel=True)


def test_no_handler_for_the_scheme() -> None:
    with pytest.raises(Exception, match="Unsupported URL scheme"):
        Fetch("gopher://host.test/")()


def test_coroutines_are_awaited() -> None:
    async def before(request: Request) -> Response:
        await asyncio.sleep(0)
        return Response(URL, status=201)

    async def after(request: Request, response: Response) -> Response:
        await asyncio.sleep(0)
        return response.replace(status=response.status + 1)

    use(before=before, after=after)
    assert Fetch()().status == 202


@pytest.mark.parametrize("methods", [{"before": lambda r: 7}, {"after": lambda r, s: None}])
def test_nonsense_is_a_type_error(methods: dict[str, Any]) -> None:
    use(**methods)
    with pytest.raises(TypeError, match="must return"):
        Fetch()()


def test_middlewares_of_the_old_form_get_their_spider() -> None:
    fetch = Fetch(extra={OldStyle: 3})
    with pytest.warns(ScrapyDeprecationWarning):
        response = fetch()
    assert response.status == 200
    assert fetch.request.meta["spider_name"] == "s"
    assert fetch.told == ["reached", "downloaded", "left"]


def test_an_error_in_on_left_is_logged_and_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    assert Fetch()(on_left=raising(KeyError("broken"))).status == 200
    assert "on_left failed" in caplog.text


def test_a_slot_somebody_set_stays() -> None:
    fetch = Fetch()
    fetch.request.meta["download_slot"] = "mine"
    fetch()
    assert fetch.request.meta["download_slot"] == "mine"


def test_backing_out() -> None:
    async def check() -> None:
        crawler = get_crawler(Spider, Fetch(CONCURRENT_REQUESTS=2).settings)
        crawler.spider = Spider("s")
        downloader = Downloader(crawler)
        fetches = []
        for number in range(2):
            assert not downloader.needs_backout()
            fetches.append(downloader.fetch(Request(f"http://host.test/{number}")))
        assert downloader.needs_backout()
        await asyncio.gather(*map(deferred_to_future, fetches))
        assert not downloader.needs_backout()

    asyncio.run(check())
