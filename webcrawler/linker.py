"""The linker: from a page's links to the records that are put."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawler.frontier.record import Record
from webcrawler.urls import host_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webcrawler.frontier.prioritizer import Prioritizer
    from webcrawler.frontier.store import Store
    from webcrawler.items import Link, Page
    from webcrawler.spiders.base import BaseSpider
    from webcrawler.urls import Canonicalizer

_UNWANTED_REL = frozenset({"nofollow", "ugc", "sponsored"})
_CACHED = 50_000


class Linker:
    """Filters links and turns those that are new into records.

    The same URLs are met on page after page, so what the filters said of a URL is remembered;
    and a record is made only of what passes the URL-seen test, which most links do not.
    """

    def __init__(
        self,
        spider: BaseSpider,
        store: Store,
        canonicalizer: Canonicalizer,
        prioritizer: Prioritizer,
        *,
        depth_limit: int = 0,
        follow_nofollow: bool = False,
    ) -> None:
        self._spider = spider
        self._store = store
        self._canonicalizer = canonicalizer
        self._prioritizer = prioritizer
        self._depth_limit = depth_limit
        self._follow_nofollow = follow_nofollow
        self._verdicts: dict[str, int | None] = {}
        self.filtered: dict[str, int] = {}

    def fingerprint(self, url: str) -> int | None:
        """The fingerprint of a URL that may be followed, None for one that may not."""
        try:
            return self._verdicts[url]
        except KeyError:
            pass
        reason = self._spider.refusal(url)
        if reason is None:
            verdict: int | None = self._canonicalizer.fingerprint(url)
        else:
            verdict = None
            self.filtered[reason] = self.filtered.get(reason, 0) + 1
        if len(self._verdicts) >= _CACHED:
            self._verdicts.clear()
        self._verdicts[url] = verdict
        return verdict

    def records(self, page: Page, lower: int = 0) -> list[Record]:
        """Records of the page's links that are to be followed and not known yet.

        `lower` moves them down in priority: the links of a near-duplicate.
        """
        record = page.visit.record
        depth = record.depth + 1
        if self._depth_limit and depth > self._depth_limit:
            return []
        return self.records_of(
            self._spider.links(page), depth=depth, via=record.fingerprint, lower=lower
        )

    def records_of(
        self, links: Iterable[Link], *, depth: int, via: int, lower: int = 0
    ) -> list[Record]:
        spider = self._spider
        should_follow, priority = spider.should_follow, spider.priority
        fingerprint_of = self.fingerprint
        candidates: dict[int, Link] = {}
        for link in links:
            rel = link.rel
            if rel and not self._follow_nofollow and not _UNWANTED_REL.isdisjoint(rel.split()):
                continue
            fingerprint = fingerprint_of(link.url)
            if fingerprint is not None and fingerprint not in candidates:
                candidates[fingerprint] = link
        unknown = self._store.unknown(list(candidates))
        queue = self._prioritizer.queue
        return [
            Record(
                link.url,
                fingerprint,
                host_key(link.url),
                queue(depth, priority(link) - lower),
                depth,
                via,
                link.text,
            )
            for (fingerprint, link), is_new in zip(candidates.items(), unknown, strict=True)
            if is_new and should_follow(link)
        ]

    def redirect(self, record: Record, url: str) -> Record | None:
        """The record of a redirect's target, or None where it may not be followed."""
        fingerprint = self.fingerprint(url)
        if fingerprint is None:
            return None
        return Record(
            url,
            fingerprint,
            host_key(url),
            record.queue,
            record.depth,
            record.fingerprint,
            record.anchor,
            record.is_seed,
            record.hops + 1,
        )

    def forget(self) -> None:
        """Forget what was said of URLs: the scope has changed."""
        self._verdicts.clear()
