"""How long a host is left alone after a fetch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from webcrawler.politeness.cause import Cause

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from webcrawler.frontier.host import Host
    from webcrawler.politeness.fetch import Fetch


@dataclass(frozen=True, slots=True)
class DelayPolicy:
    """delay = max(minimum, Crawl-delay, factor x last fetch time), each within its cap.

    Failures (no answer, 5xx, 429) push the whole host back: exponentially from `back_off`, or
    as Retry-After says; after `park_after` of them in a row the host is parked, with its URLs
    kept, and tried again later, each time twice as late. A page budget of 0 means no limit.
    """

    minimum: float = 1.0
    factor: float = 1.0
    maximum: float = 60.0
    crawl_delay_maximum: float = 120.0
    jitter: float = 0.0
    back_off: float = 1.0
    back_off_maximum: float = 600.0
    retry_after_maximum: float = 86_400.0
    park_after: int = 10
    park_secs: float = 1800.0
    park_maximum: float = 86_400.0
    max_pages: int = 0

    def delay(self, host: Host, fetch_secs: float) -> tuple[float, Cause]:
        """The delay between two fetches of this host, and what set it."""
        delay, cause = self.minimum, Cause.MINIMUM_DELAY
        crawl_delay = min(host.crawl_delay, self.crawl_delay_maximum)
        if crawl_delay > delay:
            delay, cause = crawl_delay, Cause.CRAWL_DELAY
        by_time = min(self.factor * fetch_secs, self.maximum)
        if by_time > delay:
            delay, cause = by_time, Cause.FETCH_TIME
        return delay, cause

    def after(self, host: Host, fetch: Fetch, now: float, random: Random) -> None:
        """Set the host's clock, failures and cause after a fetch that ended now."""
        if fetch.address:
            host.address = fetch.address
        if not fetch.was_sent and not fetch.has_failed:
            return
        wait, cause = self.delay(host, fetch.seconds)
        host.delay = wait
        if fetch.has_failed:
            host.failures += 1
            back_off = min(self.back_off * 2.0 ** min(host.failures - 1, 30), self.back_off_maximum)
            if back_off > wait:
                wait, cause = back_off, Cause.BACK_OFF
            if host.failures >= self.park_after:
                parked = min(self.park_secs * 2.0 ** min(host.parkings, 30), self.park_maximum)
                host.parkings += 1
                # One more try after the parking, not another `park_after` of them.
                host.failures = self.park_after - 1
                wait, cause = max(wait, parked), Cause.PARKED
        elif fetch.was_sent:
            host.failures = 0
            host.parkings = 0
        if fetch.retry_after is not None:
            asked = min(fetch.retry_after, self.retry_after_maximum)
            if asked > wait:
                wait, cause = asked, Cause.RETRY_AFTER
        if self.jitter:
            wait += wait * self.jitter * random.random()
        if now + wait >= host.next_at:
            host.next_at, host.cause = now + wait, cause
        if fetch.was_sent:
            host.last_at = now

    def after_restart(self, host: Host, now: float) -> None:
        """A host in hand at a crash: the fetch may have ended just before now."""
        wait = max(self.delay(host, 0.0)[0], host.delay)
        if now + wait > host.next_at:
            host.next_at, host.cause = now + wait, Cause.RESTART


class Policies:
    """The policy of each host: the default one, or that with its overrides.

    Overrides are given for a host ("example.org", "example.org:8080") or for a whole domain
    ("*.example.org" stands for the domain and everything below); the most specific one wins.
    """

    def __init__(
        self,
        default: DelayPolicy | None = None,
        overrides: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self.default = default or DelayPolicy()
        self.overrides = {
            pattern: replace(self.default, **changes)
            for pattern, changes in (overrides or {}).items()
        }
        self._cached = lru_cache(maxsize=10_000)(self._find)

    def of(self, host: str) -> DelayPolicy:
        return self._cached(host) if self.overrides else self.default

    def _find(self, host: str) -> DelayPolicy:
        name = host if host.endswith("]") else host.rsplit(":", 1)[0]
        labels = name.split(".")
        domains = ("*." + ".".join(labels[i:]) for i in range(len(labels)))
        for pattern in (host, name, *domains):
            if pattern in self.overrides:
                return self.overrides[pattern]
        return self.default
