"""Content-seen: an exact duplicate is recognised before it is parsed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from webcrawler.crawl import Crawl
from webcrawler.dedup import ContentSeen, content_digest
from webcrawler.pipelines.base import PagePipeline

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

    from webcrawler.items import Page


class ContentSeenPipeline(PagePipeline):
    """Gives every page its digest, and a duplicate its outcome and its original."""

    def __init__(self, crawl: Crawl) -> None:
        super().__init__(crawl)
        self._test = ContentSeen()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        crawl = Crawl.of(crawler)
        if not crawl.config.content.content_seen:
            raise NotConfigured
        return cls(crawl)

    async def process_page(self, page: Page) -> None:
        page.digest = content_digest(page.body, page.mime)
        seen = await self.crawl.examine(self._test.examine(page.fingerprint, page.digest))
        seen.write(page.batch)
        if seen.original is not None:
            page.become("duplicate", of=seen.original)
            page.of = await self.crawl.url_of(seen.original)
