"""Pages a second, side by side with other crawlers, on the same pages in the same run.

    python benchmarks/crawl.py            three sites, three rounds, all crawlers: about an hour
    python benchmarks/crawl.py --quick    a part of python3.11-doc and few tiny pages, once
    python benchmarks/crawl.py --guard    --quick, and fails below 8 x (links only) or 4 x (all on)
    python benchmarks/crawl.py --write    also writes docs/benchmarks.md and docs/benchmarks.svg

nginx serves Debian's python3.11-doc and postgresql-doc-15 and tiny pages on loopback addresses. Each
crawler runs in a process of its own, one after the other in every round. Politeness and robots.txt
are off for all. What a crawler reached, and when it began, is read from the server's log: time runs
from its first request to the end of its process. CPU and peak memory are of its process tree, without
nginx and Redis. All must reach the same pages, else there are no figures.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from crawlers import CRAWLERS, ROOT, STOCK, Crawler, Missing, Task
from environments import PLACE
from measure import disk_bytes, machine, versions
from results import Result, markdown, plot_rows, print_table, summarise
from serve import POSTGRES_DOC, PYTHON_DOC, make_tiny_pages, nginx, redis_server
from svg import bars
from tree import run_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

# Some chapters of the documentation: enough for a ratio, small enough for stock Scrapy.
PART = r"/(index\.html$|howto/|tutorial/|c-api/)"


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


def compare(case: Case, crawlers: Sequence[Crawler], rounds: int) -> dict[str, list[Result]]:
    """All rounds of one site; a crawler that cannot run is left out, with a sentence."""
    found: dict[str, list[Result]] = {}
    left_out: set[str] = set()
    for number in range(rounds):
        for crawler in crawlers:
            if crawler.name in left_out:
                continue
            say = f"  {case.title}, round {number + 1} of {rounds}: {crawler.name}"
            started = time.monotonic()
            try:
                result = run(crawler, case)
            except Missing as error:
                if crawler.name == STOCK:
                    raise SystemExit(f"{STOCK} failed: {error}") from None
                print(f"{say}: left out: {error}", file=sys.stderr, flush=True)
                left_out.add(crawler.name)
                found.pop(crawler.name, None)
                continue
            took = time.monotonic() - started
            print(f"{say}: {took:.0f} s, {result.rate:.0f} pages/s", file=sys.stderr, flush=True)
            found.setdefault(crawler.name, []).append(result)
    check_same(found)
    return found


def check_same(found: dict[str, list[Result]]) -> None:
    """Every run of every crawler reached the pages that stock Scrapy reached first."""
    wanted = found[STOCK][0].pages
    for name, results in found.items():
        for result in results:
            if result.pages != wanted:
                missed, more = sorted(wanted - result.pages), sorted(result.pages - wanted)
                raise SystemExit(
                    f"not the same pages: {name} missed {len(missed)} {missed[:3]} "
                    f"and reached {len(more)} others {more[:3]}"
                )


def cases(options: argparse.Namespace, tiny: Path) -> list[Case]:
    if not PYTHON_DOC.is_dir():
        raise SystemExit(f"{PYTHON_DOC} is not there: apt-get install python3.11-doc")
    if options.quick:
        make_tiny_pages(tiny, 300)
        some = options.addresses or 2
        return [
            Case("python3.11-doc (three chapters)", PYTHON_DOC, some, PART),
            Case("tiny pages", tiny, some),
        ]
    make_tiny_pages(tiny, 500)
    found = [Case("python3.11-doc", PYTHON_DOC, options.addresses or 6)]
    if POSTGRES_DOC.is_dir():
        found.append(Case("postgresql-doc-15", POSTGRES_DOC, options.addresses or 4))
    else:
        print("postgresql-doc-15 is not installed: left out", file=sys.stderr)
    found.append(Case("tiny pages", tiny, options.addresses or 12))
    return [case for case in found if not options.site or options.site in case.title]


def main() -> int:
    options = arguments()
    crawlers = [
        c for c in CRAWLERS if c.name == STOCK or not options.only or options.only in c.name
    ]
    all_found = {}
    with tempfile.TemporaryDirectory() as folder:
        chosen = cases(options, Path(folder) / "tiny")
        if not chosen:
            raise SystemExit(f"no site is called {options.site!r}")
        for case in chosen:
            found = compare(case, crawlers, options.rounds)
            all_found[case.title] = found
            print_table(case.title, case.addresses, found)
    where, what = machine(), versions("scrapy", "scrapy-redis", "redis", "aiohttp", "rocksdict")
    summary = {title: summarise(found) for title, found in all_found.items()}
    PLACE.mkdir(exist_ok=True)
    told = {"machine": where, "versions": what, "sites": summary}
    (PLACE / "crawl.json").write_text(json.dumps(told, indent=1), encoding="utf-8")
    if options.write:
        text = markdown(where, what, options.rounds, all_found)
        (ROOT / "docs/benchmarks.md").write_text(text, encoding="utf-8")
        picture = bars("Pages a second, times stock Scrapy", plot_rows(all_found), where)
        (ROOT / "docs/benchmarks.svg").write_text(picture, encoding="utf-8")
        print("wrote docs/benchmarks.md and docs/benchmarks.svg", file=sys.stderr)
    if options.guard:
        first = next(iter(summary.values()))
        if first["ours, links only"]["ratio"] < 8 or first["ours, everything on"]["ratio"] < 4:
            print("too slow: links only must be 8 x, everything on 4 x stock", file=sys.stderr)
            return 1
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small and once")
    parser.add_argument("--guard", action="store_true", help="--quick, and fail when too slow")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md and .svg")
    parser.add_argument("--rounds", type=int, default=0, help="default 3, with --quick 1")
    parser.add_argument("--addresses", type=int, default=0, help="loopback addresses of each site")
    parser.add_argument("--site", default="", help="only the sites with this in their name")
    parser.add_argument(
        "--only", default="", help="only stock and crawlers with this in their name"
    )
    options = parser.parse_args()
    options.quick = options.quick or options.guard
    options.rounds = options.rounds or (1 if options.quick else 3)
    if options.rounds < 1 or not 0 <= options.addresses <= 500:
        parser.error("rounds must be 1 or more, addresses 1 to 500")
    return options


if __name__ == "__main__":
    sys.exit(main())
