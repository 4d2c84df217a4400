"""The crawl by a simulated clock."""

from __future__ import annotations

import heapq
import math
import struct
import time
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import xxhash

from webcrawler.frontier.ending import Ending
from webcrawler.frontier.mercator import Mercator
from webcrawler.frontier.selector import BiasedSelector
from webcrawler.lab.auditor import Auditor
from webcrawler.lab.web import ROBOTS, place
from webcrawler.politeness import DelayPolicy, Fetch, Policies

if TYPE_CHECKING:
    from collections.abc import Callable

    from webcrawler.frontier.record import Record
    from webcrawler.frontier.store import Store
    from webcrawler.lab.web import Answer, SimulatedWeb

_FETCH = struct.Struct("<dQHB")
_NEWS_EVERY = 60.0  # simulated seconds from one reading of the feeds to the next
_LOOK_EVERY = 256  # fetches from one look at the clock on the wall to the next


@dataclass(slots=True)
class Outcome:
    """What a simulated crawl came to. Times are simulated but for what it took here."""

    pages: int = 0
    fetches: int = 0
    failed: int = 0
    news: int = 0  # pages that were published while it ran
    news_fetched: int = 0
    news_wait_secs: float = 0.0  # from the feed that told of it to its answer, all added up
    news_longest_secs: float = 0.0
    seconds: float = 0.0  # simulated
    wall_secs: float = 0.0  # here
    cpu_secs: float = 0.0  # here, of all threads
    frontier_secs: float = 0.0  # of those, the frontier's, with its store's threads
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
    waits: list[int] = field(default_factory=list)  # the most URLs that waited in each


class Flight(NamedTuple):
    """A fetch under way: they end in the order of their times, then of their numbers."""

    at: float
    number: int
    record: Record
    host: int
    page: int
    answer: Answer


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
        self._auditor = Auditor(web.hosts, minimum, factor, self._policy.maximum)
        self.frontier = Mercator(
            store,
            BiasedSelector(8, seed=seed),
            Policies(self._policy),
            back_queues=3 * concurrency,
            seed=seed,
        )
        self._met = bytearray(web.hosts)  # 1: the host's robots.txt is known
        self._flights: list[Flight] = []
        self._digest = xxhash.xxh3_128()
        self._now = 0.0
        self._news_at = _NEWS_EVERY if web.has_news else math.inf
        self._told_at = array("d")  # when a feed told of each page that was published
        self.outcome = Outcome()

    def run(
        self,
        limit_secs: float,
        max_pages: int = 0,
        buckets: int = 200,
        tell: Callable[[float, Outcome], None] = lambda now, outcome: None,
        tell_every: float = 1.0,
    ) -> Outcome:
        outcome, counts = self.outcome, self.frontier.store.counts
        outcome.bucket_secs = limit_secs / buckets
        outcome.buckets = [0] * buckets
        started, cpu_started = time.perf_counter(), time.process_time()
        others_started = _cpu_of_others()
        told_at, look_at = started, 0
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
            while len(outcome.waits) <= int(at / outcome.bucket_secs):
                outcome.waits.append(counts.waiting)
            self._now = at
            while self._flights and self._flights[0].at <= at:
                self._land(heapq.heappop(self._flights))
            if at >= self._news_at:
                self._publish()
            if counts.waiting > outcome.waits[-1]:
                outcome.waits[-1] = counts.waiting
            if outcome.fetches >= look_at:
                look_at = outcome.fetches + _LOOK_EVERY
                if time.perf_counter() >= told_at + tell_every:
                    told_at = time.perf_counter()
                    self._sum_up(told_at - started)
                    tell(at, outcome)
        self._sum_up(time.perf_counter() - started)
        outcome.frontier_secs += _cpu_of_others() - others_started
        outcome.cpu_secs = time.process_time() - cpu_started
        outcome.digest = self._digest.hexdigest()
        return outcome

    def _sum_up(self, wall_secs: float) -> None:
        outcome, counts = self.outcome, self.frontier.store.counts
        outcome.seconds, outcome.wall_secs = self._now, wall_secs
        outcome.known, outcome.waiting, outcome.hosts = counts.known, counts.waiting, counts.hosts
        outcome.violations = self._auditor.violations
        outcome.smallest_spare = self._auditor.smallest_spare

    def _next_time(self) -> float | None:
        """When something happens next: a fetch ends, a host may be hit, pages are published."""
        next_at = min(self._flights[0].at, self._news_at) if self._flights else self._news_at
        if len(self._flights) < self._concurrency:
            ready = self.frontier.earliest()
            # If one is due already, `next` looked at only so many hosts: it is asked again when
            # something has changed, or at once if nothing is under way.
            if ready is not None and (ready > self._now or not self._flights):
                next_at = min(next_at, ready)
        return max(self._now, next_at) if next_at < math.inf else None

    def _publish(self) -> None:
        """The feeds are read: put what was published since they were read last."""
        outcome = self.outcome
        until = self._web.published(self._news_at)
        before = time.thread_time()
        self.frontier.put([self._web.news(number) for number in range(outcome.news, until)])
        outcome.frontier_secs += time.thread_time() - before
        self._told_at.extend([self._news_at] * (until - outcome.news))
        outcome.news = until
        self._news_at += _NEWS_EVERY

    def _fill(self) -> None:
        """Start fetches until nothing is ready, or as many are in flight as may be."""
        outcome, now = self.outcome, self._now
        while len(self._flights) < self._concurrency:
            before = time.thread_time()
            record = self.frontier.next(now)
            outcome.frontier_secs += time.thread_time() - before
            if record is None:
                return
            host, page = place(record)
            self._auditor.start(host, now)
            if not self._met[host]:
                page = ROBOTS
            answer = self._web.fetch(host, page, record.retries)
            outcome.fetches += 1
            outcome.busy_secs += answer.seconds
            self._digest.update(_FETCH.pack(now, record.fingerprint, answer.status, page == ROBOTS))
            ends_at = now + answer.seconds
            flight = Flight(ends_at, outcome.fetches, record, host, page, answer)
            heapq.heappush(self._flights, flight)

    def _land(self, flight: Flight) -> None:
        """A fetch has ended: its host is released, and its URL ends or waits again."""
        now, _, record, host, page, (seconds, status, crawl_delay) = flight
        outcome, frontier = self.outcome, self.frontier
        again = page == ROBOTS and status == 200
        is_page = status == 200 and not again
        links = list(self._web.links(record, host, page)) if is_page else []
        before = time.thread_time()
        if again:
            self._met[host] = 1
            if crawl_delay:
                frontier.set_crawl_delay(record, crawl_delay)
        frontier.release(record, Fetch(seconds=seconds, status=status), now, again=again)
        if not again:
            if is_page:
                frontier.done(Ending(record, "stored", now, status, links=links))
                self._count(now, page)
            elif record.retries < self._retries:
                frontier.retry(record)
            else:
                frontier.done(Ending(record, "failed", now, status))
                outcome.failed += 1
        outcome.frontier_secs += time.thread_time() - before
        self._auditor.end(host, seconds, crawl_delay if self._met[host] else 0.0, now)

    def _count(self, now: float, page: int) -> None:
        outcome = self.outcome
        outcome.pages += 1
        at = min(int(now / outcome.bucket_secs), len(outcome.buckets) - 1)
        outcome.buckets[at] += 1
        if page >= self._web.largest:
            wait = now - self._told_at[page - self._web.largest]
            outcome.news_fetched += 1
            outcome.news_wait_secs += wait
            outcome.news_longest_secs = max(outcome.news_longest_secs, wait)


def _cpu_of_others() -> float:
    """CPU seconds of all threads but this one: in the lab those of the store."""
    return time.process_time() - time.thread_time()
