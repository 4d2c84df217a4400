"""Pages a second, side by side with other crawlers, on the same pages in the same run.

    python benchmarks/crawl.py            three sites, three rounds: about forty minutes
    python benchmarks/crawl.py --quick    part of python3.11-doc and tiny pages: under two minutes
    python benchmarks/crawl.py --write    also writes docs/benchmarks.md and docs/benchmarks.svg

nginx serves Debian's python3.11-doc and postgresql-doc-15 and tiny pages on loopback addresses. Each
crawler runs in a process of its own, one after the other in every round. Politeness and robots.txt
are off for all. What a crawler reached, and when it began, is read from the server's log: time runs
from its first request to the end of its process. CPU and peak memory are of its process tree, without
nginx and Redis. The first round of stock Scrapy says which pages there are; a crawler that reaches
others has no figures, and if it is ours, nothing has. Peers that are not faster than stock run in the
first round only, and not with --quick.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from crawlers import CRAWLERS, ROOT, STOCK, Crawler, Missing, Task
from environments import PLACE, all_versions
from measure import disk_bytes, machine, run_main
from results import Result, Site, markdown, plot_rows
from serve import POSTGRES_DOC, PYTHON_DOC, make_tiny_pages, nginx, redis_server
from svg import bars
from tree import run_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

# Some chapters of the documentation: enough for a ratio, small enough for stock Scrapy. No pattern
# may ask how a URL ends: LinkExtractor tries it with the fragment.
PART = r"/(howto/|tutorial/|c-api/|library/[a-m])"


@dataclass(frozen=True)
class Case:
    title: str
    root: Path
    addresses: int
    allow: str = ""


def run(crawler: Crawler, case: Case) -> Result:
    """One crawl, with a server of its own whose log says what it did."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        site = stack.enter_context(nginx(case.root, case.addresses))
        url, socket = "", None
        if crawler.needs_redis:
            try:
                url, socket = stack.enter_context(redis_server())
            except FileNotFoundError as error:
                raise Missing(str(error)) from None
        command = crawler.command(Task(site.seeds, case.allow, folder, url))
        is_ours = crawler.name.startswith("ours")
        ended = run_tree(command, ROOT if is_ours else folder, folder / "log")
        # wget: 8 says that some link led to an error.
        if ended.code and not (crawler.name.startswith("GNU") and ended.code == 8):
            raise Missing(_last_line(folder / "log") or f"it ended with {ended.code}")
        if socket is not None and _commands(socket) < 20:
            raise Missing("FRONTIER_BACKEND=redis is not built yet: it never asked the server")
        seen = site.seen()
        job = folder / "job"
        workers = [job, *job.glob("worker-*")]
        stored = {
            name: sum(disk_bytes(folder / name) for folder in workers)
            for name in ("frontier", "index", "warc")
        }
        secs = max(0.001, ended.ended_at - seen.first_at)
        span = seen.last_at - seen.first_at
        return Result(seen.pages, seen.requests, secs, ended.cpu_secs, ended.peak_mb, stored, span)


def _commands(socket: Path) -> int:
    from redis import Redis

    with Redis(unix_socket_path=str(socket)) as client:
        return int(client.info("stats")["total_commands_processed"])


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else ""


def compare(case: Case, crawlers: Sequence[Crawler], rounds: int) -> Site:
    """All rounds of one site; a crawler that cannot run is left out, with a sentence."""
    site = Site(case.title, case.addresses)
    for number in range(rounds):
        for crawler in crawlers:
            if crawler.name in site.left_out or (crawler.is_slow and number):
                continue
            say = f"  {case.title}, round {number + 1} of {rounds}: {crawler.name}"
            started = time.monotonic()
            try:
                result = run(crawler, case)
                check_same(crawler.name, result, site)
            except Missing as error:
                if crawler.name == STOCK:
                    raise SystemExit(f"{STOCK} failed: {error}") from None
                print(f"{say}: left out: {error}", file=sys.stderr, flush=True)
                site.left_out[crawler.name] = str(error)
                site.found.pop(crawler.name, None)
                continue
            took = time.monotonic() - started
            print(f"{say}: {took:.0f} s, {result.rate:.0f} pages/s", file=sys.stderr, flush=True)
            site.found.setdefault(crawler.name, []).append(result)
    return site


def check_same(name: str, result: Result, site: Site) -> None:
    """Every run of every crawler reaches the pages that stock Scrapy reached first."""
    wanted = site.found[STOCK][0].pages if site.found else result.pages
    if result.pages == wanted:
        return
    missed, more = sorted(wanted - result.pages), sorted(result.pages - wanted)
    sentence = (
        f"not the same pages: {name} missed {len(missed)} {missed[:3]} "
        f"and reached {len(more)} others {more[:3]}"
    )
    if name.startswith("ours") or name == STOCK:
        raise SystemExit(sentence)
    raise Missing(sentence)


def cases(options: argparse.Namespace, tiny: Path) -> list[Case]:
    if not PYTHON_DOC.is_dir():
        raise SystemExit(f"{PYTHON_DOC} is not there: apt-get install python3.11-doc")
    make_tiny_pages(tiny, 300 if options.quick else 500)
    if options.quick:
        found = [
            Case("python3.11-doc, some chapters", PYTHON_DOC, 1, PART),
            Case("tiny pages", tiny, 2),
        ]
    else:
        found = [
            # Enough pages that the end, when the index is written, weighs as in a longer crawl.
            Case("python3.11-doc", PYTHON_DOC, 6),
            Case("postgresql-doc-15", POSTGRES_DOC, 2),
            Case("tiny pages", tiny, 12),
        ]
    if not POSTGRES_DOC.is_dir():
        print("left out: apt-get install postgresql-doc-15", file=sys.stderr)
        found = [case for case in found if case.root != POSTGRES_DOC]
    return [
        replace(case, addresses=options.addresses or case.addresses)
        for case in found
        if options.site in case.title
    ]


def main() -> int:
    options = arguments()
    crawlers = [
        crawler
        for crawler in CRAWLERS
        if crawler.name == STOCK
        or (options.only in crawler.name and not (options.quick and crawler.is_slow))
    ]
    sites = []
    with tempfile.TemporaryDirectory() as folder:
        chosen = cases(options, Path(folder) / "tiny")
        if not chosen:
            raise SystemExit(f"no site is called {options.site!r}")
        for case in chosen:
            site = compare(case, crawlers, options.rounds)
            sites.append(site)
            print(f"\n### {site.heading}\n\n{site.table()}\n", flush=True)
    if options.quick:
        print("Small crawls: a process's start and end weigh much in them. For figures: make bench")
    where, what = machine(), all_versions()
    summary = {site.title: site.summary() for site in sites}
    PLACE.mkdir(exist_ok=True)
    told = {"machine": where, "versions": what, "sites": summary}
    # The lab plans by crawl.json: a part of the figures does not take the place of all.
    is_part = options.quick or options.site or options.only
    (PLACE / ("crawl-part.json" if is_part else "crawl.json")).write_text(
        json.dumps(told, indent=1), encoding="utf-8"
    )
    if options.write:
        text = markdown(where, what, options.rounds, sites)
        (options.write / "benchmarks.md").write_text(text, encoding="utf-8")
        picture = bars("Pages a second, times stock Scrapy", plot_rows(sites), where)
        (options.write / "benchmarks.svg").write_text(picture, encoding="utf-8")
        print(f"wrote benchmarks.md and benchmarks.svg into {options.write}", file=sys.stderr)
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small and once")
    parser.add_argument(
        *("--write", "-w"),
        nargs="?",
        type=Path,
        const=ROOT / "docs",
        metavar="FOLDER",
        help="write benchmarks.md and benchmarks.svg there; docs/ unless said otherwise",
    )
    parser.add_argument("--rounds", type=int, default=0, help="default 3, with --quick 1")
    parser.add_argument("--addresses", type=int, default=0, help="loopback addresses of each site")
    parser.add_argument("--site", default="", help="only the sites with this in their name")
    parser.add_argument(
        "--only", default="", help="only stock and crawlers with this in their name"
    )
    options = parser.parse_args()
    options.rounds = options.rounds or (1 if options.quick else 3)
    if options.rounds < 1 or not 0 <= options.addresses <= 500:
        parser.error("rounds must be 1 or more, addresses 1 to 500")
    return options


if __name__ == "__main__":
    run_main(main)
