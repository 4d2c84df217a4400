"""The command: crawl a simulated web, and say what a very large crawl would need."""

from __future__ import annotations

import argparse
import gc
import json
import math
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawler.frontier.backends import SIDE_TABLES
from webcrawler.frontier.backends.embedded import EmbeddedStore
from webcrawler.frontier.backends.kv import KV, DictKV
from webcrawler.frontier.backends.layout import OWN_TABLES
from webcrawler.lab.picture import sparkline, svg
from webcrawler.lab.planning import DAYS, LOAD, PAGES, frontier_workers, hosts_at_once, needs
from webcrawler.lab.planning import read_costs as read
from webcrawler.lab.simulation import Outcome, Simulation
from webcrawler.lab.web import SimulatedWeb

if TYPE_CHECKING:
    from collections.abc import Sequence

_DAY = 86_400.0
_MOST_HOSTS = 100_000_000  # some bytes of memory each


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, and give the exit code: 0 polite, 1 not, 2 what was asked for makes no sense."""
    options = _parser().parse_args(arguments)
    try:
        _check(options)
        costs = read(options.costs) if options.costs else {}
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    # As in a crawl: a page is many short-lived objects without cycles.
    gc.set_threshold(20_000, 20, 20)
    web = SimulatedWeb(options.seed, options.hosts, options.largest, news=options.news)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lab-")))
        simulation = Simulation(
            web,
            EmbeddedStore(_engine(options.backend, folder)),
            concurrency=options.concurrency,
            minimum=options.min_delay,
            seed=options.seed,
        )
        is_terminal = sys.stderr.isatty()

        def tell(now: float, outcome: Outcome) -> None:
            line = (
                f"  day {now / _DAY:6.2f}  {outcome.hosts:>9,} hosts  {outcome.pages:>10,} pages"
                f"  {outcome.fetches / outcome.wall_secs:>7,.0f} fetches/s here"
                f"  {outcome.waiting:>9,} waiting  {outcome.violations} violations"
                f"  {memory_mb('VmRSS'):.0f} MB"
            )
            end = "" if is_terminal else "\n"
            print(f"\r{line}" if is_terminal else line, end=end, file=sys.stderr, flush=True)

        try:
            outcome = simulation.run(
                options.days * _DAY,
                options.max_pages,
                tell=tell,
                tell_every=1.0 if is_terminal else 15.0,
            )
        except KeyboardInterrupt:
            print("\nstopped", file=sys.stderr)
            return 130
        if is_terminal:
            print(file=sys.stderr)
        simulation.frontier.close(outcome.seconds)
        disk = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    told = _told(options, outcome, disk, costs)
    if options.svg:
        title = f"A simulated crawl: {outcome.hosts:,} hosts, {options.days:g} days"
        foot = (
            f"{outcome.pages:,} pages, {outcome.news:,} of them published meanwhile; "
            f"{outcome.violations} violations of politeness in {outcome.fetches:,} fetches; "
            f"seed {options.seed}, {outcome.wall_secs:.0f} s of real time"
        )
        options.svg.write_text(svg(title, outcome, options.days, foot), encoding="utf-8")
    if options.json:
        print(json.dumps(told))
    else:
        _print(told, outcome)
    return 1 if outcome.violations else 0


def _check(options: argparse.Namespace) -> None:
    """ValueError, with a sentence, for what makes no sense: before anything is simulated."""
    for name in ("hosts", "largest", "days", "concurrency"):
        if not 0 < getattr(options, name) < math.inf:
            raise ValueError(f"--{name} must be more than 0, not {getattr(options, name)}")
    for name in ("news", "max_pages", "min_delay"):
        if not 0 <= getattr(options, name) < math.inf:
            shown = name.replace("_", "-")
            raise ValueError(f"--{shown} must be 0 or more, not {getattr(options, name)}")
    if options.hosts > _MOST_HOSTS:
        raise ValueError(f"--hosts must be {_MOST_HOSTS:,} at most, not {options.hosts:,}")
    if options.svg and not options.svg.resolve().parent.is_dir():
        raise ValueError(f"--svg {options.svg}: there is no such folder")


def memory_mb(field: str) -> float:
    """Resident memory of this process now (VmRSS), or its peak (VmHWM); 0 if nobody says."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(x.split()[1]) / 1024 for x in lines if x.startswith(field + ":")), 0.0)


def _engine(backend: str, folder: Path) -> KV:
    if backend == "memory":
        return DictKV()
    from webcrawler.frontier.backends.rocks import RocksKV

    # Nobody goes on with a simulation after a power cut: nothing is to wait for the disk.
    return RocksKV(folder / "frontier", (*OWN_TABLES, *SIDE_TABLES), sync_secs=0)


def _told(
    options: argparse.Namespace, outcome: Outcome, disk: int, costs: dict[str, Any]
) -> dict[str, Any]:
    return {
        "seed": options.seed,
        "backend": options.backend,
        **asdict(outcome),
        "pages_a_second": outcome.pages / max(1e-9, outcome.seconds),
        "peak_mb": memory_mb("VmHWM"),
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
    spare = f", closest kept by {outcome.smallest_spare:.6f} s" if outcome.fetches > 1 else ""
    disk = f", {told['disk_a_url']:.0f} bytes of store a URL" if told["disk_a_url"] else ""
    store = f" and {plan['frontier_tb']:.1f} TB of frontier" if plan["frontier_tb"] else ""
    news = (
        f"news         {outcome.news:,} pages were published meanwhile and"
        f" {outcome.news_fetched:,} fetched,"
        f" {outcome.news_wait_secs / max(1, outcome.news_fetched):.1f} s after a feed told of"
        f" them on average, {outcome.news_longest_secs:,.0f} s at most\n"
    )
    print(
        f"{outcome.pages:,} pages of {outcome.hosts:,} hosts in {outcome.seconds / _DAY:.2f}"
        f" simulated days: {end}\n"
        f"here         {outcome.wall_secs:.0f} s ({outcome.cpu_secs:.0f} s of CPU,"
        f" {outcome.frontier_secs:.0f} of them the frontier's):"
        f" {outcome.fetches / max(1e-9, outcome.wall_secs):,.0f} fetches a second\n"
        f"fetches      {outcome.fetches:,}, robots.txt and retries among them;"
        f" {outcome.failed:,} URLs failed\n"
        f"throughput   {told['pages_a_second']:.2f} pages/s over all simulated time,"
        f" {max(outcome.buckets) / outcome.bucket_secs:.0f} in the busiest"
        f" {outcome.bucket_secs / 3600:.1f} h\n"
        f"             {sparkline(outcome.buckets)}\n"
        f"waiting      {max(outcome.waits, default=0):,} URLs at most, {outcome.waiting:,} of"
        f" {outcome.known:,} known at the end;"
        f" {outcome.idle_secs / max(1e-9, outcome.seconds):.1%} of the time nothing was in flight\n"
        f"{news}"
        f"politeness   {outcome.violations} violations in {outcome.fetches:,} fetches{spare}\n"
        f"memory       {told['peak_mb']:.0f} MB at peak{disk}\n"
        f"digest       {outcome.digest} (seed {told['seed']})\n\n"
        f"A model, not a measurement: {plan['pages']:,} pages in {plan['days']} days are"
        f" {plan['pages_a_second']:,.0f} pages/s.\nThey need {plan['hosts_at_once']:,.0f}"
        f" hosts open for fetching at any time,"
        f" {plan['frontier_cores']:.1f} cores for the frontier{store},\n"
        f"by what it cost here for each page."
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
    parser = argparse.ArgumentParser(
        prog="python -m webcrawler.lab",
        description="Crawl a simulated web by a simulated clock with the real frontier, and say"
        " what 15 billion pages in four weeks would need.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--seed", type=int, default=1, help="the number it is all made from")
    parser.add_argument("--hosts", type=int, default=1_000_000, help="of the web")
    parser.add_argument("--largest", type=int, default=30_000, help="pages of the largest host")
    parser.add_argument("--news", type=float, default=500.0, help="pages published in an hour")
    parser.add_argument("--days", type=float, default=30.0, help="simulated time at most")
    parser.add_argument("--max-pages", type=int, default=0, help="0: no limit")
    parser.add_argument("--concurrency", type=int, default=1024, help="fetches in flight at most")
    parser.add_argument("--min-delay", type=float, default=1.0, help="seconds for a host")
    parser.add_argument("--backend", choices=("memory", "rocks"), default="rocks", help="store")
    parser.add_argument("--costs", type=Path, help="JSON written by benchmarks/crawl.py")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw throughput over time")
    parser.add_argument("--json", action="store_true", help="everything as one JSON object")
    return parser


if __name__ == "__main__":
    sys.exit(main())
