"""Ratios to stock Scrapy in one run, far below what is usual: machines are noisy.

Each crawls the whole of Debian's python3.11-doc, stock Scrapy once and ours on three addresses: it
is so much faster that start and end of a process would weigh more in its time than in stock's.
Times run from a crawler's first request to the end of its process. Crawlers take turns; what is too
slow has two more rounds, stock Scrapy included, and the median of the ratios counts.
"""

from __future__ import annotations

import sys
from statistics import median

import pytest

from tests.programs import folder, program
from tests.suites import ROOT

ADDRESSES = 3
ROUNDS = 3
LEAST = {"ours, links only": 8.0, "ours, everything on": 4.0}


@pytest.mark.alone
def test_not_too_slow():
    program("nginx")
    pages = folder("/usr/share/doc/python3.11/html", "python3.11-doc")
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import crawl
        from crawlers import CRAWLERS, STOCK
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    by_name = {crawler.name: crawler for crawler in CRAWLERS}
    ratios: dict[str, list[float]] = {name: [] for name in LEAST}
    slow = list(LEAST)
    for _ in range(ROUNDS):
        usual = crawl.run(by_name[STOCK], crawl.Case("guard", pages, 1))
        for name in slow:
            result = crawl.run(by_name[name], crawl.Case("guard", pages, ADDRESSES))
            assert paths(result.pages) == paths(usual.pages), f"{name}: not the same pages"
            assert len(result.pages) == ADDRESSES * len(usual.pages), f"{name} missed pages"
            ratios[name].append(result.rate / usual.rate)
        slow = [name for name in slow if median(ratios[name]) < LEAST[name]]
        print(ratios)
        if not slow:
            break
    assert not slow, f"too slow beside stock Scrapy: {ratios}, wanted {LEAST}"


def paths(pages: frozenset[str]) -> set[str]:
    """Pages without their addresses."""
    return {page.partition("/")[2] for page in pages}
