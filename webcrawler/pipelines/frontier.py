"""The last pipeline: a page's links become records, to be committed with its ending."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import DropItem

from webcrawler.pipelines.base import PagePipeline

if TYPE_CHECKING:
    from webcrawler.items import Page


class FrontierPipeline(PagePipeline):
    """Collects the links that a page's outcome allows, and drops exact duplicates.

    A page that an earlier pipeline dropped does not come here; the scheduler then collects what
    its outcome allows when the page ends.
    """

    async def process_page(self, page: Page) -> None:
        if page.outcome == "duplicate":
            raise DropItem(f"a copy of {page.of}")
        page.visit.links = self.crawl.scheduler.collect(page)
