"""robots.txt: a URL that our agent may not fetch is refused here.

The rules are there when a request comes: the scheduler's gate has them fetched before. Only a
request that somebody sends past the scheduler (`engine.download_async`) may come before its rules
are known; it passes, as there is no turn of its host in which they could be fetched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest, NotConfigured

from webcrawler.crawl import Crawl
from webcrawler.visit import META_KEY

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler


class RobotsMiddleware:
    """Refuses what robots.txt forbids, with the line that does."""

    def __init__(self, crawler: Crawler, crawl: Crawl) -> None:
        self._crawler = crawler
        self._crawl = crawl

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        crawl = Crawl.of(crawler)
        if not crawl.config.robots.obey:
            raise NotConfigured
        return cls(crawler, crawl)

    def process_request(self, request: Request) -> None:
        visit = request.meta.get(META_KEY)
        if visit is not None and visit.errand is not None:
            return
        if request.meta.get("dont_obey_robotstxt"):
            return
        gate = self._crawl.scheduler.robots
        assert gate is not None
        decision = gate.explain(request.url, self._crawl.clock())
        if decision is not None:
            self._crawler.stats.inc_value("robots/refused")
            raise IgnoreRequest(f"robots.txt: {decision}")
