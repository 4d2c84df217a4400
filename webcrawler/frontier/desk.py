"""The enquiry desk: what people ask of a frontier, and change in it, while it runs or not.

Every answer is plain data, ready for JSON. Times are seconds since the epoch.
"""

from __future__ import annotations

import heapq
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from webcrawler.exceptions import JobError
from webcrawler.frontier.ending import Ending
from webcrawler.frontier.record import Record
from webcrawler.urls import host_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from webcrawler.frontier.backends.embedded import EmbeddedStore
    from webcrawler.frontier.host import Host
    from webcrawler.frontier.mercator import Mercator
    from webcrawler.frontier.prioritizer import Prioritizer
    from webcrawler.urls import Canonicalizer

_CHUNK = 2000
ORDERS = ("waiting", "next", "failing")


class Pattern(Protocol):
    """A regular expression, or what is searched as one is."""

    def search(self, text: str, /) -> object: ...


class Desk:
    """Answers about one frontier."""

    def __init__(
        self, frontier: Mercator, canonicalizer: Canonicalizer, prioritizer: Prioritizer
    ) -> None:
        self._frontier = frontier
        self._store: EmbeddedStore = frontier.store  # type: ignore[assignment]  # redis: its own
        self._canonicalizer = canonicalizer
        self._prioritizer = prioritizer

    def stats(self, now: float) -> dict[str, Any]:
        """How much there is, and where."""
        counts = self._store.counts
        ready, held = self._frontier.hosts_ready_and_held(now)
        figures = getattr(self._store, "figures", None)
        return {
            **(figures(counts) if figures is not None else {}),
            "known": counts.known,
            "waiting": counts.waiting,
            "frozen": counts.frozen,
            "in_flight": self._frontier.flying,
            "in_hand": counts.in_hand,
            "hosts": counts.hosts,
            "ended": {name: count for name, count in counts.ended.items() if count},
            "front_queues": self._store.front_sizes(),
            "back_queues": self._frontier.back_queues,
            "hosts_ready": ready,
            "hosts_held": held,
        }

    def hosts(self, order: str, limit: int, now: float) -> list[dict[str, Any]]:
        """The hosts with most waiting, with the earliest time, or with most failures."""
        hosts = (host for host in self._store.hosts() if order == "failing" or host.stored)
        if order == "next":
            chosen = heapq.nsmallest(limit, hosts, key=lambda host: host.next_at)
        elif order == "failing":
            failing = (host for host in hosts if host.failures or host.parkings)
            chosen = heapq.nlargest(limit, failing, key=lambda h: (h.parkings, h.failures))
        else:
            chosen = heapq.nlargest(limit, hosts, key=lambda host: host.stored)
        return [self._about(host, now) for host in chosen]

    def peek(self, name: str, limit: int, now: float) -> dict[str, Any]:
        """The first waiting URLs of a host."""
        host = self._store.host(name)
        if host is None:
            return {"host": name, "known": False}
        records = (record for _, record in self._store.waiting(host))
        urls = [
            {
                "url": record.url,
                "queue": record.queue,
                "depth": record.depth,
                "in_hand": self._store.is_in_hand(record),
            }
            for record in islice(records, limit)
        ]
        return {"known": True, **self._about(host, now), "urls": urls}

    def why(self, url: str, now: float) -> dict[str, Any]:
        """Everything that is known of a URL."""
        fingerprint = self._canonicalizer.fingerprint(url)
        answer: dict[str, Any] = {"url": url, "fingerprint": f"{fingerprint:016x}"}
        known = self._store.find(fingerprint)
        host = self._store.host(host_key(url))
        if known is None:
            answer["state"] = "unknown"
        elif known.page is not None:
            page = known.page
            answer.update(
                state="ended",
                known_as=page.url,
                outcome=page.outcome,
                status=page.status,
                ended_at=page.at,
                depth=page.depth,
                via=self._store.url_of(page.via) if page.via else None,
                copy_of=self._store.url_of(page.of) if page.of else None,
            )
        elif known.record is not None:
            record = known.record
            answer.update(
                state="in hand" if known.is_in_hand else "waiting",
                known_as=record.url,
                queue=record.queue,
                queue_because=self._because(record),
                depth=record.depth,
                retries=record.retries,
                redirects=record.hops,
                is_seed=record.is_seed,
                anchor=record.anchor,
                via=self._store.url_of(record.via) if record.via else None,
            )
            if host is not None and record.queue in host.queues:
                ahead = record.sequence - host.queues[record.queue].head
                answer["ahead_in_queue"] = max(0, ahead)
        answer["host"] = self._about(host, now) if host is not None else None
        return answer

    def _because(self, record: Record) -> str:
        base = self._prioritizer.queue(record.depth)
        order = f"{self._prioritizer.order}-first, depth {record.depth}: queue {base}"
        moved = base - record.queue
        if not moved:
            return order
        return f"{order}; moved {abs(moved)} {'up' if moved > 0 else 'down'} by priority"

    @staticmethod
    def _about(host: Host, now: float) -> dict[str, Any]:
        return {
            "host": host.name,
            "waiting": host.stored,
            "fetched": host.fetched,
            "next_at": host.next_at,
            "in_secs": round(max(0.0, host.next_at - now), 3),
            "because": host.cause.phrase,
            "delay": round(host.delay, 3),
            "crawl_delay": round(host.crawl_delay, 3),
            "failures": host.failures,
            "parkings": host.parkings,
            "blocked": host.is_blocked,
            "budget_used_up": host.is_exhausted,
            "address": host.address,
        }

    # -- changes

    def block(self, name: str, now: float, *, blocked: bool) -> dict[str, Any]:
        return {"host": name, "known": self._frontier.block(name, now, blocked=blocked)}

    def add(self, urls: list[str]) -> dict[str, Any]:
        """Put URLs by hand, as seeds."""
        queue = self._prioritizer.queue(0)
        records = [
            Record(url, self._canonicalizer.fingerprint(url), host_key(url), queue, is_seed=True)
            for url in urls
        ]
        return {"given": len(urls), "new": self._frontier.put(records)}

    def drop(
        self, pattern: Pattern, now: float, tell: Callable[[Ending, str], None]
    ) -> Iterator[dict[str, int]]:
        """End the waiting URLs that match, a chunk at a time; yields the counts so far.

        `tell` hears of every ending, with the URL that led there, before it is committed.
        """

        def end(record: Record) -> Ending:
            ending = Ending(record, "filtered", now)
            tell(ending, (self._store.url_of(record.via) or "") if record.via else "")
            return ending

        looked_at = dropped = 0
        after = b""
        while True:
            chunk = list(islice(self._store.waiting(after=after), _CHUNK))
            if not chunk:
                return
            after = chunk[-1][0] + b"\0"
            looked_at += len(chunk)
            matching = [record for _, record in chunk if pattern.search(record.url)]
            if matching:
                dropped += self._store.drop(matching, end)
            yield {"looked_at": looked_at, "dropped": dropped}

    def checkpoint(self, folder: Path) -> dict[str, Any]:
        """A consistent copy of the frontier in an empty folder."""
        if not hasattr(self._store, "kv"):
            raise JobError(
                "a crawl in Redis is kept by Redis: use its append-only file or its snapshots "
                "(docs/deploying.md), not checkpoints"
            )
        self._store.kv.checkpoint(folder / "frontier")
        return {"folder": str(folder)}
