"""X-Robots-Tag, and with it robots meta: what an answer says to robots.

The header is read here, for any type. The meta tags of an HTML page are read when the page is
parsed for its links anyway (`Page.directives`), so that a duplicate is never parsed for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawler.crawl import Crawl
from webcrawler.robots import parse_headers
from webcrawler.visit import META_KEY

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response


class DirectivesMiddleware:
    """Puts the header's directives on the visit."""

    def __init__(self, agent: str) -> None:
        self._agent = agent

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(Crawl.of(crawler).config.robots.agent)

    def process_response(self, request: Request, response: Response) -> Response:
        values = response.headers.getlist("X-Robots-Tag")
        visit = request.meta.get(META_KEY)
        if values and visit is not None:
            visit.directives = parse_headers(values, self._agent)
        return response
