"""Anchor text and the link graph: a page's links are recorded with its ending."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from webcrawler.crawl import Crawl
from webcrawler.index import LINKS, Source, record_links, site_hash
from webcrawler.pipelines.base import PagePipeline
from webcrawler.urls import host_key, site_key

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

    from webcrawler.items import Page


class AnchorsPipeline(PagePipeline):
    """Records the links that may be followed; the index's thread carries them to their targets."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        crawl = Crawl.of(crawler)
        if not crawl.config.content.anchors:
            raise NotConfigured
        return cls(crawl)

    async def process_page(self, page: Page) -> None:
        if page.outcome == "duplicate":
            return
        store = self.crawl.store
        fingerprint = self.crawl.scheduler.linker.fingerprint
        links = (
            []
            if page.is_nofollow
            else [link for link in page.links if fingerprint(link.url) is not None]
        )
        source = Source(page.fingerprint, page.url, site_hash(site_key(host_key(page.url))))
        record_links(
            page.batch,
            source,
            links,
            fingerprint,  # type: ignore[arg-type]  # the links it gives None for are left out
            sequence=self.crawl.sequence.next(),
            old=store.table(LINKS).get(source.key),
        )
