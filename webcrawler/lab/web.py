"""A web that exists only as a function of its seed number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import xxhash

from webcrawler.frontier.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHILDREN = 4  # pages below a page of the same host
_HOSTS_BELOW = 8  # hosts that a host's first page links to
_UNIT = 2.0**64


@dataclass(frozen=True, slots=True)
class Answer:
    """How one fetch goes: its seconds and its status, 0 for none."""

    seconds: float
    status: int


class SimulatedWeb:
    """Hosts 0..hosts-1; host i has about `largest` / (i + 1) ** `exponent` pages, at least one.

    Every host is reachable from host 0 and every page from its host's first, so a crawl that loses
    nothing reaches `pages` pages. Beside those links a page has `extra` to pages all over the web,
    most of them of large hosts and known already.
    """

    def __init__(
        self,
        seed: int = 1,
        hosts: int = 1000,
        largest: int = 1000,
        *,
        exponent: float = 1.0,
        extra: int = 3,
        dead: float = 0.01,
        flaky: float = 0.02,
        slow_robots: float = 0.05,
    ) -> None:
        self.seed, self.hosts, self.largest = seed, hosts, largest
        self._exponent, self._extra = exponent, extra
        self._dead, self._flaky, self._slow_robots = dead, flaky, slow_robots

    def draw(self, *what: int | str) -> float:
        """A number in [0, 1) that depends on the seed and on `what` alone."""
        text = ":".join(map(str, (self.seed, *what)))
        return xxhash.xxh3_64_intdigest(text.encode()) / _UNIT

    def size(self, host: int) -> int:
        return max(1, int(self.largest / (host + 1) ** self._exponent))

    def is_dead(self, host: int) -> bool:
        """Never answers. Only hosts that no other is reached through, so all others are reached."""
        is_leaf = host > 0 and host * _HOSTS_BELOW + 1 >= self.hosts
        return is_leaf and self.draw("dead", host) < self._dead

    def crawl_delay(self, host: int) -> float:
        """What its robots.txt asks for: nothing, or 2 to 30 seconds."""
        if self.draw("asks", host) >= self._slow_robots:
            return 0.0
        return round(8 + 112 * self.draw("delay", host) ** 2) / 4

    def fetch(self, host: int, what: int | str, attempt: int) -> Answer:
        """One fetch; some hosts are ten times as slow as others, and some fetches fail."""
        if self.is_dead(host):
            return Answer(30.0, 0)
        usual = 0.05 * 20 ** self.draw("speed", host)
        seconds = usual * (0.5 + self.draw("time", host, what, attempt))
        if self.draw("fails", host, what, attempt) < self._flaky:
            return Answer(seconds, 503 if self.draw("how", host, what, attempt) < 0.5 else 0)
        return Answer(seconds, 200)

    def record(self, host: int, page: int, depth: int = 0, via: int = 0) -> Record:
        name = f"h{host}.lab"
        url = f"http://{name}/{page}"
        queue = min(depth + 1, 8)
        return Record(url, xxhash.xxh3_64_intdigest(url.encode()), name, queue, depth, via)

    def links(self, record: Record) -> Iterator[Record]:
        host, page = place(record)
        depth, via = record.depth + 1, record.fingerprint
        size = self.size(host)
        for child in range(page * _CHILDREN + 1, min(size, page * _CHILDREN + 1 + _CHILDREN)):
            yield self.record(host, child, depth, via)
        if page == 0:
            first = host * _HOSTS_BELOW + 1
            for below in range(first, min(self.hosts, first + _HOSTS_BELOW)):
                yield self.record(below, 0, depth, via)
        for number in range(self._extra):
            # Evenly on a logarithmic scale of ranks: a power law.
            other = int(self.hosts ** self.draw("to", host, page, number)) - 1
            target = int(self.size(other) * self.draw("page", host, page, number))
            yield self.record(other, target, depth, via)


def place(record: Record) -> tuple[int, int]:
    """The numbers of a record's host and page."""
    return int(record.host[1 : record.host.index(".")]), int(record.url.rsplit("/", 1)[1])
