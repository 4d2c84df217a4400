"""The base of our spiders, made for subclassing: override one method."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import Spider

from webcrawler import documents
from webcrawler.crawl import Crawl
from webcrawler.documents import Options, mime_of, parse_content_type
from webcrawler.download.shared import get_resolver
from webcrawler.exceptions import ArgumentError
from webcrawler.frontier.record import SITEMAP
from webcrawler.items import Link, Page
from webcrawler.job import job_name
from webcrawler.spiders.arguments import NAMES, Arguments, likely_typos
from webcrawler.urls import Anywhere, URLFilter, extensions_to_skip, host_key, without_port
from webcrawler.visit import META_KEY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

    from webcrawler.urls import Scope

logger = logging.getLogger(__name__)
_SEEDS_A_TIME = 1000
_ADDON = "webcrawler.addon.WebcrawlerAddon"


class BaseSpider(Spider):
    """Crawls from its seeds as far as its scope reaches.

    What people override:

    - `parse(response)`: what becomes of a response; the default yields one `Page`
    - `links(page)`: which links a page has
    - `should_follow(link)`: whether to follow a link that scope and filters let pass
    - `priority(link)`: 0, or more to fetch it sooner, less to fetch it later
    - `scope()`: where the crawl may go

    `seeds` may also be a class attribute. Arguments that are not ours are kept as attributes, as
    Scrapy does.
    """

    seeds: tuple[str, ...] | list[str] = ()

    def __init__(self, name: str | None = None, **kwargs: Any) -> None:
        ours = {key: value for key, value in kwargs.items() if key in NAMES}
        others = {key: value for key, value in kwargs.items() if key not in NAMES}
        super().__init__(name, **others)
        if "seeds" not in ours:
            ours["seeds"] = list(self.seeds)
        self.arguments = Arguments.parse(ours)
        typos = {
            typo: meant
            for typo, meant in likely_typos(others).items()
            if not hasattr(type(self), typo)
        }
        if not self.arguments.seeds:
            form = f"say where to begin: scrapy crawl {self.name} -a seeds=example.org"
            for typo, meant in typos.items():
                if meant == "seeds":
                    raise ArgumentError(typo, others[typo], f"was seeds meant? {form}")
            raise ArgumentError("seeds", "", form)
        for typo, meant in typos.items():
            logger.warning(f"argument {typo} is not known: was {meant} meant?")
        self._scope = self.scope()
        self._filter = self.url_filter()

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Bring the wiring where there is none, as with `scrapy runspider` outside of a project."""
        super().update_settings(settings)
        if not settings.getpriority("SCHEDULER"):  # nobody has said which
            settings.set("ADDONS", {**settings.getdict("ADDONS"), _ADDON: 100}, "spider")

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Make the spider, and open its crawl: what is wrong with it is said before any fetch."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        arguments, settings = spider.arguments, crawler.settings
        if arguments.max_depth is not None:
            settings.set("DEPTH_LIMIT", arguments.max_depth or -1, priority="cmdline")
        if arguments.max_seconds:
            settings.set("CLOSESPIDER_TIMEOUT", arguments.max_seconds, priority="cmdline")
        if not settings.get("JOBDIR"):
            folder = arguments.job or job_name(spider.name, host_key(arguments.seeds[0]))
            settings.set(
                "JOBDIR", str(Path(settings.get("CRAWLS_DIR") or "crawls") / folder), "spider"
            )
        crawl = Crawl.of(crawler)
        crawl.open()
        spider._guard_addresses(crawl)
        settings.set("USER_AGENT", crawl.config.robots.user_agent, priority="cmdline")
        spider.introduce(crawl)
        spider._filter = spider.url_filter()
        spider.options = Options(
            link_texts=crawl.config.content.anchors, resources=crawl.config.links.resources
        )
        for host in crawl.job.state.get("admitted", []) if crawl.job else []:
            spider.admit(host)
        return spider

    options: Options = Options()

    def _guard_addresses(self, crawl: Crawl) -> None:
        """Unless it is a crawl of private hosts: no link or redirect leads to one."""
        settings = self.crawler.settings
        hosts = {host_key(seed) for seed in self.arguments.seeds}
        if settings.get("DNS_DENY_PRIVATE", "auto") == "auto":
            settings.set(
                "DNS_DENY_PRIVATE", not any(map(crawl.config.is_private, hosts)), "cmdline"
            )
        resolver = get_resolver(self.crawler)
        for host in hosts:
            resolver.allow(without_port(host))  # somebody typed it in

    def introduce(self, crawl: Crawl) -> None:
        """Say it where webmasters could not know whom to write to."""
        hosts = {host_key(seed) for seed in self.arguments.seeds[:100]}
        if not crawl.config.robots.contact and not all(map(crawl.config.is_local, hosts)):
            logger.warning(
                "NOBODY CAN REACH YOU: set ROBOTS_CONTACT to a URL or mail address, so that a "
                "webmaster whom this crawl troubles can write to you instead of blocking it"
            )

    async def start(self) -> AsyncIterator[Any]:
        """Put the seeds; those known from an earlier run are left out by the URL-seen test."""
        scheduler = Crawl.of(self.crawler).scheduler
        for at in range(0, len(self.arguments.seeds), _SEEDS_A_TIME):
            scheduler.put_seeds(self.arguments.seeds[at : at + _SEEDS_A_TIME])
        nothing: tuple[Any, ...] = ()  # Scrapy wants an asynchronous generator
        for item in nothing:
            yield item

    # -- what people override

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        """Yield a Page for a response of a wanted type. Items and requests may be added."""
        page = self.page(response)
        if page is not None:
            yield page

    def links(self, page: Page) -> Iterable[Link]:
        """The links of a page that come into question."""
        return page.links

    def should_follow(self, link: Link) -> bool:
        """Whether to follow a link within scope that has not been met before."""
        return True

    def priority(self, link: Link) -> int:
        """How much sooner (positive) or later (negative) than others to fetch it."""
        return 0

    def scope(self) -> Scope:
        """Where the crawl may go."""
        return Anywhere()

    def url_filter(self) -> URLFilter:
        """Which URLs within scope are not worth fetching."""
        crawler: Crawler | None = getattr(self, "crawler", None)
        if crawler is None:
            return URLFilter()  # made anew when the spider has its crawler
        links = Crawl.of(crawler).config.links
        return URLFilter(
            max_length=links.max_length,
            denied_domains=links.deny_domains,
            allow=self.arguments.allow,
            deny=self.arguments.deny,
            denied_extensions=extensions_to_skip(self.arguments.content_types),
        )

    # -- what they call

    def page(self, response: Response) -> Page | None:
        """The page of a response, or None (and the URL ends as filtered) if its type is not wanted.

        The page is registered with the response's visit, so that its ending is recorded.
        """
        visit = response.meta.get(META_KEY)
        content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
        mime = mime_of(content_type, response.url, response.body)
        is_named = visit is not None and visit.record.kind == SITEMAP
        is_asked_for = is_named or (visit is not None and visit.record.is_seed)
        if not is_asked_for and not self.arguments.wants(mime):
            if visit is None:
                return None
            if mime != documents.SITEMAP or not Crawl.of(self.crawler).config.robots.sitemaps:
                visit.outcome, visit.reason = "filtered", f"type {mime}"
                return None
        if is_named:
            # Whatever it is sent as, a list of lines as plain text included.
            charset = parse_content_type(content_type).charset
            content_type = documents.SITEMAP + (f"; charset={charset}" if charset else "")
        page = Page(
            response.url,
            response.body,
            content_type,
            status=response.status,
            depth=visit.record.depth if visit is not None else response.meta.get("depth", 0),
            fetched_at=Crawl.clock(),
            response=response,
            visit=visit,
            options=self.options,
        )
        if visit is not None:
            visit.page = page
        return page

    def refusal(self, url: str) -> str | None:
        """Why a URL is not followed, in a word; None if it is."""
        reason = self._filter.reason(url)
        if reason is None and not self._scope.allows(url):
            return "scope"
        return reason

    def admit(self, url: str) -> None:
        """Widen the scope to where a seed was redirected; nothing to do for the whole web."""
