"""Lets `scrapy frontier` talk to the running crawl, and makes checkpoints on its own."""

from __future__ import annotations

import logging
import re
import shutil
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

from webcrawler.control import ControlServer, make_checkpoint
from webcrawler.crawl import Crawl
from webcrawler.exceptions import WebcrawlerError
from webcrawler.frontier.desk import Desk
from webcrawler.wakeup import Wakeup

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)
# Checkpoints made here, and what a crash left of one; not those that people made beside them.
_OURS = re.compile(r"\.?\d{8}T\d{6}\.\d{6}(\.unfinished)?")


class Control:
    """See the module."""

    def __init__(self, crawler: Crawler, crawl: Crawl) -> None:
        self._crawler = crawler
        self._crawl = crawl
        self._server: ControlServer | None = None
        self._looping: Any = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        crawl = Crawl.of(crawler)
        if crawl.job is None:
            raise NotConfigured
        control = cls(crawler, crawl)
        crawler.signals.connect(control.spider_opened, signals.spider_opened)
        return control

    async def spider_opened(self) -> None:
        crawl = self._crawl
        assert crawl.job is not None
        assert self._crawler.spider is not None
        crawl.job.update(spider=self._crawler.spider.name, started_at=crawl.clock())
        self._desk = Desk(crawl.frontier, crawl.canonicalizer, crawl.prioritizer)
        # A URL that was added or a host that was unblocked is not to wait for the heartbeat.
        wakeup = Wakeup(self._crawler.engine)
        self._server = ControlServer(
            crawl.job.folder, self._desk, crawl.scheduler.log, crawl.clock, wakeup.now
        )
        try:
            await self._server.start()
        except OSError as error:
            logger.warning(f"`scrapy frontier` cannot ask this crawl while it runs: {error}")
        self._crawl.scheduler.before_close.append(self.close)
        every = crawl.config.frontier.checkpoint_secs
        if every and crawl.config.frontier.backend == "rocks":
            self._looping = create_looping_call(self.checkpoint)
            self._looping.start(every, now=False)

    def checkpoint(self) -> None:
        """Make a checkpoint in the job folder and remove those beyond the last few."""
        assert self._crawl.job is not None
        folder = self._crawl.job.folder / "checkpoints"
        name = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
        try:
            make_checkpoint(self._desk, self._crawl.job.folder, folder / name)
        except WebcrawlerError as error:
            logger.error(f"no checkpoint: {error}")
            return
        kept = self._crawl.config.frontier.checkpoints
        ours = [path for path in folder.iterdir() if _OURS.fullmatch(path.name)]
        for old in sorted(ours)[:-kept]:
            shutil.rmtree(old, ignore_errors=True)
        self._crawler.stats.inc_value("frontier/checkpoints")

    def close(self) -> None:
        if self._looping is not None:
            self._looping.stop()
        if self._server is not None:
            self._server.close()
