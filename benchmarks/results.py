"""Figures of runs, as tables and for the plot."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Any

from crawlers import CRAWLERS, STOCK
from measure import table

HEAD = ["crawler", "x stock", "pages/s", "CPU ms/page", "CPU x less", "peak MB", "requests"]
Found = dict[str, list["Result"]]


@dataclass(frozen=True)
class Result:
    """One run: pages as the server saw them, seconds from its first request to its end."""

    pages: frozenset[str]
    requests: int
    secs: float
    cpu_secs: float
    peak_mb: float
    stored: dict[str, int] = field(default_factory=dict)  # bytes on disk by part of the job folder
    span: float = 0.0  # from the first request to the last answer, as the server saw it

    @property
    def rate(self) -> float:
        return len(self.pages) / self.secs

    @property
    def span_rate(self) -> float:
        return len(self.pages) / max(0.001, self.span)


def summarise(found: Found) -> dict[str, dict[str, Any]]:
    """Medians over the rounds; ratios are of the same round."""
    stock = found[STOCK]
    answer = {}
    for name, results in found.items():
        pages = len(results[0].pages)
        pairs = list(zip(results, stock, strict=True))
        answer[name] = {
            "pages": pages,
            "ratio": statistics.median(a.rate / b.rate for a, b in pairs),
            "best": max(a.rate for a in results),
            "rate": statistics.median(a.rate for a in results),
            "cpu_ms": statistics.median(a.cpu_secs for a in results) / pages * 1000,
            "cpu_ratio": statistics.median(b.cpu_secs / a.cpu_secs for a, b in pairs),
            "peak_mb": max(a.peak_mb for a in results),
            "requests": results[0].requests,
            "stored": results[0].stored,
        }
    return answer


def rows(found: Found) -> list[list[str]]:
    return [
        [
            name,
            f"{one['ratio']:.2f}",
            f"{one['rate']:.0f}",
            f"{one['cpu_ms']:.2f}",
            f"{one['cpu_ratio']:.1f}",
            f"{one['peak_mb']:.0f}",
            f"{one['requests']:,}",
        ]
        for name, one in summarise(found).items()
    ]


def heading(title: str, found: Found) -> str:
    return f"{title}: {len(found[STOCK][0].pages):,} pages, {len(found[STOCK])} rounds"


def print_table(title: str, addresses: int, found: Found) -> None:
    print(f"\n### {heading(title, found)}, {addresses} addresses\n")
    print(table(HEAD, rows(found)), "\n", flush=True)


def markdown(where: str, what: str, rounds: int, all_found: dict[str, Found]) -> str:
    """The page docs/benchmarks.md."""
    told = [
        "# Benchmarks",
        "",
        "Written by `make bench` (`python benchmarks/crawl.py --write`). Every crawler fetched the same pages",
        "from nginx on loopback, in a process of its own, the crawlers taking turns in every round; figures are",
        f"medians of {rounds} rounds, ratios are of the same round. Politeness and robots.txt are off for all.",
        "Time runs from a crawler's first request to the end of its process. CPU and peak memory are of its",
        "process tree, without nginx and Redis.",
        "",
        f"{where}; {what}.",
        "",
        "![Pages a second, times stock Scrapy](benchmarks.svg)",
    ]
    for title, found in all_found.items():
        told += ["", f"## {heading(title, found)}", "", table(HEAD, rows(found))]
    present = {name for found in all_found.values() for name in found}
    told += ["", "## What each does", "", "| crawler | does | does not |", "|---|---|---|"]
    told += [f"| {c.name} | {c.does} | {c.does_not} |" for c in CRAWLERS if c.name in present]
    absent = [c.name for c in CRAWLERS if c.name not in present]
    if absent:
        told += ["", f"Left out, because they could not run: {'; '.join(absent)}."]
    return "\n".join(told) + "\n"


def plot_rows(all_found: dict[str, Found]) -> dict[str, list[tuple[str, float, str]]]:
    """For each site: name, ratio, and what is written at the bar's end."""
    return {
        heading(title, found): [
            (name, one["ratio"], f"{one['ratio']:.1f} x  ·  {one['rate']:.0f} pages/s")
            for name, one in summarise(found).items()
        ]
        for title, found in all_found.items()
    }
