"""The truth about a sample web: what a perfect crawler would find out, told without crawling.

Traps are endless and therefore outside of the truth: their URLs are in none of the tables and are
not reachable; `SampleWeb.is_trap` knows them.
"""

from __future__ import annotations

from collections import deque
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from . import kinds, prose

if TYPE_CHECKING:
    from collections.abc import Collection

    from webcrawler.items import Link

    from .resource import Resource
    from .web import SampleWeb

# What a crawler of HTML pages follows; img, feed, text, pdf and sitemap are to be asked for.
FOLLOWED: Final = frozenset({"a", "area", "frame", "iframe", "link", "refresh"})

_NOFOLLOW = frozenset({"nofollow", "ugc", "sponsored"})


class NearDuplicate(NamedTuple):
    """Two pages of different bytes and similar text; `jaccard` is exact, over word shingles."""

    first: str
    second: str
    jaccard: float


class Truth:
    """Tables by URL; each is computed when it is first asked for."""

    def __init__(self, web: SampleWeb, shingle_size: int = 4) -> None:
        self.web = web
        self.shingle_size = shingle_size

    @property
    def seeds(self) -> tuple[str, ...]:
        """Where a crawl starts."""
        return self.web.seed_urls

    @property
    def resources(self) -> dict[str, Resource]:
        """Every page, and every other URL that a page, redirect or sitemap names."""
        return self._tables[0]

    @property
    def links(self) -> dict[str, tuple[Link, ...]]:
        """URL to its links in order, with anchor text, rel and kind; those without any left out."""
        return self._tables[1]

    @cached_property
    def statuses(self) -> dict[str, int]:
        """URL to lasting status; 0 is a connection reset."""
        return {url: resource.status for url, resource in self.resources.items()}

    @cached_property
    def types(self) -> dict[str, str]:
        """URL to content type, without parameters."""
        return {
            url: resource.content_type.partition(";")[0] for url, resource in self.resources.items()
        }

    @cached_property
    def redirects(self) -> dict[str, str]:
        """URL to the target of its HTTP redirect; a meta refresh is a link."""
        return {
            url: resource.location
            for url, resource in self.resources.items()
            if resource.location is not None
        }

    @cached_property
    def duplicates(self) -> list[tuple[str, ...]]:
        """Groups of URLs with the same bytes: copies, and a page under several session numbers."""
        return [urls for urls in self._families({kinds.DUPLICATE, kinds.SESSION}) if urls[1:]]

    @cached_property
    def near_duplicates(self) -> list[NearDuplicate]:
        """All pairs among a page and the near copies of it, also those that resemble it little.

        A page that names another as canonical has the same text (1.0) and other bytes.
        """
        pairs = []
        for urls in self._families({kinds.NEAR_DUPLICATE, kinds.CANONICAL}):
            texts = [prose.shingles(self.web.words_at(url), self.shingle_size) for url in urls]
            pairs += [
                NearDuplicate(urls[first], urls[second], prose.jaccard(texts[first], texts[second]))
                for first in range(len(urls))
                for second in range(first + 1, len(urls))
            ]
        return pairs

    @cached_property
    def nicknames(self) -> dict[str, str]:
        """Word to the one page that is called so by anchors, and by nothing else anywhere."""
        return {
            resource.nickname: url for url, resource in self.resources.items() if resource.nickname
        }

    def crawl_delays(self, minimum: float = 0.0, agent: str = "webcrawler") -> dict[str, float]:
        """Host to the delay that must pass there, for the auditor."""
        web = self.web
        return {
            host: max(minimum, web.crawl_delay_of(host, agent) or 0.0) for host in web.host_names
        }

    def reachable(
        self,
        *,
        obey_robots: bool = True,
        obey_nofollow: bool = True,
        agent: str = "webcrawler",
        kinds: Collection[str] = FOLLOWED,
        sitemaps: bool = False,
        hosts: Collection[str] | None = None,
        prefix: str = "",
        max_depth: int | None = None,
    ) -> dict[str, int]:
        """Every URL that a complete crawl asks for, with its depth, in breadth-first order.

        A redirect's target has the depth of its source. `kinds` are the kinds of links that are
        followed, `sitemaps` adds those named in robots.txt, `hosts` and `prefix` limit the scope.
        URLs that end badly (404, reset, loops) are asked for and therefore in; robots.txt files
        are not.
        """
        web = self.web
        kinds = {*kinds, "sitemap"} if sitemaps else kinds
        depths: dict[str, int] = {}
        visited_hosts: set[str] = set()
        waiting = deque((url, 0) for url in self.seeds)
        while waiting:
            url, depth = waiting.popleft()
            host = urlsplit(url).hostname or ""
            if url in depths or web.is_trap(url) or not url.startswith(prefix):
                continue
            if hosts is not None and host not in hosts:
                continue
            if max_depth is not None and depth > max_depth:
                continue
            if sitemaps and host not in visited_hosts:
                visited_hosts.add(host)
                waiting.extend((sitemap, depth + 1) for sitemap in web.advertised_sitemaps(host))
            if obey_robots and not web.is_allowed(url, agent):
                continue
            depths[url] = depth
            resource = self.resources[url]
            if resource.location is not None:
                waiting.appendleft((resource.location, depth))
            elif resource.status == 200 and not (obey_nofollow and resource.nofollow):
                waiting.extend(
                    (link.url, depth + 1)
                    for link in self.links.get(url, ())
                    if link.kind in kinds
                    and not (obey_nofollow and _NOFOLLOW.intersection(link.rel.split()))
                )
        return depths

    def reachable_pages(self, **options: Any) -> dict[str, int]:
        """Of `reachable`, with the same options, the HTML and XHTML pages that are there whole."""
        return {
            url: depth
            for url, depth in self.reachable(**options).items()
            if self.resources[url].is_page
        }

    def as_json(self, **options: Any) -> dict[str, Any]:
        """All of it in plain values, for other processes; options are those of `reachable`."""
        return {
            "seeds": list(self.seeds),
            "reachable": self.reachable(**options),
            "reachable_pages": list(self.reachable_pages(**options)),
            "statuses": self.statuses,
            "types": self.types,
            "kinds": {url: resource.kind for url, resource in self.resources.items()},
            "redirects": self.redirects,
            "links": {url: [list(link) for link in links] for url, links in self.links.items()},
            "duplicates": [list(urls) for urls in self.duplicates],
            "near_duplicates": [list(pair) for pair in self.near_duplicates],
            "nicknames": self.nicknames,
            "crawl_delays": self.crawl_delays(),
        }

    @cached_property
    def _tables(self) -> tuple[dict[str, Resource], dict[str, tuple[Link, ...]]]:
        web = self.web
        waiting = deque(web.graph.url(place) for place in web.places())
        waiting.extend(url for host in web.host_names for url in web.advertised_sitemaps(host))
        resources: dict[str, Resource] = {}
        links: dict[str, tuple[Link, ...]] = {}
        while waiting:
            url = waiting.popleft()
            resource = None if url in resources else web.resource(url)
            if resource is None or resource.kind == kinds.TRAP:
                continue
            resources[url] = resource
            if resource.location:
                waiting.append(resource.location)
            found = web.links_at(url)
            if found:
                links[url] = found
                waiting.extend(link.url for link in found)
        return resources, links

    def _families(self, wanted: set[str]) -> list[tuple[str, ...]]:
        """The originals of copies of the wanted kinds, each with its copies."""
        families: dict[str, list[str]] = {}
        for url, resource in self.resources.items():
            if resource.kind in wanted and resource.original is not None:
                families.setdefault(resource.original, [resource.original]).append(url)
        return [tuple(urls) for urls in families.values()]
