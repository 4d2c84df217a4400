"""How many workers and how much Redis crawls of several sizes need.

    python -m webcrawler.lab.capacity

Computed from what the benchmarks measured on this machine and left in .bench/; a model, not a
measurement. Network, the web's own slowness and replicas of Redis are not in it.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawler.lab.planning import DAYS, LOAD, PAGES, RedisCosts, needs, read_costs, redis_need

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZES = (10_000_000, 1_000_000_000, PAGES)
WAYS = ("ours on Redis, links only", "ours on Redis, everything on")
_MAKE = {
    "crawl.json": "make bench (python benchmarks/crawl.py, whole)",
    "shared_memory.json": "python benchmarks/shared_memory.py",
    "workers.json": "python benchmarks/workers.py",
}


class NotMeasured(Exception):
    """An input is missing; the sentence says how to make it."""


def read(folder: Path, name: str) -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise NotMeasured(
            f"{folder / name} is not there or no JSON: it is written by {_MAKE[name]}"
        ) from None
    return told


def read_redis(folder: Path) -> RedisCosts:
    memory, workers = read(folder, "shared_memory.json"), read(folder, "workers.json")
    try:
        rounds = workers["rounds"]["one worker"]
        cpu = sorted(each["redis_cpu"] for each in rounds)[len(rounds) // 2]
        sizes = {name: memory[name] for name in ("url", "waiting", "known", "ended", "tables")}
        return RedisCosts(**sizes, cpu_ms=cpu)
    except (LookupError, TypeError) as error:
        ways = " and ".join(_MAKE[name] for name in ("shared_memory.json", "workers.json"))
        raise NotMeasured(f"{folder} holds no figures of Redis ({error}): {ways}") from None


def plan(folder: Path, days: float, known_per_page: float) -> list[dict[str, Any]]:
    """A row for every size and way of crawling."""
    try:
        read(folder, "crawl.json")
        measured = read_costs(folder / "crawl.json")
    except ValueError as error:
        raise NotMeasured(f"{error}: {_MAKE['crawl.json']}") from None
    costs = {name: cost for name, cost in measured.items() if name in WAYS}
    if set(costs) != set(WAYS):
        lacking = " and ".join(repr(way) for way in WAYS if way not in costs)
        raise NotMeasured(
            f"{folder / 'crawl.json'} has no {lacking}: it is written by {_MAKE['crawl.json']}"
        )
    redis = read_redis(folder)
    rows = []
    for pages in SIZES:
        shape = redis_need(redis, pages, days, known_per_page)
        for need in needs(costs, pages, days):
            is_all = need.name == WAYS[1]
            rows.append(
                {
                    "pages": pages,
                    "pages_per_second": pages / (days * 86_400),
                    "way": need.name.removeprefix("ours on Redis, "),
                    "rate": need.rate,
                    "workers": need.workers,
                    "worker_memory_gb": need.memory_gb,
                    "disk_tb": sum(need.stored_tb.values()),
                    "redis_gb": shape.memory_gb + (shape.tables_gb if is_all else 0.0),
                    "redis_cores": shape.cores,
                    "known": shape.known,
                    "FRONTIER_PARTITIONS": shape.partitions,
                    "FRONTIER_SEEN_BUCKETS": shape.buckets,
                }
            )
    return rows


def show(rows: list[dict[str, Any]], folder: Path, options: argparse.Namespace) -> None:
    print(
        f"A model: pages crawled in {options.days:g} days, {options.known_per_page:g} URLs known"
        f" for every page (--known-per-page), workers and Redis loaded to {LOAD:.0%}. Redis's CPU"
        f" is that of tiny pages with few links; its memory is without replicas and spare room."
    )
    for name in _MAKE:
        print(f"{name} was measured {read(folder, name)['machine']}.")
    print()
    head = "| pages | a second | way | pages/s of a worker | workers | their memory, GB |"
    print(f"{head} their disk, TB | Redis, GB | Redis, cores | partitions x buckets |")
    print("|--:|--:|---|" + "--:|" * 7)
    for row in rows:
        print(
            f"| {row['pages']:,} | {row['pages_per_second']:,.0f} | {row['way']} |"
            f" {row['rate']:.0f} | {row['workers']:,} | {row['worker_memory_gb']:,.1f} |"
            f" {row['disk_tb']:,.2f} | {row['redis_gb']:,.1f} |"
            f" {math.ceil(row['redis_cores']):,} |"
            f" {row['FRONTIER_PARTITIONS']:,} x {row['FRONTIER_SEEN_BUCKETS']:,} |"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 2 and one sentence where something was not measured."""
    parser = argparse.ArgumentParser(prog="python -m webcrawler.lab.capacity", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path(".bench"), help="of the measurements")
    parser.add_argument("--days", type=float, default=DAYS, help="in which all pages are crawled")
    parser.add_argument(
        "--known-per-page", type=float, default=4.0, help="URLs known, an assumption"
    )
    parser.add_argument("--json", action="store_true", help="the rows as JSON")
    options = parser.parse_args(arguments)
    if not (0 < options.days < math.inf and 1 <= options.known_per_page < math.inf):
        parser.error("days must be more than 0, known URLs at least 1 for every page")
    try:
        rows = plan(options.folder, options.days, options.known_per_page)
    except NotMeasured as error:
        print(error, file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(rows))
    else:
        show(rows, options.folder, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
