"""A web that exists only as a function of its seed number."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, NamedTuple

import xxhash

from webcrawler.frontier.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHILDREN = 4  # pages below a page of the same host
_HOSTS_BELOW = 8  # hosts that a host's first page links to
_DEAD_SECS = 30.0  # until a fetch from a host that never answers is given up
_HALF = 2.0**32
_LOW = (1 << 32) - 1
_PART = 2.0**16
# What a draw is for, and three numbers that it depends on.
_DRAW = struct.Struct("<BQQQ")
_HOST, _FETCH, _LINK, _NEWS = range(4)
_DAY = 86_400.0
ROBOTS = -1  # in place of a page's number


class Answer(NamedTuple):
    """How one fetch goes: its seconds, its status (0 for none), and the host's Crawl-delay."""

    seconds: float
    status: int
    crawl_delay: float


class SimulatedWeb:
    """Hosts 0..hosts-1; host i has about `largest` / (i + 1) ** `exponent` pages, at least one.

    Every host is reachable from host 0 and every page from its host's first, so a crawl that loses
    nothing reaches them all. Beside those links a page has `extra` to pages all over the web,
    most of them of large hosts and known already. `news` pages an hour are published later.
    """

    def __init__(
        self,
        seed: int = 1,
        hosts: int = 1000,
        largest: int = 1000,
        *,
        exponent: float = 1.2,
        extra: int = 3,
        dead: float = 0.01,
        flaky: float = 0.02,
        slow_robots: float = 0.05,
        news: float = 0.0,
    ) -> None:
        self.seed, self.hosts, self.largest = seed & 0xFFFFFFFFFFFFFFFF, hosts, largest
        self._exponent, self._extra = exponent, extra
        self._dead, self._flaky, self._slow_robots = dead, flaky, slow_robots
        self._news = news

    def _draw(self, kind: int, first: int, second: int = 0, third: int = 0) -> int:
        """64 bits that depend on the seed and on these numbers alone."""
        return xxhash.xxh3_64_intdigest(_DRAW.pack(kind, first, second, third), self.seed)

    def size(self, host: int) -> int:
        return max(1, int(self.largest / (host + 1) ** self._exponent))

    def fetch(self, host: int, page: int, attempt: int) -> Answer:
        """One fetch; some hosts are twenty times as slow as others, and some fetches fail.

        A few hosts never answer: only such that no other is reached through, so all others are
        reached. robots.txt asks most crawlers for nothing, and some for 2 to 30 seconds.
        """
        bits = self._draw(_HOST, host)
        is_leaf = host * _HOSTS_BELOW + 1 >= self.hosts
        if is_leaf and host and (bits & 0xFFFF) / _PART < self._dead:
            return Answer(_DEAD_SECS, 0, 0.0)
        crawl_delay = 0.0
        if (bits >> 16 & 0xFFFF) / _PART < self._slow_robots:
            crawl_delay = round(8 + 112 * ((bits >> 32 & 0xFFFF) / _PART) ** 2) / 4
        usual = 0.05 * 20 ** ((bits >> 48) / _PART)
        luck = self._draw(_FETCH, host, page + 1, attempt)
        seconds = usual * (0.5 + (luck >> 32) / _HALF)
        if (luck & 0xFFFF) / _PART >= self._flaky:
            return Answer(seconds, 200, crawl_delay)
        has_answer = luck & 0x10000 and page != ROBOTS
        return Answer(seconds, 503 if has_answer else 0, crawl_delay)

    def record(self, host: int, page: int, depth: int = 0, via: int = 0) -> Record:
        name = f"h{host}.lab"
        url = f"http://{name}/{page}"
        queue = depth + 1 if depth < 7 else 8
        return Record(url, xxhash.xxh3_64_intdigest(url.encode()), name, queue, depth, via)

    def links(self, record: Record, host: int, page: int) -> Iterator[Record]:
        """What a page links to: the pages below it, and others."""
        depth, via = record.depth + 1, record.fingerprint
        first = page * _CHILDREN + 1
        for child in range(first, min(self.size(host), first + _CHILDREN)):
            yield self.record(host, child, depth, via)
        if page == 0:
            first = host * _HOSTS_BELOW + 1
            for below in range(first, min(self.hosts, first + _HOSTS_BELOW)):
                yield self.record(below, 0, depth, via)
        for number in range(self._extra):
            bits = self._draw(_LINK, host, page, number)
            other = self._some_host(bits)
            yield self.record(other, self.size(other) * (bits >> 32) >> 32, depth, via)

    @property
    def has_news(self) -> bool:
        return self._news > 0

    def published(self, now: float) -> int:
        """How many pages were published until then: most of them at noon, few at midnight."""
        wave = _DAY / math.tau * math.sin(now * math.tau / _DAY)
        return int(self._news / 3600 * (now - 0.8 * wave))

    def news(self, number: int) -> Record:
        """A page that is published while the crawl runs, the `number`-th of all, told by a feed."""
        return self.record(self._some_host(self._draw(_NEWS, number)), self.largest + number)

    def _some_host(self, bits: int) -> int:
        """Evenly on a logarithmic scale of ranks: a power law."""
        return int(self.hosts ** ((bits & _LOW) / _HALF)) - 1


def place(record: Record) -> tuple[int, int]:
    """The numbers of a record's host and page."""
    host, url = record.host, record.url
    return int(host[1:-4]), int(url[len(host) + 8 :])
