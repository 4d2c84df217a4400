"""Near-duplicates: pages that say nearly the same as one that is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from webcrawler.crawl import Crawl
from webcrawler.dedup import PARAMETERS_KEY, SKETCHES
from webcrawler.exceptions import JobError
from webcrawler.pipelines.base import PagePipeline
from webcrawler.tables import Batch

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

    from webcrawler.dedup import NearDuplicates
    from webcrawler.items import Page


class NearDuplicatesPipeline(PagePipeline):
    """Gives a near-duplicate its outcome, its original and how similar they are."""

    def __init__(self, crawl: Crawl, test: NearDuplicates, *, main_content: bool) -> None:
        super().__init__(crawl)
        self._test = test
        self._main_content = main_content

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        crawl = Crawl.of(crawler)
        config = crawl.config.content
        if not config.near_duplicates:
            raise NotConfigured
        test = crawl.near_duplicates
        stored = crawl.store.table(SKETCHES).get(PARAMETERS_KEY)
        if mismatch := test.mismatch(stored):
            raise JobError(f"{mismatch}: use the old NEARDUP_ settings, or another job folder")
        if stored is None:
            batch = Batch()
            batch.put(SKETCHES, PARAMETERS_KEY, test.parameters)
            crawl.store.commit(batch)
        return cls(crawl, test, main_content=config.main_content)

    async def process_page(self, page: Page) -> None:
        if page.outcome != "stored":
            return
        if page.is_signed:
            signature = page.signature
        else:
            document = page.document
            text = document.main_text if self._main_content else document.text
            signature = self._test.signature(text)
        finding = await self.crawl.examine(self._test.examine(page.fingerprint, signature))
        finding.write(page.batch)
        if finding.match is not None:
            page.become("near_duplicate", of=finding.match.fingerprint)
            page.of = await self.crawl.url_of(finding.match.fingerprint)
            page.similarity = finding.match.similarity
