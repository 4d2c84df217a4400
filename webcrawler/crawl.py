"""Where all parts of a crawl are joined.

One `Crawl` belongs to one crawler; every component that needs the frontier, the job folder or
the configuration asks `Crawl.of(crawler)` for it. It is opened by the spider, before anything is
fetched, so that whatever is wrong with settings or job folder is one sentence at the start.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from webcrawler.adapter import register
from webcrawler.clock import now
from webcrawler.config import Config
from webcrawler.dedup import NearDuplicates, run, run_async
from webcrawler.download.options import download_options
from webcrawler.exceptions import JobError
from webcrawler.frontier.backends import open_redis, open_store, open_worker
from webcrawler.frontier.mercator import Mercator
from webcrawler.frontier.prioritizer import Prioritizer
from webcrawler.frontier.selector import BiasedSelector
from webcrawler.index import Sequence
from webcrawler.job import Job
from webcrawler.politeness import AddressBook
from webcrawler.urls import Canonicalizer
from webcrawler.worker_folder import WorkerFolder

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from webcrawler.dedup.reading import Result, Steps
    from webcrawler.frontier.host import Host
    from webcrawler.frontier.store import Known, Store
    from webcrawler.scheduler import FrontierScheduler

_crawls: WeakKeyDictionary[Crawler, Crawl] = WeakKeyDictionary()


class Crawl:
    """The parts that belong to one crawl. Time is `clock`, seconds since the epoch."""

    clock = now

    def __init__(self, settings: BaseSettings) -> None:
        register()
        self._settings = settings
        self.config = Config(settings)
        folder = settings.get("JOBDIR")
        self.job = Job(Path(folder)) if folder else None
        self.name = ""  # of the crawl, where workers share it
        self._lock: WorkerFolder | None = None
        self.canonicalizer = Canonicalizer(self.config.links.drop_params)
        self.prioritizer = Prioritizer(
            self.config.frontier.front_queues, self.config.frontier.order
        )
        self.sequence = Sequence()
        self._frontier: Mercator | None = None
        self._scheduler: FrontierScheduler | None = None
        self.error: Exception | None = None  # what stopped the crawl, if something did

    @classmethod
    def of(cls, crawler: Crawler) -> Crawl:
        """The crawl of this crawler, made on first use."""
        crawl = _crawls.get(crawler)
        if crawl is None:
            crawl = _crawls[crawler] = cls(crawler.settings)
            crawl.become_worker()
        return crawl

    @cached_property
    def near_duplicates(self) -> NearDuplicates:
        """The near-duplicate test with this crawl's parameters; making it takes half a second."""
        config = self.config.content
        return NearDuplicates(config.threshold, config.permutations, config.shingle_size)

    def become_worker(self) -> None:
        """Many workers share one job folder: each has a folder of its own in it."""
        if self.config.frontier.backend != "redis" or self.job is None:
            return
        self.name = self.job.folder.name
        self._lock = WorkerFolder(self.job.open(), self.config.worker)
        self.job = Job(self._lock.folder)
        self._settings.set("JOBDIR", str(self.job.folder), priority="cmdline")
        self.sequence = Sequence(self._lock.number)

    @property
    def frontier(self) -> Mercator:
        if self._frontier is None:
            self.open()
        assert self._frontier is not None
        return self._frontier

    @property
    def scheduler(self) -> FrontierScheduler:
        """Set by the scheduler when the engine opens it."""
        assert self._scheduler is not None, "no crawl is running"
        return self._scheduler

    @scheduler.setter
    def scheduler(self, scheduler: FrontierScheduler) -> None:
        self._scheduler = scheduler

    @property
    def is_open(self) -> bool:
        return self._frontier is not None

    @property
    def store(self) -> Store:
        return self.frontier.store

    def open(self) -> None:
        """Open job folder and frontier; raises UserError or StoreError with one sentence."""
        if self._frontier is not None:
            return
        self.config.check()
        download_options(self._settings)
        if self.job is not None:
            self.job.open()
        config = self.config.frontier
        policies = self.config.policies
        opened_at = self.clock()
        store: Store
        if config.backend == "redis":
            if self.job is None:
                raise JobError("a crawl in Redis needs a job folder: its name is the crawl's name")

            def restart(host: Host) -> None:
                policies.of(host.name).after_restart(host, self.clock())

            redis, folder = self.config.redis, self.job.folder
            store = (
                open_worker(config, redis, self.name, folder, restart=restart)
                if self._lock is not None
                else open_redis(config, redis, folder.name, restart=restart)
            )
        else:
            store = open_store(
                config,
                self.job.folder if self.job is not None else None,
                restart=lambda host: policies.of(host.name).after_restart(host, opened_at),
            )
        delay = self.config.address_delay
        self._frontier = Mercator(
            store,
            BiasedSelector(config.front_queues, weights=config.weights, seed=config.seed),
            policies,
            back_queues=config.back_queues,
            back_queues_maximum=config.back_queues_max,
            batch=config.batch,
            horizon=config.hold_secs,
            addresses=(
                AddressBook(delay, self.clock() if store.counts.known else None) if delay else None
            ),
            seed=config.seed,
        )

    async def examine(self, steps: Steps[Result]) -> Result:
        """Run a test that asks the store, without waiting for one behind a network."""
        store: Any = self.store
        return await run_async(store.read, steps) if hasattr(store, "read") else run(store, steps)

    async def find(self, fingerprint: int, url: str) -> Known | None:
        """What is known of a URL, whichever worker has it."""
        store: Any = self.store
        known: Known | None = (
            await store.look_up(fingerprint, url)
            if hasattr(store, "look_up")
            else store.find(fingerprint)
        )
        return known

    async def url_of(self, fingerprint: int) -> str:
        """The URL of a page, whoever fetched it."""
        url, store = self.store.url_of(fingerprint), cast(Any, self.store)
        if url is None and hasattr(store, "find_page"):
            page = await store.find_page(fingerprint)
            return page.url if page is not None else ""
        return url or ""

    def close(self) -> None:
        try:
            if self._frontier is not None:
                frontier, self._frontier = self._frontier, None
                frontier.close(self.clock())
        finally:
            # Last: whoever takes the folder next opens the store in it.
            if self._lock is not None:
                self._lock.close()
