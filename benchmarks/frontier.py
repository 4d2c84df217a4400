"""What the frontier does in a second, side by side with Scrapy's own queues.

    python benchmarks/frontier.py                all that follows: 40 minutes on a busy machine
    python benchmarks/frontier.py hosts          2 million URLs on 1 thousand to 1 million hosts,
                                                 and with one host owning half of them
    python benchmarks/frontier.py urls           1 thousand, 100 thousand and 1 million URLs
    python benchmarks/frontier.py large          1 million and 20 million URLs on 200,000 hosts
    python benchmarks/frontier.py peers          Scrapy's queues and scrapy-redis's, and ours
    python benchmarks/frontier.py --quick        hosts and peers in small: under two minutes
    python benchmarks/frontier.py one --urls 1000000 --hosts 1000 --shape lopsided
                                                 one case, its figures as JSON

A case fills a store with URLs and then measures, with that many waiting, in this order:

    put         new URLs in batches of 100, each of a host drawn at random, so that a batch touches
                about a hundred hosts: the URL-seen test, the rows of URL and host, the commit
    seen        the URL-seen test of known URLs in batches of 100: drawn evenly from all of them,
                and drawn by popularity (power law), as links are
    next+done   hand out, release, end: 64 in flight, no delay, no links, one commit each; next/s and
                done/s are what either would do alone (done with release)

A host's URLs are of three priorities, as those of a breadth-first crawl are. A lopsided case
gives half of all URLs to one host. Records are made outside the measured time; each case is a
process of its own on the `rocks` backend with the default settings. `CPU` rates
count the CPU time of the frontier's thread only, without waiting for a processor that others
use; flushes and compactions of the store run in threads of their own. A processor that others use
too is also slower: `yardstick` is the CPU time, in ms, of a fixed piece of work before and after.

The aims were set on another machine. What it did is known of one peer, Scrapy's downloader-aware
queue with 1,000, 10,000 and 100,000 hosts, which must have been in memory (on disk it opens a file for
each host). It is measured here too, as a rough guide to what the aims are worth on this machine:
the sizes do not give the same ratio, so the stricter one is taken. (`--no-peers` leaves it out.)

The peers are Scrapy's priority queues on disk (as with JOBDIR) behind its own duplicate filter, and
scrapy-redis's queue and duplicate filter on a real redis-server (its bytes are the server's memory).
Their pops get slower with every host (slot), so those are measured for a few seconds only.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import sys
import tempfile
import time
import warnings
from collections import deque
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xxhash
from measure import (
    MEBIBYTE,
    Stopwatch,
    disk_bytes,
    machine,
    memory_mib,
    run_json,
    run_main,
    table,
    thousands,
    versions,
)

from webcrawler.defaults import SETTINGS
from webcrawler.frontier.backends import SIDE_TABLES
from webcrawler.frontier.backends.embedded import EmbeddedStore
from webcrawler.frontier.backends.layout import OWN_TABLES
from webcrawler.frontier.backends.rocks import RocksKV
from webcrawler.frontier.ending import Ending
from webcrawler.frontier.mercator import Mercator
from webcrawler.frontier.record import Record
from webcrawler.frontier.selector import BiasedSelector
from webcrawler.politeness import DelayPolicy, Fetch, Policies

if TYPE_CHECKING:
    from collections.abc import Iterator

BATCH = 100
IN_FLIGHT = 64
FRONT_QUEUES = 8
REDIS_PEER = "scrapy-redis"
PEERS = ("DownloaderAwarePriorityQueue", "ScrapyPriorityQueue", REDIS_PEER)
AIMS = {"put": 80_000, "seen": 300_000, "next_done": 20_000}  # a second
# Of the downloader-aware queue where the aims were set, a second, by number of hosts.
POPS_THERE = {1_000: 9_256, 10_000: 454}


def records(urls: int, hosts: int, shape: str, first: int = 0) -> Iterator[Record]:
    """New URLs: each host gets one before any is drawn at random; half go to one host or not."""
    for n in range(first, first + urls):
        yield record(n, hosts, shape)


def record(n: int, hosts: int, shape: str) -> Record:
    """URL number n, always the same."""
    number = n
    if n >= hosts:
        mixed = (n ^ n >> 15) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
        number = (mixed ^ mixed >> 29) % hosts
        if shape == "lopsided" and n % 2:
            number = 0
    host = f"www.host-{number}.example"
    url = f"https://{host}/section/{n % 97}/page-{n}.html"
    queue = 2 + number % 4 + (n * 2654435761 >> 7) % 3
    fingerprint = xxhash.xxh3_64_intdigest(url.encode())
    return Record(url, fingerprint, host, queue, 3, n, "some link text")


def yardstick() -> float:
    """CPU milliseconds of a fixed piece of work: they grow when others use the machine."""
    started, table = time.thread_time(), {n * 0x9E3779B97F4A7C15: n for n in range(50_000)}
    total = sum(table[n * 0x9E3779B97F4A7C15] for n in range(0, 50_000, 7) for _ in range(10))
    assert total
    return (time.thread_time() - started) * 1000


def batches(source: Iterator[Record]) -> Iterator[list[Record]]:
    while batch := list(islice(source, BATCH)):
        yield batch


class Case:
    """One store, from empty to its figures."""

    def __init__(self, urls: int, hosts: int, shape: str, window: int, folder: Path) -> None:
        self.urls, self.hosts, self.shape, self.window = urls, hosts, shape, window
        self.folder = folder
        self.before = memory_mib()
        self.next_secs = 0.0  # of handing out, in next+done
        kv = RocksKV(
            folder / "frontier",
            (*OWN_TABLES, *SIDE_TABLES),
            memory=SETTINGS["FRONTIER_MEMORY_MB"].default * MEBIBYTE,
            sync_secs=SETTINGS["FRONTIER_SYNC_SECS"].default,
        )
        self.store = EmbeddedStore(
            kv,
            queues=FRONT_QUEUES,
            popular=SETTINGS["FRONTIER_SEEN_CACHE"].default,
            cached_hosts=SETTINGS["FRONTIER_HOST_CACHE"].default,
        )
        self.frontier = Mercator(
            self.store,
            BiasedSelector(FRONT_QUEUES),
            Policies(DelayPolicy(minimum=0.0, factor=0.0)),
            back_queues=3 * IN_FLIGHT,
        )

    def run(self) -> dict[str, Any]:
        fill = self.put(self.urls, 0)
        waiting = self.frontier.store.counts.waiting
        answer: dict[str, Any] = {
            "urls": self.urls,
            "hosts": self.hosts,
            "shape": self.shape,
            "fill": asdict(fill.cost),
            "disk_a_url": disk_bytes(self.folder) / waiting,
        }
        answer["yardstick"] = yardstick()
        answer["put"] = asdict(self.put(self.window, self.urls).cost)
        answer["seen"] = asdict(self.seen(popular=False).cost)
        answer["seen_popular"] = asdict(self.seen(popular=True).cost)
        answer["next_done"] = asdict(self.next_done().cost)
        answer["next_share"] = self.next_secs / answer["next_done"]["wall"]
        answer["yardstick"] = (answer["yardstick"] + yardstick()) / 2
        answer["rss"] = memory_mib()
        answer["peak"] = memory_mib("VmHWM")
        answer["rss_before"] = self.before
        self.frontier.close(time.time())
        return answer

    def put(self, urls: int, first: int) -> Stopwatch:
        stopwatch = Stopwatch()
        for batch in batches(records(urls, self.hosts, self.shape, first)):
            with stopwatch:
                new = self.frontier.put(batch)
            assert new == len(batch)
            if batch[-1].via % 1_000_000 == 999_999:
                rate = (batch[-1].via - first) / stopwatch.cost.wall
                say(f"    {thousands(batch[-1].via + 1)} URLs put, {thousands(rate)} a second")
        stopwatch.cost.count = urls
        return stopwatch

    def seen(self, *, popular: bool) -> Stopwatch:
        """Known URLs are found again by their numbers, as `records` made them."""
        generator = random.Random(7)
        numbers = self._popular(generator) if popular else self._even(generator)
        known = [record(n, self.hosts, self.shape).fingerprint for n in numbers]
        unknown = self.store.unknown
        stopwatch = Stopwatch()
        for at in range(0, len(known), BATCH):
            part = known[at : at + BATCH]
            with stopwatch:
                answers = unknown(part)
            assert not any(answers)
        stopwatch.cost.count = len(known)
        return stopwatch

    def _even(self, generator: random.Random) -> list[int]:
        return [generator.randrange(self.urls) for _ in range(self.window)]

    def _popular(self, generator: random.Random) -> list[int]:
        ranks = iter(lambda: int(generator.paretovariate(0.5)), None)
        return list(islice((rank for rank in ranks if rank < self.urls), self.window))

    def next_done(self) -> Stopwatch:
        frontier, now, fetch = self.frontier, 1_000_000.0, Fetch(seconds=0.01)
        flying: deque[Record] = deque()
        stopwatch, clock = Stopwatch(), time.perf_counter
        pages = self.window // 2
        with stopwatch:
            for _ in range(pages):
                began_at = clock()
                while len(flying) < IN_FLIGHT and (record := frontier.next(now)) is not None:
                    flying.append(record)
                self.next_secs += clock() - began_at
                record = flying.popleft()
                now += 0.001
                frontier.release(record, fetch, now)
                frontier.done(Ending(record, "stored", now, 200, digest=record.fingerprint))
        for record in flying:
            frontier.release(record, fetch, now)
            frontier.done(Ending(record, "stored", now, 200))
        stopwatch.cost.count = pages
        return stopwatch


def peer(
    name: str, hosts: int, urls: int, seconds: float, folder: Path, *, on_disk: bool = True
) -> dict[str, Any]:
    """Scrapy's own scheduler with one of its priority queues, popped for a while."""
    from scrapy import Request, Spider
    from scrapy.core.scheduler import Scheduler
    from scrapy.utils.test import get_crawler

    if name == REDIS_PEER:
        return redis_peer(hosts, urls, seconds)
    settings = {
        "JOBDIR": str(folder) if on_disk else None,
        "SCHEDULER_PRIORITY_QUEUE": f"scrapy.pqueues.{name}",
        "LOG_ENABLED": False,
    }
    crawler = get_crawler(Spider, settings)
    spider = crawler._create_spider("peer")
    crawler.spider = spider
    crawler.engine = type("Engine", (), {"downloader": Slots()})()
    scheduler = Scheduler.from_crawler(crawler)
    scheduler.open(spider)
    put, pop = Stopwatch(), Stopwatch()
    for batch in batches(records(urls, hosts, "even")):
        requests = [Request(record.url) for record in batch]
        with put:
            for request in requests:
                scheduler.enqueue_request(request)
        put.cost.count += len(batch)
        if put.cost.wall > 20 * seconds:
            break
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with pop:
            request = scheduler.next_request()
        if request is None:
            break
        pop.cost.count += 1
    scheduler.close("finished")
    return {
        "peer": name,
        "urls": put.cost.count,
        "hosts": hosts,
        "put": asdict(put.cost),
        "next_done": asdict(pop.cost),
        "disk_a_url": disk_bytes(folder) / put.cost.count,
        "rss": memory_mib(),
        "peak": memory_mib("VmHWM"),
    }


def redis_peer(hosts: int, urls: int, seconds: float) -> dict[str, Any]:
    """scrapy-redis's scheduler on a Redis of its own; memory is the server's, a URL and in all."""
    from redis import Redis
    from scrapy import Request, Spider
    from scrapy.utils.test import get_crawler
    from scrapy_redis.scheduler import Scheduler
    from serve import redis_server

    warnings.filterwarnings("ignore", module="scrapy_redis")  # it is older than this Scrapy
    with redis_server() as (url, path):
        settings = {
            "REDIS_URL": url,
            "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
            "LOG_ENABLED": False,
        }
        crawler = get_crawler(Spider, settings)
        spider = crawler.spider = crawler._create_spider("peer")
        scheduler = Scheduler.from_crawler(crawler)
        scheduler.open(spider)
        client = Redis(unix_socket_path=str(path))
        before = client.info("memory")["used_memory"]
        put, pop = Stopwatch(), Stopwatch()
        for batch in batches(records(urls, hosts, "even")):
            requests = [Request(record.url) for record in batch]
            with put:
                for request in requests:
                    scheduler.enqueue_request(request)
            put.cost.count += len(batch)
            if put.cost.wall > 20 * seconds:
                break
        used = client.info("memory")["used_memory"] - before
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            with pop:
                request = scheduler.next_request()
            if request is None:
                break
            pop.cost.count += 1
    return {
        "peer": REDIS_PEER,
        "urls": put.cost.count,
        "hosts": hosts,
        "put": asdict(put.cost),
        "next_done": asdict(pop.cost),
        "disk_a_url": used / put.cost.count,
        "rss": memory_mib(),
        "peak": used / MEBIBYTE,
    }


class Slots:
    """What the downloader-aware queue asks the downloader for."""

    def __init__(self) -> None:
        self.slots: dict[str, Any] = {}

    def get_slot_key(self, request: Any) -> str:
        return str(request.url.split("/", 3)[2])


def in_folder(work: Any) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(prefix="bench-frontier-"))
    try:
        answer: dict[str, Any] = work(folder)
        return answer
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# All of it


def cases(options: argparse.Namespace) -> list[tuple[int, int, str, int]]:
    part = options.what
    if options.quick:
        sizes = [(100_000, 1_000), (100_000, 100_000)]
        found = [(urls, hosts, "even", 50_000) for urls, hosts in sizes]
        return [*found, (100_000, 1_000, "lopsided", 50_000)]
    found = []
    if part in ("all", "hosts"):
        sizes_of_hosts = (1_000, 10_000, 100_000, 1_000_000)
        found += [(2_000_000, hosts, "even", 200_000) for hosts in sizes_of_hosts]
        found += [(2_000_000, hosts, "lopsided", 200_000) for hosts in (1_000, 100_000)]
    if part in ("all", "urls"):
        found += [(urls, 1_000, "even", 50_000) for urls in (1_000, 100_000, 1_000_000)]
    if part in ("all", "large"):
        found += [(urls, 200_000, "even", 200_000) for urls in (1_000_000, 20_000_000)]
        found += [(20_000_000, 200_000, "lopsided", 200_000)] if part == "all" else []
    if part == "peers":
        found += [(100_000, hosts, "even", 50_000) for hosts in (1_000, 10_000, 100_000)]
    return found


def row(answer: dict[str, Any]) -> list[str]:
    cells = [f"{thousands(answer['urls'])} on {thousands(answer['hosts'])} {answer['shape']}"]
    for name in ("put", "seen", "seen_popular", "next_done"):
        cost = answer[name]
        cells.append(thousands(cost["count"] / cost["wall"]))
        cells.append(thousands(cost["count"] / cost["thread"]))
    pages = answer["next_done"]["count"] / answer["next_done"]["wall"]
    share = answer["next_share"]
    cells += [thousands(pages / share), thousands(pages / (1 - share))]
    cells += [f"{answer['disk_a_url']:.0f}", f"{answer['rss']:.0f}", f"{answer['peak']:.0f}"]
    cells.append(f"{answer['yardstick']:.0f}")
    return cells


HEAD = ["URLs", "put/s", "CPU", "seen/s", "CPU", "popular/s", "CPU", "next+done/s", "CPU"]
HEAD += ["next/s", "done/s"]
HEAD += ["disk B/URL", "MiB", "peak", "yardstick"]
PEER_HEAD = ["peer", "hosts", "put/s", "pop/s", "ours: put", "next+done", "store B/URL", "peak MiB"]


def compare(options: argparse.Namespace) -> None:
    print(machine())
    print(versions("rocksdict", "scrapy", "queuelib"))
    answers = []
    for urls, hosts, shape, window in cases(options):
        command = [sys.executable, __file__, "one", "--urls", str(urls), "--hosts", str(hosts)]
        answers.append(run_json([*command, "--shape", shape, "--window", str(window)]))
        say(
            "  measured "
            + ", ".join(f"{h} {c}" for h, c in zip(HEAD, row(answers[-1]), strict=True))
        )
    print()
    print(table(HEAD, [row(answer) for answer in answers]))
    print()
    print_ratios(answers)
    if options.peers:
        print()
        print_aims(answers)
    if options.peers and options.what in ("all", "peers"):
        print()
        print_peers(answers, options)


def say(line: str) -> None:
    """Progress, apart from the tables."""
    print(line, file=sys.stderr, flush=True)


def _rate(answer: dict[str, Any], name: str, clock: str) -> float:
    cost = answer[name]
    return float(cost["count"] / cost[clock])


def print_ratios(answers: list[dict[str, Any]]) -> None:
    """Flatness: the fastest against the slowest; lopsided against even."""
    even = [a for a in answers if a["shape"] == "even" and a["urls"] == answers[0]["urls"]]
    if len(even) < 2:
        even = []
    for name in ("put", "next_done"):
        for clock in ("wall", "thread"):
            rates = [_rate(answer, name, clock) for answer in even]
            if not rates:
                continue
            print(
                f"{name} by {clock}: {len(even)} sizes from {thousands(even[0]['hosts'])} to "
                f"{thousands(even[-1]['hosts'])} hosts within {max(rates) / min(rates):.2f} times"
            )
            for answer in answers:
                twin = [a for a in even if a["hosts"] == answer["hosts"]]
                if answer["shape"] == "lopsided" and twin:
                    ratio = _rate(twin[0], name, clock) / _rate(answer, name, clock)
                    hosts = thousands(answer["hosts"])
                    print(f"  one host owning half, {hosts} hosts: even is {ratio:.2f} times")
    large = [a for a in answers if a["urls"] >= 10_000_000]
    hosts = large[0]["hosts"] if large else 0
    small = [a for a in answers if a["hosts"] == hosts and a not in large]
    if small:
        for name in ("put", "seen", "next_done"):
            wall, cpu = (
                _rate(large[0], name, clock) / _rate(small[0], name, clock)
                for clock in ("wall", "thread")
            )
            say_of = f"of the rate at {thousands(small[0]['urls'])} URLs"
            print(
                f"{name} at {thousands(large[0]['urls'])} URLs: {wall:.2f} {say_of}, CPU {cpu:.2f}"
            )


def print_aims(answers: list[dict[str, Any]]) -> None:
    """Every rate against its aim, and roughly against what the aim is worth on this machine."""
    speeds = []
    for hosts, there in POPS_THERE.items():
        command = [sys.executable, __file__, "peer", "--name", PEERS[0], "--in-memory"]
        command += ["--hosts", str(hosts), "--urls", "20000", "--seconds", "3"]
        # By CPU: how busy others keep the machine right now is not its speed.
        here = _rate(run_json(command), "next_done", "thread")
        speeds.append(here / there)
        print(
            f"{PEERS[0]} in memory, {thousands(hosts)} hosts: {thousands(here)} pops a second of "
            f"CPU, {here / there:.2f} of the {thousands(there)} where the aims were set"
        )
    speed = max(speeds)  # the sizes do not agree: the one that forgives less
    for name, aim in AIMS.items():
        rates = [_rate(answer, name, "thread") for answer in answers]
        low, high = min(rates), max(rates)
        print(
            f"{name} by CPU: {thousands(low)} to {thousands(high)} a second, {low / aim:.2f} to "
            f"{high / aim:.2f} of the aim of {thousands(aim)}; if this machine is {speed:.2f} times "
            f"as fast, {low / aim / speed:.2f} to {high / aim / speed:.2f} of it"
        )


def print_peers(answers: list[dict[str, Any]], options: argparse.Namespace) -> None:
    rows = []
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    sizes = (1_000, 10_000) if options.quick else (1_000, 10_000, 100_000)
    for name in PEERS:
        for hosts in sizes:
            if name == PEERS[0] and hosts + 100 > files:
                say(f"  {name} opens a file for each host: {thousands(hosts)} are too many here")
                continue
            command = [sys.executable, __file__, "peer", "--name", name, "--hosts", str(hosts)]
            command += ["--urls", str(max(20_000, hosts))]
            command += ["--seconds", "2" if options.quick else "5"]
            answer = run_json(command)
            ours = min(answers, key=lambda a: (a["shape"], abs(a["hosts"] - hosts)))
            put, pop = _rate(answer, "put", "wall"), _rate(answer, "next_done", "wall")
            rows.append(
                [
                    name,
                    thousands(hosts),
                    thousands(put),
                    thousands(pop),
                    f"{_rate(ours, 'put', 'wall') / put:.0f} x",
                    f"{_rate(ours, 'next_done', 'wall') / pop:.0f} x",
                    f"{answer['disk_a_url']:.0f}",
                    f"{answer['peak']:.0f}",
                ]
            )
            say(f"  measured {name} with {thousands(hosts)} hosts")
    print(table(PEER_HEAD, rows))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = ("all", "hosts", "urls", "large", "peers", "one", "peer")
    parser.add_argument("what", nargs="?", choices=parts, default="all")
    parser.add_argument("--quick", action="store_true", help="small sizes, under two minutes")
    parser.add_argument("--no-peers", dest="peers", action="store_false")
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--hosts", type=int, default=1_000)
    parser.add_argument("--shape", choices=("even", "lopsided"), default="even")
    parser.add_argument("--window", type=int, default=100_000, help="operations measured")
    parser.add_argument("--name", choices=PEERS, default=PEERS[0])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--in-memory", action="store_true", help="a peer without JOBDIR")
    o = parser.parse_args()
    if o.what == "one":
        work = lambda folder: Case(o.urls, o.hosts, o.shape, o.window, folder).run()  # noqa: E731
    elif o.what == "peer":
        work = lambda folder: peer(  # noqa: E731
            o.name, o.hosts, o.urls, o.seconds, folder, on_disk=not o.in_memory
        )
    else:
        compare(o)
        return
    print(json.dumps(in_folder(work)))


if __name__ == "__main__":
    run_main(main)
