"""The archive: what was fetched is kept as WARC records before its page is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from webcrawler import __version__
from webcrawler.archive import (
    TABLE,
    ArchiveWriter,
    Exchange,
    Message,
    WarcFiles,
    latest_key,
    put,
    recover,
    unpack,
)
from webcrawler.crawl import Crawl
from webcrawler.pipelines.base import PagePipeline

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from scrapy.crawler import Crawler

    from webcrawler.archive import Original
    from webcrawler.download.wire import Wire
    from webcrawler.items import Page


class ArchivePipeline(PagePipeline):
    """Writes request and response as they went over the wire, or a revisit record for a copy."""

    def __init__(self, crawl: Crawl, folder: Path) -> None:
        super().__init__(crawl)
        recover(folder)
        config = crawl.config
        self._writer = ArchiveWriter(
            WarcFiles(
                folder,
                # Workers' files are read together, and may be moved into one folder.
                worker=folder.parent.name if crawl.name else "1",
                max_bytes=config.content.archive_max_bytes,
                software=f"webcrawler/{__version__}",
                settings={
                    "USER_AGENT": config.robots.user_agent,
                    "ROBOTSTXT_OBEY": config.robots.obey,
                    "POLITENESS_MIN_DELAY": config.policies.default.minimum,
                },
            )
        )

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        crawl = Crawl.of(crawler)
        if not crawl.config.content.archive or crawl.job is None:
            raise NotConfigured
        return cls(crawl, crawl.job.folder / "warc")

    async def process_page(self, page: Page) -> None:
        wire: Wire | None = page.response.meta.get("wire") if page.response is not None else None
        if wire is None or page.is_noarchive:
            return
        await self._writer.room()
        stored = await self._writer.append(
            Exchange(
                page.url,
                wire.at,
                _message(wire.response_head, wire.body),
                _message(wire.request_head, wire.request_body),
                address=wire.address,
                truncated="disconnect" if "dataloss" in page.response.flags else "",
                original=self._original(page),
            )
        )
        put(page.batch, page.fingerprint, stored)

    def _original(self, page: Page) -> Original | None:
        if page.outcome != "duplicate" or not page.of:
            return None
        entry = unpack(self.crawl.store.table(TABLE).get(latest_key(page.of_fingerprint)))
        return entry.original(page.of) if entry is not None else None

    async def close_spider(self) -> None:
        await self._writer.close()


def _message(head: bytes, body: bytes) -> Message:
    """The bytes of a head as a start line and pairs, as they are."""
    lines = head.split(b"\r\n") if b"\r\n" in head else head.split(b"\n")
    pairs = []
    for line in lines[1:]:
        name, colon, value = line.partition(b":")
        if colon:
            pairs.append((name, value.removeprefix(b" ")))
    return Message(lines[0], pairs, body)
