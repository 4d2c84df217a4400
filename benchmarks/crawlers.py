"""The crawlers that are compared, what each does and does not do, and how each is started."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from environments import crawlee_python

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "benchmarks/peers"
OFF = ("INDEX_ENABLED", "ARCHIVE_ENABLED", "NEARDUP_ENABLED", "ANCHORS_ENABLED")
# Copies of one site on several addresses are copies: all of them are to be parsed here.
OURS = (
    *("POLITENESS_MIN_DELAY=0", "POLITENESS_LATENCY_FACTOR=0", "ROBOTSTXT_OBEY=0"),
    *("CONTENTSEEN_ENABLED=0", "LOG_LEVEL=ERROR", "PROGRESS_ENABLED=0"),
)
# What Scrapy's documentation advises for broad crawls. The priority queue is the default since 2.19.
BROAD = (
    *("SCHEDULER_PRIORITY_QUEUE=scrapy.pqueues.DownloaderAwarePriorityQueue",),
    *("CONCURRENT_REQUESTS=100", "REACTOR_THREADPOOL_MAXSIZE=20", "COOKIES_ENABLED=0"),
    *("RETRY_ENABLED=0", "DOWNLOAD_TIMEOUT=15", "REDIRECT_ENABLED=0"),
    # Breadth first, as its FAQ has it.
    *("DEPTH_PRIORITY=1", "SCHEDULER_MEMORY_QUEUE=scrapy.squeues.FifoMemoryQueue"),
    "SCHEDULER_DISK_QUEUE=scrapy.squeues.PickleFifoDiskQueue",
)
STOCK = "stock Scrapy"
SCRAPYS, OUR_OWN = "64, 8 a host (its default)", "64, one a host (always)"


class Missing(Exception):
    """A crawler cannot run here; the sentence says why."""


@dataclass(frozen=True)
class Task:
    """What one run is to crawl: start pages, a pattern of paths or "", its own empty folder."""

    seeds: list[str]
    allow: str
    folder: Path
    redis_url: str = ""

    @property
    def joined(self) -> str:
        return ",".join(self.seeds)


@dataclass(frozen=True)
class Crawler:
    """One row of the table."""

    name: str
    does: str
    does_not: str
    at_once: str  # requests in flight
    command: Callable[[Task], list[str]]
    needs_redis: bool = False
    is_slow: bool = False  # not faster than stock: one round is enough to say so


def scrapy(words: list[str], settings: tuple[str, ...]) -> list[str]:
    command = [sys.executable, "-m", "scrapy", *words]
    for setting in settings:
        command += ["-s", setting]
    return command


def stock(*settings: str, redis: bool = False) -> Callable[[Task], list[str]]:
    def command(task: Task) -> list[str]:
        words = ["runspider", str(PEERS / "stock.py"), "-a", f"seeds={task.joined}"]
        words += ["-a", f"allow={task.allow}"]
        own = ("CONCURRENT_REQUESTS=64", "LOG_LEVEL=ERROR", "TELNETCONSOLE_ENABLED=0", *settings)
        if redis:
            own += (
                "SCHEDULER=scrapy_redis.scheduler.Scheduler",
                "DUPEFILTER_CLASS=scrapy_redis.dupefilter.RFPDupeFilter",
                f"REDIS_URL={task.redis_url}",
            )
        return scrapy(words, own)

    return command


def ours(*settings: str, links_only: bool = False, redis: bool = False):
    def command(task: Task) -> list[str]:
        words = ["crawl", "site", "-a", f"seeds={task.joined}"]
        if task.allow:
            words += ["-a", f"allow={task.allow}"]
        own = (*OURS, f"JOBDIR={task.folder / 'job'}", *settings)
        own += tuple(f"{name}=0" for name in OFF) if links_only else ("NEARDUP_INDEX=1",)
        if redis:
            own += ("FRONTIER_BACKEND=redis", f"REDIS_URL={task.redis_url}")
        return scrapy(words, own)

    return command


def crawlee(task: Task) -> list[str]:
    python = crawlee_python()
    if python is None:
        raise Missing("crawlee could not be installed into .bench/crawlee")
    return [str(python), str(PEERS / "crawlee_links.py"), task.joined, task.allow]


def wget(task: Task) -> list[str]:
    program = shutil.which("wget")
    if program is None:
        raise Missing("wget is not installed: apt-get install wget")
    command = [program, "-q", "-r", "-l", "inf", "-e", "robots=off", "-P", str(task.folder)]
    if task.allow:
        command += ["--accept-regex", task.allow]
    return [*command, "--reject", "png,js,css,txt,svg,ico,gif,zip,pdf", *task.seeds]


CRAWLERS = (
    Crawler(
        STOCK,
        "requests every link of LinkExtractor (its default: fragments are links too), URL-seen test in memory",
        "nothing kept on disk, no text, no duplicates, no index, no archive",
        SCRAPYS,
        stock(),
    ),
    Crawler(
        "Scrapy, broad-crawl advice",
        "the same with the settings that Scrapy's documentation advises for broad crawls",
        "as stock; no retries, no redirects, no cookies",
        "100, 8 a host",
        stock(*BROAD),
        is_slow=True,
    ),
    Crawler(
        "ours, links only",
        "follows links; durable frontier, crawl.log, every page one atomic commit",
        "no text, no duplicates, no index, no archive",
        OUR_OWN,
        ours(links_only=True),
    ),
    Crawler(
        "ours, everything on",
        "also text, near-duplicates, anchor texts, link graph, full-text index, WARC archive",
        "exact-duplicate test off, for the sites are copies of each other",
        OUR_OWN,
        ours(),
    ),
    Crawler(
        "ours, everything on, PAGE_PROCESSES=auto",
        "the same with page work in a pool of processes, one a core",
        "as above",
        OUR_OWN,
        ours("PAGE_PROCESSES=auto"),
    ),
    Crawler(
        "scrapy-redis",
        "stock Scrapy with queue and URL-seen test in Redis",
        "as stock; a request popped when the process dies is lost",
        SCRAPYS,
        stock(redis=True),
        needs_redis=True,
        is_slow=True,
    ),
    Crawler(
        "ours on Redis, links only",
        "our frontier in Redis, shared by workers, leases",
        "no text, no duplicates, no index, no archive",
        OUR_OWN,
        ours(links_only=True, redis=True),
        needs_redis=True,
    ),
    Crawler(
        "ours on Redis, everything on",
        "the same with text, near-duplicates, anchor texts, link graph, index and archive",
        "exact-duplicate test off, for the sites are copies of each other",
        OUR_OWN,
        ours(redis=True),
        needs_redis=True,
    ),
    Crawler(
        "crawlee-python, parsel",
        "enqueue_links on every page, queue in memory, its fastest storage",
        "as stock; no retries",
        "64, and fewer where it finds the machine busy",
        crawlee,
    ),
    Crawler(
        "GNU wget -r",
        "follows links, writes every page to disk; C",
        "no durable queue, no concurrency, no text, no duplicates, no index",
        "1",
        wget,
    ),
)
