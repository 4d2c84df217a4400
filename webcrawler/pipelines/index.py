"""The index: pages are noted in the journal with their ending, and indexed by a thread."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from webcrawler.crawl import Crawl
from webcrawler.index import (
    TABLES,
    FullTextIndex,
    IndexedPage,
    Indexer,
    IndexJournal,
    IndexThread,
    Note,
)
from webcrawler.pipelines.base import PagePipeline

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from scrapy.crawler import Crawler

    from webcrawler.frontier.ending import Ending
    from webcrawler.items import Page
    from webcrawler.visit import Visit

logger = logging.getLogger(__name__)
_MAX_BACKLOG = 4000
_GONE = (404, 410)


class IndexPipeline(PagePipeline):
    """Notes in a page's batch what is to be indexed; hands the note over when it is committed.

    Whatever else ends (a copy, a redirect, a page that is gone) is noted too, so that it is not
    found by words that point at it but leads to what it stands for.
    """

    def __init__(self, crawl: Crawl, folder: Path) -> None:
        super().__init__(crawl)
        config = crawl.config.content
        self._journal = IndexJournal()
        self._index_near_duplicates = config.index_near_duplicates
        index = FullTextIndex(folder, heap_bytes=config.index_memory)
        tables = {name: crawl.store.table(name) for name in TABLES}
        self._thread = IndexThread(
            Indexer(
                index,
                tables,
                crawl.store.commit,
                journal=self._journal,
                sequence=crawl.sequence,
                post=getattr(crawl.store, "post", None),
            ),
            commit_secs=config.index_commit_secs,
            replay_before=crawl.sequence.next(),
        )
        self._notes: dict[int, Note] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        crawl = Crawl.of(crawler)
        if not crawl.config.content.index or crawl.job is None:
            raise NotConfigured
        if crawl.config.frontier.backend == "memory":
            raise NotConfigured("the index needs a frontier that is kept")
        return cls(crawl, crawl.job.folder / "index")

    def open_spider(self) -> None:
        self._thread.start()
        scheduler = self.crawl.scheduler
        scheduler.on_ending.append(self._note)
        scheduler.on_ended.append(self._hand_over)
        scheduler.on_refused.append(
            lambda visit, ending: self._notes.pop(ending.record.fingerprint, None)
        )
        scheduler.before_close.append(self._close)

    async def process_page(self, page: Page) -> None:
        while self._thread.backlog > _MAX_BACKLOG:
            await asyncio.sleep(0.05)  # the crawl is faster than the index: let it catch up

    def _note(self, visit: Visit, ending: Ending) -> None:
        page, record = visit.page, ending.record
        number = self.crawl.sequence.next()
        is_wanted = ending.outcome == "stored" or (
            ending.outcome == "near_duplicate" and self._index_near_duplicates
        )
        if page is not None and is_wanted:
            indexed = IndexedPage(
                record.fingerprint,
                page.url,
                page.title,
                page.text,
                page.language,
                page.fetched_at,
                page.depth,
            )
            note = self._journal.add(ending.batch, indexed, number)
        elif page is not None or ending.outcome == "redirect" or ending.status in _GONE:
            is_followed = ending.outcome == "redirect" and bool(ending.links)
            target = ending.links[0].fingerprint if is_followed else ending.of
            note = self._journal.remove(ending.batch, record.fingerprint, number, target)
        else:
            return
        self._notes[record.fingerprint] = note

    def _hand_over(self, visit: Visit, ending: Ending) -> None:
        note = self._notes.pop(ending.record.fingerprint, None)
        if note is not None:
            self._thread.add(note)

    def _close(self) -> None:
        logger.info("writing the index")
        if not self._thread.close():
            logger.info("the index is complete except for some link texts; they follow next time")
