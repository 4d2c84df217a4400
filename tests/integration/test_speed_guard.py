"""Ratios to stock Scrapy in one run, far below what is usual: machines are noisy.

Each crawls Debian's python3.11-doc on two addresses; stock Scrapy is stopped after some hundred
pages, for its rate is the same from the beginning. Times run from a crawler's first request to the
end of its process. What is too slow has one more round, stock Scrapy included.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from tests.programs import folder, program
from tests.suites import ROOT

STOCK_PAGES = 250
LEAST = {"ours, links only": 8.0, "ours, everything on": 4.0}


@pytest.mark.alone
def test_not_too_slow():
    program("nginx")
    pages = folder("/usr/share/doc/python3.11/html", "python3.11-doc")
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import crawl
        from crawlers import CRAWLERS, STOCK, stock
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    case = crawl.Case("guard", pages, 2)
    by_name = {crawler.name: crawler for crawler in CRAWLERS}
    some = replace(by_name[STOCK], command=stock(f"CLOSESPIDER_PAGECOUNT={STOCK_PAGES}"))
    ratios: dict[str, float] = {}
    for _ in range(2):
        slow = [name for name, least in LEAST.items() if ratios.get(name, 0.0) < least]
        if slow:
            usual = crawl.run(some, case)
        for name in slow:
            result = crawl.run(by_name[name], case)
            assert result.pages >= usual.pages, f"{name} missed pages"
            ratios[name] = result.rate / usual.rate
    slow = [name for name, least in LEAST.items() if ratios[name] < least]
    print(ratios)
    assert not slow, f"too slow beside stock Scrapy: {ratios}, wanted {LEAST}"
