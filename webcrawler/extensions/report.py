"""report.json: the crawl in figures, rewritten every few seconds and at the end."""

from __future__ import annotations

import json
import logging
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

from webcrawler.crawl import Crawl
from webcrawler.frontier.ending import ERRAND, PAGE_OUTCOMES
from webcrawler.job import write_json

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)
_COUNTERS = ("by_status", "by_type", "by_outcome", "errors")
_MOST_KINDS = 1000  # servers may say anything: what comes after so many kinds is counted as other


class Report:
    """Counts the lines of crawl.log as they are written, over all runs of a job.

    A run begins with the figures of the last report and the lines that came after it, so that
    stopping, going on and crashes change nothing in them.

    A worker's report is about that worker; what it knows of the whole crawl, which it shares with
    others, stands below `crawl`.
    """

    def __init__(self, crawler: Crawler, crawl: Crawl) -> None:
        assert crawl.job is not None
        self._crawler = crawler
        self._crawl = crawl
        self._path = crawl.job.folder / "report.json"
        self._log = crawl.job.folder / "crawl.log"
        self._counts: dict[str, Counter[str]] = {name: Counter() for name in _COUNTERS}
        self._bytes = 0
        self._seconds_before = 0.0
        self._pages_at_start = 0
        self._started_at = crawl.clock()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        crawl = Crawl.of(crawler)
        if crawl.job is None:
            raise NotConfigured
        report = cls(crawler, crawl)
        crawler.signals.connect(report.spider_opened, signals.spider_opened)
        crawler.signals.connect(report.spider_closed, signals.spider_closed)
        # The frontier is closed before spider_closed is sent; this comes before.
        return report

    def spider_opened(self) -> None:
        self._go_on_from_last()
        scheduler = self._crawl.scheduler
        scheduler.log.listeners.append(self.count)
        scheduler.before_close.append(self.write)
        self._pages_at_start = self._pages()
        self._looping = create_looping_call(self.write)
        self._looping.start(self._crawl.config.report.report_secs, now=True)

    def spider_closed(self, reason: str) -> None:
        self._looping.stop()
        self.write(reason=reason)

    def count(self, line: dict[str, Any]) -> None:
        """One URL ended."""
        counts = self._counts
        counts["by_status"][str(line["status"])] += 1
        counts["by_outcome"][line["outcome"]] += 1
        self._bytes += line["bytes"]
        if line["type"]:
            _count(counts["by_type"], line["type"][:100])
        if line["outcome"] == "failed":
            # An exception's words name the URL; what comes before is the kind.
            kind = line.get("reason", "").partition(": http")[0][:100]
            _count(counts["errors"], kind or f"status {line['status']}")

    def _go_on_from_last(self) -> None:
        counted = 0
        try:
            last = json.loads(self._path.read_text(encoding="utf-8"))
            for name in _COUNTERS:
                self._counts[name].update({str(k): int(v) for k, v in last[name].items()})
            self._bytes = int(last["bytes"])
            self._seconds_before = float(last["seconds"])
            counted = int(last["log_bytes"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass  # no report, or not one of ours: the log has it all
        with suppress(OSError, ValueError, KeyError), self._log.open("rb") as log:
            log.seek(counted)
            for line in log:
                self.count(json.loads(line))
        if not hasattr(self._crawl.store, "figures"):  # else others have their part in them
            ended = self._crawl.store.counts.ended
            self._counts["by_outcome"] = Counter(
                {name: count for name, count in ended.items() if count and name != ERRAND}
            )

    def _pages(self) -> int:
        """The pages of this process's crawl: of one of several workers, those that it ended."""
        own: int | None = getattr(self._crawl.store, "own_pages", None)
        return self._all_pages() if own is None else own

    def _all_pages(self) -> int:
        ended = self._crawl.store.counts.ended
        return sum(ended[outcome] for outcome in PAGE_OUTCOMES)

    def figures(self, reason: str = "") -> dict[str, Any]:
        """What the report says."""
        now = self._crawl.clock()
        frontier = self._crawl.frontier
        counts = frontier.store.counts
        ready, held = frontier.hosts_ready_and_held(now)
        seconds = now - self._started_at
        pages = self._pages()
        whole: dict[str, Any] = {"hosts": counts.hosts}
        stored = {"known": counts.known, "waiting": counts.waiting, "frozen": counts.frozen}
        queues = {"front_queues": frontier.store.front_sizes()}
        own = {"in_flight": frontier.flying, "back_queues": frontier.back_queues}
        figures = getattr(frontier.store, "figures", None)
        if figures is None:
            whole["frontier"] = {
                **stored,
                **own,
                **queues,
                "hosts_ready": ready,
                "hosts_held": held,
            }
        else:
            held_here = held - frontier.store.held
            whole = {
                "frontier": {**own, "hosts_ready": ready, "hosts_held": held_here},
                "crawl": {
                    "pages": self._all_pages(),
                    "hosts": counts.hosts,
                    **stored,
                    "in_hand": counts.in_hand,
                    **queues,
                    "hosts_held": frontier.store.held,
                    **figures(counts),
                },
            }
        return {
            "spider": self._crawler.spider.name if self._crawler.spider else "",
            "finished": False,
            "reason": reason,
            "pages": pages,
            "bytes": self._bytes,
            "log_bytes": self._log.stat().st_size,  # what these figures have counted
            "seconds": round(self._seconds_before + seconds, 3),
            "pages_per_second": round((pages - self._pages_at_start) / max(seconds, 1e-6), 2),
            **{name: dict(self._counts[name].most_common(100)) for name in _COUNTERS},
            **whole,
        }

    _last: dict[str, Any] | None = None

    def write(self, reason: str = "") -> None:
        if self._crawl.is_open:
            self._last = self.figures()
        if self._last is None:
            return
        self._last["reason"] = reason
        stored = self._last.get("crawl", self._last["frontier"])
        self._last["finished"] = bool(reason) and stored["waiting"] == stored["frozen"]
        try:
            write_json(self._path, self._last)
        except OSError as error:
            logger.error(f"cannot write {self._path}: {error.strerror}")


def _count(counter: Counter[str], name: str) -> None:
    counter[name if name in counter or len(counter) < _MOST_KINDS else "other"] += 1
