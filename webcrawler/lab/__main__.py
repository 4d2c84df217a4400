"""The command: crawl a simulated web, and say what a very large crawl would need."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawler.frontier.backends import SIDE_TABLES
from webcrawler.frontier.backends.embedded import OWN_TABLES, EmbeddedStore
from webcrawler.frontier.backends.kv import KV, DictKV
from webcrawler.lab.picture import sparkline, svg
from webcrawler.lab.planning import DAYS, LOAD, PAGES, frontier_workers, hosts_at_once, needs
from webcrawler.lab.planning import read_costs as read
from webcrawler.lab.simulation import Outcome, Simulation
from webcrawler.lab.web import SimulatedWeb

if TYPE_CHECKING:
    from collections.abc import Sequence

_DAY = 86_400.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, and give the exit code: 0 polite, 1 not, 2 what was asked for makes no sense."""
    options = _parser().parse_args(arguments)
    for name in ("hosts", "largest", "days", "concurrency"):
        if getattr(options, name) <= 0:
            print(f"--{name} must be more than 0, not {getattr(options, name)}", file=sys.stderr)
            return 2
    try:
        costs = read(options.costs) if options.costs else {}
    except (OSError, ValueError, KeyError, StopIteration) as error:
        print(f"cannot read costs from {options.costs}: {error!r}", file=sys.stderr)
        return 2
    web = SimulatedWeb(options.seed, options.hosts, options.largest)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lab-")))
        store = EmbeddedStore(_engine(options.backend, folder))
        simulation = Simulation(
            web,
            store,
            concurrency=options.concurrency,
            minimum=options.min_delay,
            seed=options.seed,
        )

        def tell(now: float, outcome: Outcome) -> None:
            print(
                f"\r  day {now / _DAY:6.2f}  {outcome.pages:>10,} pages  "
                f"{store.counts.waiting:>10,} waiting  {outcome.violations} violations",
                end="",
                file=sys.stderr,
                flush=True,
            )

        try:
            outcome = simulation.run(options.days * _DAY, options.max_pages, tell=tell)
        except KeyboardInterrupt:
            print("\nstopped", file=sys.stderr)
            return 130
        print(file=sys.stderr)
        simulation.frontier.close(outcome.seconds)
        disk = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    told = _told(options, outcome, disk, costs)
    if options.svg:
        rates = [count / outcome.bucket_secs for count in outcome.buckets]
        title = f"Simulated crawl: {options.hosts:,} hosts, seed {options.seed}"
        foot = f"pages a second; {outcome.pages:,} pages, {outcome.violations} violations"
        Path(options.svg).write_text(svg(title, rates, options.days, foot), encoding="utf-8")
    if options.json:
        print(json.dumps(told))
    else:
        _print(told, outcome)
    return 1 if outcome.violations else 0


def _engine(backend: str, folder: Path) -> KV:
    if backend == "memory":
        return DictKV()
    from webcrawler.frontier.backends.rocks import RocksKV

    return RocksKV(folder / "frontier", (*OWN_TABLES, *SIDE_TABLES))


def _told(
    options: argparse.Namespace, outcome: Outcome, disk: int, costs: dict[str, Any]
) -> dict[str, Any]:
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    peak = next((int(x.split()[1]) / 1024 for x in lines if x.startswith("VmHWM:")), 0.0)
    return {
        "seed": options.seed,
        "backend": options.backend,
        **asdict(outcome),
        "pages_a_second": outcome.pages / max(1e-9, outcome.seconds),
        "peak_mb": peak,
        "disk_a_url": disk / max(1, outcome.known),
        "plan": {
            "pages": PAGES,
            "days": DAYS,
            "pages_a_second": PAGES / DAYS / _DAY,
            "hosts_at_once": hosts_at_once(outcome),
            "frontier_cores": frontier_workers(outcome),
            "frontier_tb": disk / max(1, outcome.pages) * PAGES / 1e12,
            "needs": [asdict(need) for need in needs(costs)],
        },
    }


def _print(told: dict[str, Any], outcome: Outcome) -> None:
    plan = told["plan"]
    end = "everything was crawled" if outcome.is_finished else "stopped at its limit"
    print(
        f"{outcome.pages:,} pages of {outcome.hosts:,} hosts in {outcome.seconds / _DAY:.2f}"
        f" simulated days, {outcome.wall_secs:.0f} s here ({end}); {outcome.failed:,} failed\n"
        f"throughput   {told['pages_a_second']:.2f} pages/s over all\n"
        f"             {sparkline(outcome.buckets)}\n"
        f"waiting      {outcome.waiting:,} of {outcome.known:,} known URLs left;"
        f" {outcome.idle_secs / max(1e-9, outcome.seconds):.1%} of the time nothing was in flight\n"
        f"politeness   {outcome.violations} violations in {outcome.fetches:,} fetches,"
        f" closest kept by {outcome.smallest_spare:.6f} s\n"
        f"memory       {told['peak_mb']:.0f} MB at peak,"
        f" {told['disk_a_url']:.0f} bytes of store a URL\n"
        f"digest       {outcome.digest} (seed {told['seed']})\n\n"
        f"A model, not a measurement: {plan['pages']:,} pages in {plan['days']} days are"
        f" {plan['pages_a_second']:,.0f} pages/s. They need {plan['hosts_at_once']:,.0f}"
        f" hosts open for fetching at any time,\n"
        f"{plan['frontier_cores']:.1f} cores for the frontier and"
        f" {plan['frontier_tb']:.1f} TB of frontier, by what it cost here for each page."
    )
    if not plan["needs"]:
        print("For whole workers give measured costs: make bench, then --costs .bench/crawl.json")
        return
    print(f"By measured costs, each worker loaded to {LOAD:.0%}:\n")
    print("| way of crawling | pages/s a worker | workers | cores | memory GB | store TB |")
    print("|---|--:|--:|--:|--:|---|")
    for need in plan["needs"]:
        parts = ", ".join(f"{part} {size:.1f}" for part, size in need["stored_tb"].items())
        print(
            f"| {need['name']} | {need['rate']:.0f} | {need['workers']:,} | {need['cores']:,.0f} |"
            f" {need['memory_gb']:,.0f} | {parts} |"
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m webcrawler.lab", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the number it is all made from")
    parser.add_argument("--hosts", type=int, default=1_000_000)
    parser.add_argument("--largest", type=int, default=100_000, help="pages of the largest host")
    parser.add_argument("--days", type=float, default=28.0, help="simulated time at most")
    parser.add_argument("--max-pages", type=int, default=0, help="stop after so many; 0: no limit")
    parser.add_argument("--concurrency", type=int, default=1024, help="fetches in flight at most")
    parser.add_argument("--min-delay", type=float, default=1.0, help="seconds for a host")
    parser.add_argument("--backend", choices=("memory", "rocks"), default="rocks")
    parser.add_argument("--costs", type=Path, help="JSON written by benchmarks/crawl.py")
    parser.add_argument("--svg", metavar="FILE", help="write throughput over time as a picture")
    parser.add_argument("--json", action="store_true", help="everything as one JSON object")
    return parser


if __name__ == "__main__":
    sys.exit(main())
