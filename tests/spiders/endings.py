"""A spider whose parts do everything that can end a URL, each on the host that is named for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.exceptions import DropItem, IgnoreRequest

from webcrawler.items import Page
from webcrawler.spiders.web import WebSpider

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.http import Response
    from scrapy.settings import BaseSettings


def is_for(url: str, host: str) -> bool:
    """Whether this is the page on which the host's ending happens: /b is always fine."""
    return f"//{host}.test" in url and not url.endswith("/b")


class Middleware:
    """Refuses, breaks, and answers with requests of its own."""

    def process_request(self, request: Request) -> None:
        if is_for(request.url, "hanging"):
            request.meta["download_timeout"] = 0.5
        if is_for(request.url, "refused"):
            raise IgnoreRequest("not this one")
        if is_for(request.url, "middleware-breaks"):
            raise RuntimeError("a broken middleware")

    def process_response(self, request: Request, response: Response) -> Request | Response:
        if response.status == 401:
            return request.replace(headers={"X-Key": "secret"})
        if response.status == 418:
            return request.replace(url=request.url.replace("rerouted", "elsewhere"))
        if is_for(request.url, "refused-late"):
            raise IgnoreRequest("not this answer")
        return response


class Pipeline:
    """Drops and breaks."""

    def process_item(self, item: Any) -> Any:
        if isinstance(item, Page):
            if is_for(item.url, "dropped"):
                raise DropItem("not wanted")
            if is_for(item.url, "pipeline-breaks"):
                raise RuntimeError("a broken pipeline")
        return item


class EndingsSpider(WebSpider):
    name = "endings"

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        super().update_settings(settings)
        for name, component, order in (
            ("DOWNLOADER_MIDDLEWARES", Middleware, 120),
            ("ITEM_PIPELINES", Pipeline, 50),
        ):
            settings.set(name, {**settings.getdict(name), component: order}, priority="spider")

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        if is_for(response.url, "callback-breaks"):
            raise RuntimeError("a broken callback")
        if is_for(response.url, "callback-yields-nothing"):
            return
        yield from super().parse(response)
        if is_for(response.url, "callback-breaks-late"):
            raise RuntimeError("a broken callback")
        if is_for(response.url, "callback-yields-more"):
            yield {"an": "item"}
            yield response.follow("/more", callback=self.more)

    def more(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url}
