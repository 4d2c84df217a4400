"""What the pipelines on pages have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.exceptions import DropItem

from webcrawler.crawl import Crawl
from webcrawler.exceptions import StoreError
from webcrawler.items import Page

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler


class PagePipeline:
    """Passes pages that belong to a visit to `process_page`, and everything else on.

    A full disk is not the page's fault: the crawl stops, and the page is fetched again later.
    """

    def __init__(self, crawl: Crawl) -> None:
        self.crawl = crawl

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(Crawl.of(crawler))

    async def process_item(self, item: Any) -> Any:
        if isinstance(item, Page) and item.visit is not None:
            try:
                await self.process_page(item)
            except StoreError as error:
                self.crawl.scheduler.abandon(item.visit, error)
                raise DropItem("not kept: the crawl stops") from error
        return item

    async def process_page(self, page: Page) -> None:
        raise NotImplementedError
