"""A spider that yields requests of its own, of many kinds, and two that cannot be stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import FormRequest, Request
from scrapy.http import JsonRequest

from webcrawler.spiders.site import SiteSpider

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

BINARY = bytes(range(256))


class RequestsSpider(SiteSpider):
    name = "requests"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        yield from super().parse(response)
        if urlsplit(response.url).path != "/":
            return
        yield response.follow(
            "/binary",
            method="PUT",
            body=BINARY,
            headers={"X-Kind": "binary"},
            callback=self.got,
            cb_kwargs={"name": "binary", "number": 1.5},
            meta={"note": {"deep": (1, b"two", None)}},
        )
        yield FormRequest(
            response.urljoin("/form"), self.got, formdata={"a": "1"}, cb_kwargs={"name": "form"}
        )
        yield JsonRequest(response.urljoin("/json"), self.got, data=[1], cb_kwargs={"name": "json"})
        for _ in range(2):
            yield response.follow("/again", self.got, dont_filter=True, cb_kwargs={"name": "again"})
        for name in ("first", "second"):
            yield response.follow("/once", self.got, cb_kwargs={"name": name})
        yield response.follow("/lambda", callback=lambda response: None)
        yield response.follow("/object", callback=self.got, meta={"object": object()})

    def got(self, response: Response, name: str, number: float = 0.0) -> Iterator[Any]:
        note = response.meta.get("note")
        yield {
            "name": name,
            "number": number,
            "note": repr(note) if note else "",
            "method": response.request.method,
            "depth": response.meta["depth"],
        }
        if name == "json":
            yield Request("http://closed.test:1/", self.got, errback=self.failed)

    def failed(self, failure: Any) -> Iterator[Any]:
        yield {"name": "failed", "error": type(failure.value).__name__}
