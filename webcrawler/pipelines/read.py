"""Reading: what is asked of a page is found out at once, and its parse let go."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from webcrawler.crawl import Crawl
from webcrawler.documents import DEFAULTS, SITEMAP, Document, PDFDocument, can_parse
from webcrawler.pages import PagePool, Questions, ask, fill
from webcrawler.pipelines.base import PagePipeline

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

    from webcrawler.items import Page


class ReadPipeline(PagePipeline):
    """Reads pages: here, in a pool of processes (PAGE_PROCESSES), or (PDF) at least in a thread.

    Everything behind it finds the answers in the page. A duplicate is not read; and what a spider
    wants read with options of its own is not read in the pool.
    """

    def __init__(self, crawl: Crawl, questions: Questions, pool: PagePool | None) -> None:
        super().__init__(crawl)
        self._questions = questions
        self._pool = pool

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        crawl = Crawl.of(crawler)
        config = crawl.config.content
        questions = Questions(
            getattr(crawler.spider, "options", DEFAULTS),
            text=config.near_duplicates or config.index,
            main_text=config.near_duplicates and config.main_content,
            signer=crawl.near_duplicates.signer if config.near_duplicates else None,
        )
        assert crawler.stats is not None
        processes, count = crawl.config.page_processes, crawler.stats.inc_value
        return cls(
            crawl, questions, PagePool(processes, questions, count=count) if processes else None
        )

    async def process_page(self, page: Page) -> None:
        document = page.document
        if page.outcome == "duplicate" or not can_parse(document.mime):
            return
        questions = self._questions
        if document.mime == SITEMAP:
            return  # it is long, and the sitemaps' own pipeline reads it
        if self._pool is not None and document.options == questions.options:
            answers = await self._pool.read(
                document.body,
                document.url,
                document.mime,
                document.charset,
                document.content_language,
            )
            if answers is None:
                # Workers die of it: nobody is to try again.
                page.document = Document(page.body, page.url, page.mime)
                page.document.note("unparseable")
                return
            page.signature = fill(document, answers)
        elif isinstance(document, PDFDocument):
            # It waits for a process of its own, for as long as that takes.
            page.signature = await asyncio.to_thread(ask, document, questions)
        else:
            page.signature = ask(document, questions)
        page.is_signed = questions.signer is not None

    def close_spider(self) -> None:
        if self._pool is not None:
            self._pool.close()
