"""Figures of runs, as tables and for the plot."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Any

from crawlers import CRAWLERS, STOCK
from measure import table

HEAD = ["crawler", "x stock", "pages/s", "CPU ms/page", "CPU x less", "peak MB", "requests", "runs"]


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


@dataclass
class Site:
    """What was found of one site: every crawler's runs, and why some have none."""

    title: str
    addresses: int
    found: dict[str, list[Result]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def heading(self) -> str:
        pages = len(self.found[STOCK][0].pages)
        addresses = f"{self.addresses} addresses" if self.addresses > 1 else "one address"
        return f"{self.title}: {pages:,} pages on {addresses}"

    def summary(self) -> dict[str, dict[str, Any]]:
        """Medians over the rounds; ratios are of the same round."""
        stock = self.found[STOCK]
        answer = {}
        for name, results in self.found.items():
            pages = len(results[0].pages)
            pairs = list(zip(results, stock, strict=False))  # slow peers run in the first rounds
            answer[name] = {
                "pages": pages,
                "ratio": statistics.median(a.rate / b.rate for a, b in pairs),
                "best": max(a.rate for a in results),
                "rate": statistics.median(a.rate for a in results),
                "cpu_ms": statistics.median(a.cpu_secs for a in results) / pages * 1000,
                "cpu_ratio": statistics.median(b.cpu_secs / a.cpu_secs for a, b in pairs),
                "peak_mb": max(a.peak_mb for a in results),
                "requests": results[0].requests,
                "runs": len(results),
                "stored": results[0].stored,
            }
        return answer

    def table(self) -> str:
        rows = [
            [
                name,
                f"{one['ratio']:.2f}",
                f"{one['rate']:,.0f}",
                f"{one['cpu_ms']:.2f}",
                f"{one['cpu_ratio']:.1f}",
                f"{one['peak_mb']:.0f}",
                f"{one['requests']:,}",
                str(one["runs"]),
            ]
            for name, one in self.summary().items()
        ]
        absent = [f"\nLeft out: {name}: {why}." for name, why in self.left_out.items()]
        return "\n".join([table(HEAD, rows), *absent])


def markdown(where: str, what: str, rounds: int, sites: list[Site]) -> str:
    """The page docs/benchmarks.md."""
    told = [
        "# Benchmarks",
        "",
        "Written by `make bench` (`python benchmarks/crawl.py --write`). Every crawler fetched the same pages",
        "from nginx on loopback, in a process of its own; the crawlers took turns in every round, slow peers",
        f"in the first of {rounds} only (`runs`). Figures are medians, ratios are of the same round, the peak is the",
        "highest. Delays and robots.txt are off for all, and nothing but errors is logged. Time runs from a crawler's",
        "first request to the end of its process. CPU and peak memory are of its process tree, without nginx and Redis.",
        "That all reached the same pages was checked by the server's log; `requests` counts what else they asked for.",
        "",
        f"- {where}",
        f"- {what}",
        "",
        "![Pages a second, times stock Scrapy](benchmarks.svg)",
    ]
    for site in sites:
        told += ["", f"## {site.heading}", "", site.table()]
    present = {name for site in sites for name in site.found}
    told += ["", "## What each does", "", "| crawler | does | does not | requests at once |"]
    told += ["|---|---|---|---|"]
    told += [
        f"| {c.name} | {c.does} | {c.does_not} | {c.at_once} |"
        for c in CRAWLERS
        if c.name in present
    ]
    return "\n".join(told) + "\n"


def plot_rows(sites: list[Site]) -> dict[str, list[tuple[str, float, str]]]:
    """For each site: name, ratio, and what is written at the bar's end."""
    return {
        site.heading: [
            (name, one["ratio"], f"{one['ratio']:.1f} x  ·  {one['rate']:,.0f} pages/s")
            for name, one in site.summary().items()
        ]
        for site in sites
    }
