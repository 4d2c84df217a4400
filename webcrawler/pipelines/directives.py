"""noindex, nofollow, noarchive and canonical: what a page says about itself."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from webcrawler.crawl import Crawl
from webcrawler.dedup.content import CONTENT, digest_key, url_key
from webcrawler.pipelines.base import PagePipeline
from webcrawler.robots import may_have_meta, meta_pairs, parse_meta

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

    from webcrawler.items import Page
    from webcrawler.robots import Directives

# Endings of a canonical URL after which nobody stands for the page that named it.
_NOBODY = frozenset({"failed", "refused", "filtered", "redirect"})
_REMEMBERED = 10_000
_MOST_STEPS = 16  # from a page to the one that its canonical page names, and so on
_COUNTED = ("noindex", "nofollow", "noarchive")


class DirectivesPipeline(PagePipeline):
    """Merges robots meta with X-Robots-Tag by the most restrictive.

    A page that names another one as its canonical form is kept out of the index like a noindex
    one, if that other one is within the crawl's scope and will be, or was, fetched itself.

    A page that is not indexed for a reason outside its bytes (the header, its URL) gives up its
    claim to be the original of its content: the next page with the same bytes may be indexed.
    """

    def __init__(self, crawl: Crawl, stats: StatsCollector) -> None:
        super().__init__(crawl)
        self._agent = crawl.config.robots.agent
        self._depth_limit = crawl.config.links.depth_limit
        self._stats = stats
        # Of the last pages, which yielded to which: they may not have ended yet.
        self._yielded: dict[int, tuple[int, str]] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        assert crawler.stats is not None
        return cls(Crawl.of(crawler), crawler.stats)

    async def process_page(self, page: Page) -> None:
        header: Directives | None = page.visit.directives
        meta = self._meta(page)
        if header is not None or meta is not None:
            self._obey(page, header, meta)
        if page.outcome == "stored":
            canonical = page.document.canonical
            if canonical and canonical != page.url:
                await self._yield_to(page, canonical)

    def _meta(self, page: Page) -> Directives | None:
        """What the meta tags say. A duplicate is not parsed for them: they are looked for."""
        if page.outcome != "duplicate":
            pairs = page.document.robots_meta
        elif "html" in page.mime and may_have_meta(page.body, self._agent):
            pairs = meta_pairs(page.body)
        else:
            pairs = []
        return parse_meta(pairs, self._agent) if pairs else None

    def _obey(self, page: Page, header: Directives | None, meta: Directives | None) -> None:
        now = datetime.now(UTC)
        by_header = header is not None and header.forbids_index(now)
        by_meta = meta is not None and meta.forbids_index(now)
        page.is_noindex = by_header or by_meta
        for directives in (header, meta):
            if directives is not None:
                page.is_nofollow |= directives.nofollow
                page.is_noarchive |= directives.noarchive
                for problem in directives.problems:
                    self._stats.inc_value(f"directives/problem/{problem}")
        for name in _COUNTED:
            if getattr(page, f"is_{name}"):
                self._stats.inc_value(f"directives/{name}")
        if page.is_noindex and page.outcome == "stored":
            page.become("noindex", reason="robots meta" if by_meta else "X-Robots-Tag")
            if not by_meta:
                _give_up_claim(page)

    async def _yield_to(self, page: Page, canonical: str) -> None:
        """Leave the index to the page that this one names as its canonical form."""
        fingerprint = self.crawl.scheduler.linker.fingerprint(canonical)
        if fingerprint is None or fingerprint == page.fingerprint:
            return
        if not await self._is_stood_for(page, fingerprint, canonical):
            return
        if len(self._yielded) >= _REMEMBERED:
            self._yielded.clear()
        self._yielded[page.fingerprint] = (fingerprint, canonical)
        self._stats.inc_value("directives/canonical")
        page.become("noindex", of=fingerprint, reason="names another page as canonical")
        page.of = canonical
        _give_up_claim(page)

    async def _is_stood_for(self, page: Page, fingerprint: int, url: str) -> bool:
        """Whether somebody stands for the page if it yields to this URL.

        Those it names may have yielded in turn. Where that leads back to the page, it is the last
        of a circle, and has to stand for all of them.
        """
        for step in range(_MOST_STEPS):
            if fingerprint == page.fingerprint:
                return False
            known = await self.crawl.find(fingerprint, url)
            if known is None and step == 0:
                is_too_deep = self._depth_limit and page.depth + 1 > self._depth_limit
                return not (page.is_nofollow or is_too_deep)  # else it will not be put
            ended = known.page if known is not None else None
            if ended is not None and ended.outcome in _NOBODY:
                return False
            # One that yielded a moment ago has not ended yet.
            if fingerprint in self._yielded:
                fingerprint, url = self._yielded[fingerprint]
            elif ended is not None and ended.of:
                fingerprint, url = ended.of, await self.crawl.url_of(ended.of)
            else:
                return True
        return True


def _give_up_claim(page: Page) -> None:
    """Undo what the content-seen test has put into the page's batch."""
    if page.digest:
        page.batch.delete(CONTENT, digest_key(page.digest))
        page.batch.delete(CONTENT, url_key(page.fingerprint))
