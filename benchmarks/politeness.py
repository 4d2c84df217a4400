"""How close a crawl of many held hosts comes to the rate that their delays allow.

    python benchmarks/politeness.py                300 hosts, 1 s delay; then one host, 0.2 s
    python benchmarks/politeness.py --hosts 50 --secs 10 --delay 0.5

Every host is a loopback address of one nginx with tiny pages. A host may get a page every delay plus
fetch time, so HOSTS / DELAY pages a second cannot be exceeded, only approached. The gaps are audited
from the server's log: not one may be shorter than the delay. The rate is taken after the first quarter,
when the crawl has found all hosts.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from crawlers import OFF, OURS, ROOT, scrapy
from measure import machine, run_main, table
from serve import make_tiny_pages, nginx
from tree import run_tree

from webcrawler.sampleweb.audit import audit
from webcrawler.sampleweb.logs import read_arrivals

HEAD = ["hosts", "delay", "allowed/s", "reached/s", "of it", "smallest gap", "median", "violations"]


def measure(hosts: int, delay: float, secs: float) -> list[str]:
    """One crawl of at most `secs` seconds; the row of the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_tiny_pages(folder / "pages", int(secs / delay) + 50)
        with nginx(folder / "pages", hosts, arrivals=True) as site:
            settings = [s for s in OURS if not s.startswith(("POLITENESS", "ROBOTSTXT"))]
            settings += [f"POLITENESS_MIN_DELAY={delay}", f"JOBDIR={folder / 'job'}"]
            settings += [f"{part}=0" for part in OFF]
            words = ["crawl", "site", "-a", f"seeds={','.join(site.seeds)}"]
            words += ["-a", f"max_seconds={secs:.0f}"]
            ended = run_tree(scrapy(words, tuple(settings)), ROOT, folder / "out", secs * 3 + 60)
            if ended.code:
                raise SystemExit(f"the crawl failed: {(folder / 'out').read_text()[-500:]}")
            with site.log.open("rb") as log:
                arrivals = [arrival for arrival in read_arrivals(log) if arrival is not None]
    found = audit(arrivals, delay)
    first = min(arrival.arrived_at for arrival in arrivals)
    last = max(arrival.arrived_at for arrival in arrivals)
    rate = rate_of([arrival.arrived_at for arrival in arrivals], first + (last - first) / 4, delay)
    allowed = hosts / delay
    return [
        str(hosts),
        f"{delay:g} s",
        f"{allowed:.0f}",
        f"{rate:.1f}",
        f"{rate / allowed:.1%}",
        f"{found.smallest_gap or 0:.3f} s",
        f"{found.median_gap or 0:.3f} s",
        str(len(found.violations)),
    ]


def rate_of(times: list[float], since: float, delay: float) -> float:
    """Fetches a second in a whole number of delays: no polite crawl comes to more than is allowed."""
    secs = int((max(times) - since) / delay) * delay
    return sum(since <= at < since + secs for at in times) / secs if secs else 0.0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hosts", type=int, default=300)
    parser.add_argument("--delay", type=float, default=1.0)
    parser.add_argument("--secs", type=float, default=40.0)
    options = parser.parse_args()
    if not (1 <= options.hosts <= 1000 and options.delay > 0 and options.secs >= 5):
        parser.error("hosts must be 1 to 1000, delay above 0, secs 5 or more")
    rows = []
    for hosts, delay in ((options.hosts, options.delay), (1, 0.2)):
        print(f"  hosts: {hosts}, delay {delay:g} s: {options.secs:.0f} s", file=sys.stderr)
        rows.append(measure(hosts, delay, options.secs))
    print(f"{machine()}\n\n{table(HEAD, rows)}")
    return 1 if any(row[-1] != "0" for row in rows) else 0


if __name__ == "__main__":
    run_main(main)
