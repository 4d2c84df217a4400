"""Sitemaps: the URLs that a site names, within scope."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from scrapy.exceptions import DropItem

from webcrawler.documents import SITEMAP as SITEMAP_TYPE
from webcrawler.documents import SitemapDocument, parse_content_type
from webcrawler.frontier.record import SITEMAP, Record
from webcrawler.items import Link, Page
from webcrawler.pipelines.base import PagePipeline
from webcrawler.robots_gate import sitemap_record
from webcrawler.urls import host_key, site_key

if TYPE_CHECKING:
    from webcrawler.crawl import Crawl
    from webcrawler.documents import SitemapEntry

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
    """

    def __init__(self, crawl: Crawl) -> None:
        super().__init__(crawl)
        self._max_urls = crawl.config.robots.sitemaps_max_urls
        depth_limit = crawl.config.links.depth_limit
        # The URLs of a sitemap are as far from a seed as the links of its front page.
        self._is_deep_enough = not depth_limit or depth_limit >= 1
        self._urls: Counter[str] = Counter()
        self._sitemaps: Counter[str] = Counter()

    async def process_page(self, page: Page) -> None:
        record: Record = page.visit.record
        if record.kind != SITEMAP:
            return
        page.visit.links = []
        # Whatever it is sent as, a list of lines as plain text included, it was named as a sitemap.
        charset = parse_content_type(page.content_type).charset
        page.content_type = f"{SITEMAP_TYPE}; charset={charset}" if charset else SITEMAP_TYPE
        document = page.document
        taken = 0
        if isinstance(document, SitemapDocument):
            owner, _, level = record.errand.rpartition(" ")
            # Fifty thousand entries take a second: not on the event loop.
            listed = await asyncio.to_thread(_listed, document, {owner, record.host})
            if int(level) < _MAX_LEVEL:
                self._put_sitemaps(owner, int(level) + 1, listed.sitemaps)
            taken = await self._put_pages(owner, record, listed.pages)
        page.become("filtered", reason=f"a sitemap with {taken} new URLs")
        raise DropItem(page.reason)

    def _put_sitemaps(self, owner: str, level: int, urls: list[str]) -> None:
        urls = urls[: _MAX_SITEMAPS - self._sitemaps[owner]]
        if urls and self._urls[owner] < self._max_urls:
            self._sitemaps[owner] += len(urls)
            self.crawl.frontier.put([sitemap_record(url, owner, level) for url in urls])

    async def _put_pages(self, owner: str, record: Record, pages: list[SitemapEntry]) -> int:
        if not self._is_deep_enough:
            return 0
        pages = pages[: max(0, self._max_urls - self._urls[owner])]
        self._urls[owner] += len(pages)
        frontier, linker = self.crawl.frontier, self.crawl.scheduler.linker
        taken = 0
        for at in range(0, len(pages), _AT_A_TIME):
            for lower, some in _by_priority(pages[at : at + _AT_A_TIME]).items():
                records = linker.records_of(some, depth=1, via=record.fingerprint, lower=lower)
                taken += frontier.put(records)
            await asyncio.sleep(0)
        return taken


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
