"""The crawl by a simulated clock."""

from __future__ import annotations

import heapq
import struct
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import xxhash

from webcrawler.frontier.ending import Ending
from webcrawler.frontier.mercator import Mercator
from webcrawler.frontier.selector import BiasedSelector
from webcrawler.lab.auditor import Auditor
from webcrawler.lab.web import place
from webcrawler.politeness import DelayPolicy, Fetch, Policies

if TYPE_CHECKING:
    from collections.abc import Callable

    from webcrawler.frontier.record import Record
    from webcrawler.frontier.store import Store
    from webcrawler.lab.web import SimulatedWeb

_FETCH = struct.Struct("<dQHB")
_TELL_EVERY = 5000


@dataclass(slots=True)
class Outcome:
    """What a simulated crawl came to. Times are simulated but for `wall_secs`."""

    pages: int = 0
    fetches: int = 0
    failed: int = 0
    seconds: float = 0.0  # simulated
    wall_secs: float = 0.0
    frontier_secs: float = 0.0  # CPU of the frontier alone
    busy_secs: float = 0.0  # fetch times added up
    idle_secs: float = 0.0  # nothing was in flight: all hosts were held
    violations: int = 0
    smallest_spare: float = 0.0
    known: int = 0
    waiting: int = 0
    hosts: int = 0
    is_finished: bool = False
    digest: str = ""
    bucket_secs: float = 0.0
    buckets: list[int] = field(default_factory=list)  # pages in each stretch of simulated time


class Simulation:
    """One crawl of a simulated web; `run` may be called once. `tell` hears of progress."""

    def __init__(
        self,
        web: SimulatedWeb,
        store: Store,
        *,
        concurrency: int = 1024,
        minimum: float = 1.0,
        factor: float = 1.0,
        retries: int = 2,
        seed: int = 0,
    ) -> None:
        self._web = web
        self._concurrency = concurrency
        self._retries = retries
        self._policy = DelayPolicy(minimum=minimum, factor=factor)
        self._auditor = Auditor(minimum, factor, self._policy.maximum)
        self.frontier = Mercator(
            store,
            BiasedSelector(8, seed=seed),
            Policies(self._policy),
            back_queues=3 * concurrency,
            seed=seed,
        )
        self._met: set[int] = set()  # hosts whose robots.txt is known
        self._flights: list[tuple[float, int, Record, bool]] = []
        self._digest = xxhash.xxh3_128()
        self._now = 0.0
        self.outcome = Outcome()

    def run(
        self,
        limit_secs: float,
        max_pages: int = 0,
        buckets: int = 200,
        tell: Callable[[float, Outcome], None] = lambda now, outcome: None,
    ) -> Outcome:
        outcome = self.outcome
        outcome.bucket_secs = limit_secs / buckets
        outcome.buckets = [0] * buckets
        started = time.perf_counter()
        tell_at = _TELL_EVERY
        self.frontier.put([self._web.record(0, 0)])
        while not (max_pages and outcome.pages >= max_pages):
            self._fill()
            at = self._next_time()
            if at is None:
                outcome.is_finished = True
                break
            if at >= limit_secs:
                self._now = limit_secs
                break
            if not self._flights:
                outcome.idle_secs += at - self._now
            self._now = at
            while self._flights and self._flights[0][0] <= at:
                self._land()
            if outcome.fetches >= tell_at:
                tell_at += _TELL_EVERY
                tell(at, outcome)
        outcome.seconds = self._now
        outcome.wall_secs = time.perf_counter() - started
        counts = self.frontier.store.counts
        outcome.known, outcome.waiting, outcome.hosts = counts.known, counts.waiting, counts.hosts
        outcome.violations = self._auditor.violations
        outcome.smallest_spare = self._auditor.smallest_spare
        outcome.digest = self._digest.hexdigest()
        return outcome

    def _next_time(self) -> float | None:
        """When something happens next: a fetch ends, or a host may be hit."""
        landing = self._flights[0][0] if self._flights else None
        if len(self._flights) >= self._concurrency:
            return landing
        ready = self.frontier.earliest()
        if ready is not None and ready <= self._now:
            # Due already, but `next` looked at only so many hosts: ask again at once.
            ready = None if self.frontier.flying and landing is not None else self._now
        times = [at for at in (landing, ready) if at is not None]
        return max(self._now, min(times)) if times else None

    def _fill(self) -> None:
        while len(self._flights) < self._concurrency:
            before = time.thread_time()
            record = self.frontier.next(self._now)
            self.outcome.frontier_secs += time.thread_time() - before
            if record is None:
                return
            host, page = place(record)
            self._auditor.start(host, self._now)
            is_robots = host not in self._met
            what: int | str = "robots" if is_robots else page
            answer = self._web.fetch(host, what, record.retries)
            if is_robots and answer.status:
                answer = type(answer)(answer.seconds, 200)
            self.outcome.fetches += 1
            self.outcome.busy_secs += answer.seconds
            self._digest.update(
                _FETCH.pack(self._now, record.fingerprint, answer.status, is_robots)
            )
            flight = (self._now + answer.seconds, self.outcome.fetches, record, is_robots)
            heapq.heappush(self._flights, flight)

    def _land(self) -> None:
        """A fetch has ended: its host is released, and its URL ends or waits again."""
        now, _, record, is_robots = heapq.heappop(self._flights)
        web, frontier = self._web, self.frontier
        host, page = place(record)
        answer = web.fetch(host, "robots" if is_robots else page, record.retries)
        status = 200 if is_robots and answer.status else answer.status
        links = [] if is_robots or status != 200 else list(web.links(record))
        crawl_delay = web.crawl_delay(host) if status or not is_robots else 0.0
        before = time.thread_time()
        if is_robots and status:
            self._met.add(host)
            if crawl_delay:
                frontier.set_crawl_delay(record, crawl_delay)
        again = is_robots and status == 200
        frontier.release(record, Fetch(seconds=answer.seconds, status=status), now, again=again)
        if not again:
            if status == 200:
                frontier.done(Ending(record, "stored", now, status, links=links))
                self._count(now)
            elif record.retries < self._retries:
                frontier.retry(record)
            else:
                frontier.done(Ending(record, "failed", now, status))
                self.outcome.failed += 1
        self.outcome.frontier_secs += time.thread_time() - before
        self._auditor.end(host, answer.seconds, crawl_delay if host in self._met else 0.0, now)

    def _count(self, now: float) -> None:
        outcome = self.outcome
        outcome.pages += 1
        at = min(int(now / outcome.bucket_secs), len(outcome.buckets) - 1)
        outcome.buckets[at] += 1
