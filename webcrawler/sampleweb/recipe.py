"""The numbers a sample web is made from: all of its features, each with its switch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from .vocabulary import LANGUAGES

ROBOTS_KINDS: Final = (
    "allow",  # everything, said explicitly
    "missing",  # 404
    "directory",  # not below /private/
    "delay",  # Crawl-delay
    "crlf",  # BOM, CRLF, odd case and comments; not below /private/
    "named",  # everything but /private/ for our agent, nothing for the rest
    "page",  # an HTML error page with status 200
    "exceptions",  # Allow inside Disallow, * and $
    "redirected",  # 301 to another path; not below /private/
    "big",  # over 500 KiB; not below /private/
    "forbidden",  # 403: everything allowed
    "everything",  # nothing may be fetched
    "banned",  # nothing for our agent, everything for the rest
    "error",  # 500: nothing may be fetched until it answers
)
SITEMAP_KINDS: Final = ("none", "plain", "index", "gzip")

# The fractions of pages, in the order in which pages are taken for them.
PAGE_FRACTIONS: Final = {
    "redirects": "redirect",
    "errors": "error",
    "files": "file",
    "duplicates": "duplicate",
    "near_duplicates": "near_duplicate",
    "canonicals": "canonical",
    "directives": "directive",
    "encodings": "encoded",
    "broken": "broken",
    "xhtml": "xhtml",
    "sessions": "session",
    "wrong_charsets": "wrong_charset",
    "flaky": "flaky",
    "slow": "slow",
    "islands": "island",
    "refreshes": "refresh",
    "resets": "reset",
    "truncated": "truncated",
}

# What SampleWeb.plain changes: only good HTML pages, plainly written links, no robots.txt.
PLAIN: Final[dict[str, Any]] = {
    **dict.fromkeys(PAGE_FRACTIONS, 0.0),
    "robots": ("missing",),
    "sitemaps": ("none",),
    "host_skew": 0.0,
    "nofollow_links": 0.0,
    "nicknames": 0.0,
    "gzip": 0.0,
    "odd_links": False,
}


@dataclass(frozen=True)
class Recipe:
    """A web is its numbers: equal recipes make equal webs, byte for byte.

    Fractions are of all pages; each that is not zero gives at least one page, as long as the web
    has room (at most 80 % of its pages are anything but good HTML; later features go short).
    """

    seed: int = 1
    hosts: int = 20
    pages: int = 400
    port: int = 80  # in the URLs; the server fills in its own

    # Shape
    domains: tuple[str, ...] = ("sample.test",)  # hosts are shared out among these
    languages: tuple[str, ...] = LANGUAGES
    seeds: int = 1  # the front pages of the first hosts
    host_skew: float = 0.7  # 0: hosts of equal size; 1: the n-th has 1/n of the first
    words: int = 150  # mean words of a page
    links: int = 8  # mean links of a page beyond those that hold the web together
    max_links: int = 60
    cross_host: float = 0.25  # of the links lead to other hosts
    fanout: int = 8  # of the tree that makes every page reachable

    # Hosts: the n-th takes the n-th kind, in turn
    agent: str = "webcrawler"  # whom named robots.txt groups mean
    robots: tuple[str, ...] = ROBOTS_KINDS
    sitemaps: tuple[str, ...] = SITEMAP_KINDS
    crawl_delay: float = 0.5
    traps: int = 0  # that many hosts have an endless calendar and endless directories

    # Pages
    redirects: float = 0.06  # 301, 302, 307, 308; chains, loops, to other hosts, to seen pages
    errors: float = 0.05  # 404, 410, 403, 500, 503 and 429 with Retry-After
    files: float = 0.06  # text, PDF, RSS, Atom, image, binary
    duplicates: float = 0.04  # the same bytes under another URL
    near_duplicates: float = 0.05
    overlaps: tuple[float, ...] = (0.9, 0.5)  # the similarities near-duplicates are made for
    canonicals: float = 0.02  # the same text, naming the original as canonical
    directives: float = 0.04  # noindex and nofollow by meta element and X-Robots-Tag
    encodings: float = 0.03  # ISO-8859-1, windows-1252, UTF-16 …, rightly declared
    broken: float = 0.04  # HTML as found in the wild; its links can be found
    xhtml: float = 0.03
    sessions: float = 0.02  # the same page under several session numbers
    wrong_charsets: float = 0.02
    flaky: float = 0.02  # fail first, then work
    slow: float = 0.01
    islands: float = 0.02  # no page links there; only sitemaps tell
    refreshes: float = 0.01  # meta refresh
    resets: float = 0.01  # the connection is reset instead of an answer
    truncated: float = 0.01  # the body ends early
    flaky_failures: int = 2
    slow_secs: float = 0.2
    retry_after: int = 1

    # Links and bodies
    nofollow_links: float = 0.04  # of the links have rel nofollow, ugc or sponsored
    nicknames: float = 0.02  # of the pages are called by a word that only their anchors have
    gzip: float = 0.2  # of the pages are compressed for clients that accept it
    odd_links: bool = True  # all the ways to write a URL, area, iframe, img, base

    def __post_init__(self) -> None:
        if self.hosts < 1:
            raise ValueError(f"hosts={self.hosts}: a sample web has at least one host")
        if self.pages < self.hosts:
            raise ValueError(f"pages={self.pages}: at least one for each of the {self.hosts} hosts")
        if not 0 <= self.seeds <= self.hosts:
            raise ValueError(f"seeds={self.seeds}: from 0 to the number of hosts, {self.hosts}")
        if not 0 <= self.traps <= self.hosts:
            raise ValueError(f"traps={self.traps}: from 0 to the number of hosts, {self.hosts}")
        if not 1 <= self.port <= 65535:
            raise ValueError(f"port={self.port}: from 1 to 65535")
        for name in ("words", "links", "max_links", "flaky_failures", "retry_after"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}={getattr(self, name)}: not below 0")
        for name in ("host_skew", "crawl_delay", "slow_secs"):
            if not 0 <= getattr(self, name) <= 3600:
                raise ValueError(f"{name}={getattr(self, name)}: from 0 to 3600")
        if self.fanout < 1:
            raise ValueError(f"fanout={self.fanout}: at least 1")
        for name in (*PAGE_FRACTIONS, "cross_host", "nofollow_links", "nicknames", "gzip"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name}={getattr(self, name)}: a fraction, from 0 to 1")
        if not all(0 < overlap < 1 for overlap in self.overlaps) or not self.overlaps:
            raise ValueError(f"overlaps={self.overlaps}: one or more numbers between 0 and 1")
        if not self.domains or not all(name and name == name.lower() for name in self.domains):
            raise ValueError(f"domains={self.domains}: one or more lower-case names")
        for name, known in (
            ("languages", LANGUAGES),
            ("robots", ROBOTS_KINDS),
            ("sitemaps", SITEMAP_KINDS),
        ):
            given = getattr(self, name)
            if not given or not set(given) <= set(known):
                raise ValueError(f"{name}={given}: one or more of {', '.join(known)}")
