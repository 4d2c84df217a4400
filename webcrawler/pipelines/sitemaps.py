"""Sitemaps: the URLs that a site names, within scope."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from scrapy.exceptions import DropItem

from webcrawler.crawl import Crawl
from webcrawler.documents import SITEMAP as SITEMAP_TYPE
from webcrawler.documents import SitemapDocument
from webcrawler.frontier.record import SITEMAP, Record
from webcrawler.items import Link, Page
from webcrawler.pipelines.base import PagePipeline
from webcrawler.robots_gate import sitemap_record
from webcrawler.urls import host_key, site_key

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

    from webcrawler.documents import SitemapEntry
    from webcrawler.spiders.base import BaseSpider

_MAX_LEVEL = 4  # an index of indexes is more than the protocol allows
_MAX_SITEMAPS = 5000  # of one owner; the largest sites split theirs into about as many
_AT_A_TIME = 1000


class Listed(NamedTuple):
    """What of a sitemap's entries is of interest: pages, newest first, and sitemaps."""

    pages: list[SitemapEntry]
    sitemaps: list[str]


class SitemapsPipeline(PagePipeline):
    """Puts the URLs of a sitemap, newest first, and the sitemaps of an index.

    A sitemap speaks for the host whose robots.txt named it, and for its own: URLs of other hosts
    are left out, or anybody could fill the frontier in somebody else's name. Of the sitemaps in an
    index those count that are on one of the two hosts, or on the same site.

    A URL is fetched once, so one that robots.txt names and pages link to is whatever its body says:
    a sitemap that came by a link speaks for its own host, and a page that was named as a sitemap is
    a page, if it is one that a link could have led to. Where sitemaps are collected (content_types,
    or as a seed), they are stored besides.
    """

    def __init__(self, crawl: Crawl, spider: BaseSpider) -> None:
        super().__init__(crawl)
        self._spider = spider
        self._max_urls = crawl.config.robots.sitemaps_max_urls
        self._depth_limit = crawl.config.links.depth_limit
        self._urls: Counter[str] = Counter()
        self._sitemaps: Counter[str] = Counter()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(Crawl.of(crawler), crawler.spider)  # type: ignore[arg-type]  # one of ours

    async def process_page(self, page: Page) -> None:
        record: Record = page.visit.record
        is_named = record.kind == SITEMAP
        document = page.document
        if not isinstance(document, SitemapDocument):
            if is_named and not self._is_welcome(page):
                _end(page, "named as a sitemap, and none")
            return
        is_collected = self._spider.arguments.wants(SITEMAP_TYPE)
        if not is_named and (is_collected or record.is_seed):
            return  # a page like others, with its URLs as links
        taken = await self._read(record, document)
        if not is_collected:
            _end(page, f"a sitemap with {taken} new URLs")

    def _is_welcome(self, page: Page) -> bool:
        """Whether a page that was named as a sitemap would have been fetched for a link to it."""
        spider = self._spider
        return (
            spider.arguments.wants(page.mime)
            and not self._is_too_deep(page.depth)
            and self.crawl.scheduler.linker.fingerprint(page.url) is not None
            and spider.should_follow(Link(page.url, kind="sitemap"))
        )

    def _is_too_deep(self, depth: int) -> bool:
        return bool(self._depth_limit) and depth > self._depth_limit

    async def _read(self, record: Record, document: SitemapDocument) -> int:
        """Put what a sitemap lists; how many of its URLs were new."""
        if record.kind == SITEMAP:
            owner, _, word = record.errand.rpartition(" ")
            level = int(word)
            depth = record.depth
        else:
            owner, level, depth = record.host, 0, record.depth + 1
        # Fifty thousand entries take a second: not on the event loop.
        listed = await asyncio.to_thread(_listed, document, {owner, record.host})
        if level < _MAX_LEVEL:
            self._put_sitemaps(owner, level + 1, depth, listed.sitemaps)
        return await self._put_pages(owner, record.fingerprint, depth, listed.pages)

    def _put_sitemaps(self, owner: str, level: int, depth: int, urls: list[str]) -> None:
        urls = urls[: _MAX_SITEMAPS - self._sitemaps[owner]]
        if urls and self._urls[owner] < self._max_urls:
            self._sitemaps[owner] += len(urls)
            fingerprint = self.crawl.canonicalizer.fingerprint
            self.crawl.frontier.put(
                [sitemap_record(url, fingerprint(url), owner, level, depth) for url in urls]
            )

    async def _put_pages(self, owner: str, via: int, depth: int, pages: list[SitemapEntry]) -> int:
        if self._is_too_deep(depth):
            return 0
        pages = pages[: max(0, self._max_urls - self._urls[owner])]
        self._urls[owner] += len(pages)
        frontier, linker = self.crawl.frontier, self.crawl.scheduler.linker
        taken = 0
        for at in range(0, len(pages), _AT_A_TIME):
            for lower, some in _by_priority(pages[at : at + _AT_A_TIME]).items():
                records = linker.records_of(some, depth=depth, via=via, lower=lower)
                taken += frontier.put(records)
            await asyncio.sleep(0)
        return taken


def _end(page: Page, reason: str) -> NoReturn:
    page.visit.links = []
    page.become("filtered", reason=reason)
    raise DropItem(reason)


def _listed(document: SitemapDocument, spoken_for: set[str]) -> Listed:
    sites = {site_key(host) for host in spoken_for}
    pages, sitemaps = [], []
    for entry in document.entries:
        host = host_key(entry.url)
        if entry.is_index:
            if host in spoken_for or site_key(host) in sites:
                sitemaps.append(entry.url)
        elif host in spoken_for:
            pages.append(entry)
    pages.sort(key=lambda entry: entry.lastmod.timestamp() if entry.lastmod else 0.0, reverse=True)
    return Listed(pages, sitemaps)


def _by_priority(entries: list[SitemapEntry]) -> dict[int, list[Link]]:
    """Links by how much lower than others they are: the priority a site gives is a hint."""
    groups: dict[int, list[Link]] = {}
    for entry in entries:
        priority = 0.5 if entry.priority is None else entry.priority
        lower = -1 if priority > 0.8 else 1 if priority < 0.3 else 0
        groups.setdefault(lower, []).append(Link(entry.url, kind="sitemap"))
    return groups
