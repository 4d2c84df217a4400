"""SampleWeb: what stands under every URL, what is answered there, and the truth about all of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, Self
from urllib.parse import urlsplit

from webcrawler.items import Link

from . import kinds, robots, sitemaps, trap
from .graph import SESSION_PARAMETER, Graph
from .pages import Pages
from .plan import Place, Plan
from .recipe import PLAIN, Recipe
from .resource import Resource
from .response import Response
from .truth import Truth

_HTML = "text/html; charset=utf-8"
_ROBOTS_PATHS = ("/robots.txt", robots.MOVED_PATH)


class SampleWeb(Recipe):
    """A little web, made from numbers alone: nothing of it is stored, everything can be asked.

    Pages are written when they are asked for. The same numbers give the same bytes in every
    process; only bodies compressed for the way (Content-Encoding) depend on the zlib at hand.
    """

    @classmethod
    def plain(cls, seed: int = 1, hosts: int = 20, pages: int = 400, **changes: Any) -> Self:
        """Only good HTML pages and links, and no robots.txt; changes switch features on again."""
        return cls(**{**PLAIN, "seed": seed, "hosts": hosts, "pages": pages, **changes})

    def at(self, port: int) -> Self:
        """The same web with that port in its URLs."""
        return self if port == self.port else replace(self, port=port)

    @cached_property
    def plan(self) -> Plan:
        """Which pages there are."""
        return Plan(self)

    @cached_property
    def graph(self) -> Graph:
        """Which links there are."""
        return Graph(self.plan)

    @cached_property
    def _pages(self) -> Pages:
        return Pages(self.plan, self.graph)

    @cached_property
    def _truths(self) -> dict[int, Truth]:
        return {}

    @property
    def host_names(self) -> tuple[str, ...]:
        """The names of the hosts, without the port; the n-th is host n."""
        return self.plan.names

    @property
    def seed_urls(self) -> tuple[str, ...]:
        """Where a crawl starts."""
        return tuple(f"{origin}/" for origin in self.graph.origins[: self.seeds])

    def url(self, host: str | int = 0, path: str = "/") -> str:
        """The URL of a path on a host, which is given by name or number."""
        number = host if isinstance(host, int) else self.plan.numbers[host]
        return self.graph.origins[number] + path

    def dns(self, addresses: tuple[str, ...] = ("127.0.0.1",)) -> dict[str, str]:
        """What a name server would say: name, or `*.` and a domain, to address.

        Several addresses are shared out among the hosts in turn.
        """
        if len(addresses) == 1:
            return {f"*.{domain}": addresses[0] for domain in self.domains}
        return {name: addresses[host % len(addresses)] for host, name in enumerate(self.host_names)}

    def truth(self, shingle_size: int = 4) -> Truth:
        """Everything that a perfect crawler would find out."""
        return self._truths.setdefault(shingle_size, Truth(self, shingle_size))

    def respond(self, host: str, target: str, attempt: int = 0) -> Response:
        """The answer to a request for the target (path and query) at the host.

        `attempt` counts earlier requests for the same target; only flaky pages look at it. Queries
        mean nothing here: a page answers the same with any.
        """
        number = self.plan.numbers.get(host)
        if number is None:
            return Response(421, _HTML, b"<h1>No such host here</h1>\n")
        path = target.partition("?")[0]
        if path in _ROBOTS_PATHS:
            return robots.respond(
                self.robots_kind(host), path, self, self.advertised_sitemaps(host)
            )
        place = self.plan.find(number, path)
        if place is not None:
            return self._pages.respond(place, attempt)
        listed = self._sitemap(number, path)
        if listed is not None:
            return sitemaps.respond(path, listed)
        near = self._trap(number, path)
        if near is not None:
            items = "".join(f'<li><a href="{other}">{other}</a></li>\n' for other in near)
            page = f"<!DOCTYPE html>\n<title>{path}</title>\n<h1>{path}</h1>\n<ul>\n{items}</ul>\n"
            return Response(200, _HTML, page.encode())
        return Response(404, _HTML, b"<h1>Not found</h1>\n")

    def resource(self, url: str) -> Resource | None:
        """The truth about a URL; None for one outside of this web."""
        located = self._locate(url)
        if located is None:
            return None
        host, path = located
        if path in _ROBOTS_PATHS:
            name = self.host_names[host]
            answer = robots.respond(self.robots_kind(name), path, self, ())
            location = self.url(host, robots.MOVED_PATH) if answer.status == 301 else None
            return Resource(url, kinds.ROBOTS, answer.status, answer.content_type, "", location)
        place = self.plan.find(host, path)
        if place is not None:
            return self._page_resource(url, place)
        if self._sitemap(host, path) is not None:
            return Resource(url, kinds.SITEMAP, 200, sitemaps.content_type(path))
        if self._trap(host, path) is not None:
            return Resource(url, kinds.TRAP, 200, _HTML)
        return Resource(url, kinds.MISSING, 404, _HTML)

    def links_at(self, url: str) -> tuple[Link, ...]:
        """The links of what stands under the URL, in order, each with its anchor text."""
        located = self._locate(url)
        if located is None:
            return ()
        host, path = located
        place = self.plan.find(host, path)
        if place is not None:
            elements = self.graph.elements(place) or self._pages.items(place)
            return tuple(link for element in elements for link in element.links())
        listed = self._sitemap(host, path)
        if listed is not None:
            return tuple(Link(target, "", "", "sitemap") for target in listed)
        near = self._trap(host, path) or ()
        return tuple(Link(self.url(host, other), other, "", "a") for other in near)

    def words_at(self, url: str) -> tuple[str, ...]:
        """The words that an HTML page shows (heading, text, anchors), lower case."""
        located = self._locate(url)
        place = self.plan.find(*located) if located else None
        return tuple(self._pages.words(place)) if place else ()

    def robots_kind(self, host: str) -> str:
        """Which kind of robots.txt the host has."""
        return self.robots[self.plan.numbers[host] % len(self.robots)]

    def is_allowed(self, url: str, agent: str = "webcrawler") -> bool:
        """Whether the host's robots.txt lets the agent fetch the URL."""
        parts = urlsplit(url)
        said = robots.groups(self.robots_kind(parts.hostname or ""), self)
        return robots.is_allowed(
            parts.path + (f"?{parts.query}" if parts.query else ""), agent, said
        )

    def crawl_delay_of(self, host: str, agent: str = "webcrawler") -> float | None:
        """The Crawl-delay that the host's robots.txt gives the agent, if any."""
        return robots.crawl_delay(agent, robots.groups(self.robots_kind(host), self))

    def advertised_sitemaps(self, host: str) -> tuple[str, ...]:
        """The sitemaps that the host's robots.txt names."""
        number = self.plan.numbers[host]
        path = sitemaps.entrance(self.sitemaps[number % len(self.sitemaps)])
        if path is None or not robots.has_text(self.robots_kind(host)):
            return ()
        return (self.url(number, path),)

    def is_trap(self, url: str) -> bool:
        """Whether the URL belongs to a trap."""
        located = self._locate(url)
        return located is not None and self._trap(*located) is not None

    def places(self) -> list[Place]:
        """All numbered pages."""
        plan = self.plan
        return [Place(host, page) for host in range(self.hosts) for page in plan.pages(host)]

    def _locate(self, url: str) -> tuple[int, str] | None:
        parts = urlsplit(url)
        host = self.plan.numbers.get(parts.hostname or "")
        if host is None or f"{parts.scheme}://{parts.netloc}" != self.graph.origins[host]:
            return None
        return host, parts.path

    def _sitemap(self, host: int, path: str) -> tuple[str, ...] | None:
        if not path.startswith("/sitemap"):
            return None
        kind = self.sitemaps[host % len(self.sitemaps)]
        if not robots.has_text(self.robots_kind(self.host_names[host])):
            return None
        urls = [self.graph.url(Place(host, page)) for page in self.plan.pages(host)]
        return sitemaps.parts(kind, path, urls, self.graph.origins[host])

    def _trap(self, host: int, path: str) -> tuple[str, ...] | None:
        return trap.neighbours(path) if host < self.traps else None

    def _page_resource(self, url: str, place: Place) -> Resource:
        plan, graph = self.plan, self.graph
        kind, turn = plan.kind(place), plan.turn(place)
        status, location = 200, None
        if kind == kinds.REDIRECT:
            status, location = graph.redirect(place)
        elif kind == kinds.ERROR:
            status = kinds.ERRORS[turn % len(kinds.ERRORS)]
        elif kind == kinds.RESET:
            status = 0
        said = kinds.DIRECTIVES[turn % len(kinds.DIRECTIVES)] if kind == kinds.DIRECTIVE else None
        original = plan.originals.get(place)
        if original is None and kind == kinds.SESSION and SESSION_PARAMETER in url:
            original = place
        return Resource(
            url=url,
            kind=kind,
            status=status,
            content_type=self._pages.content_type(place) if status == 200 else _HTML * bool(status),
            language=plan.card(plan.pattern(place)).language,
            location=location,
            canonical=graph.url(original) if original and kind == kinds.CANONICAL else None,
            original=graph.url(original) if original else None,
            noindex=said is not None and said.says("noindex", self.agent),
            nofollow=said is not None and said.says("nofollow", self.agent),
            failures=self.flaky_failures if kind == kinds.FLAKY else 0,
            delay=self.slow_secs if kind == kinds.SLOW else 0.0,
            is_truncated=kind == kinds.TRUNCATED,
            nickname=graph.nickname(place),
        )
