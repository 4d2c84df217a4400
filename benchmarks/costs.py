"""Where a page's time goes, as Markdown: parts switched off one by one, and a sampling profiler.

    python benchmarks/costs.py               python3.11-doc on two addresses, two rounds
    python benchmarks/costs.py --quick       some chapters, once
    python benchmarks/costs.py --no-profile  without py-spy (it is installed into .bench/)

A part's cost is the CPU of a crawl with everything on less that of the same crawl without it, for each
page; start and end of the process are in both. Samples of the crawl's main thread are sorted by the first
file, from the top of the stack down, that belongs to a part; other threads are parts of their own; imports
are left out.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

import crawl
from crawlers import CRAWLERS, OFF, ROOT, Crawler, Task, ours
from environments import py_spy
from measure import machine, run_main, table
from serve import PYTHON_DOC, nginx
from tree import run_tree

PARTS = {
    "archive (WARC)": "ARCHIVE_ENABLED",
    "index": "INDEX_ENABLED",
    "near-duplicates (text, sketch)": "NEARDUP_ENABLED",
    "anchor texts, link graph": "ANCHORS_ENABLED",
}
# The first that is found in a frame's file or function, from the top of the stack down, names it.
PLACES = (
    ("archive", ("webcrawler/archive", "pipelines/archive")),
    ("index", ("webcrawler/index", "pipelines/index", "pipelines/anchors")),
    ("sketch", ("webcrawler/dedup", "pipelines/neardup", "pipelines/content")),
    ("text", ("html_text", "markup_text", "references", "documents/text", "documents/language")),
    ("links", ("html_elements", "linker.py", "documents/pieces")),
    ("parse", ("webcrawler/documents", "robots_meta", "webcrawler/robots/")),
    ("URL", ("webcrawler/urls",)),
    ("seen", ("frontier/seen", "_unknown")),
    ("frontier", ("webcrawler/frontier",)),
    ("download", ("webcrawler/download", "aiohttp", "webcrawler/addresses")),
    ("our adapter", ("webcrawler/",)),
    ("engine (Scrapy, Twisted, asyncio)", ("scrapy/", "twisted/", "asyncio/", "uvloop")),
)


def switched_off(case: crawl.Case, rounds: int) -> str:
    """CPU ms a page with everything, without each part, and without all."""
    ways = {"everything on": ours()}
    ways |= {f"without {part}": ours(f"{name}=0") for part, name in PARTS.items()}
    ways["links only"] = ours(*(f"{name}=0" for name in OFF), links_only=True)
    cpu: dict[str, list[float]] = {}
    for number in range(rounds):
        for way, command in ways.items():
            print(f"  round {number + 1} of {rounds}: {way}", file=sys.stderr, flush=True)
            result = crawl.run(Crawler("ours", "", "", "", command), case)
            cpu.setdefault(way, []).append(result.cpu_secs / len(result.pages) * 1000)
    best = {way: min(values) for way, values in cpu.items()}
    whole = best["everything on"]
    rows = [
        [way, f"{ms:.2f}", f"{whole - ms:.2f}", f"{(whole - ms) / whole:z.0%}"]
        for way, ms in best.items()
    ]
    return table(["crawl", "CPU ms/page", "saved", "share"], rows)


def profile(case: crawl.Case, name: str) -> str:
    """Shares of samples by part."""
    program = py_spy()
    if program is None:
        return "py-spy could not be installed: no profile."
    crawler = next(crawler for crawler in CRAWLERS if crawler.name == name)
    print(f"  profile: {name}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as place, nginx(case.root, case.addresses) as site:
        folder = Path(place)
        command = crawler.command(Task(site.seeds, case.allow, folder))
        spy = [str(program), "record", "-t", "-f", "raw", "-o", str(folder / "raw"), "--"]
        ended = run_tree([*spy, *command], ROOT, folder / "log")
        if not (folder / "raw").exists():
            return f"py-spy could not watch the crawl (it ended with {ended.code}): no profile."
        lines = (folder / "raw").read_text(errors="replace").splitlines()
    samples: Counter[str] = Counter()
    for line in lines:
        stack, _, count = line.rpartition(" ")
        part = place_of(stack)
        if part is not None:
            samples[part] += int(count)
    total = sum(samples.values()) or 1
    rows = [[part, f"{count / total:.1%}"] for part, count in samples.most_common() if count > 1]
    return table(["part", "share of samples"], rows)


def place_of(stack: str) -> str | None:
    """The part that a stack (thread;root;…;top) belongs to; None: no work on a page."""
    thread, _, frames = stack.partition(";")
    if not frames or "_find_and_load" in frames or "_get_module_details" in frames:
        return None  # the interpreter's own start and end, and imports
    if "_bootstrap (threading.py" in frames or ": MainThread" not in thread:
        is_waiting = "wait (threading.py" in frames.rpartition(";")[2]
        name = thread.partition(": ")[2]
        return f"thread {name}" if name and not is_waiting else None
    for frame in reversed(frames.split(";")):
        for part, marks in PLACES:
            if any(mark in frame for mark in marks):
                return part
    return "other"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="some chapters, one round")
    parser.add_argument("--rounds", type=int, default=0, help="default 2, with --quick 1")
    parser.add_argument("--no-profile", dest="profile", action="store_false")
    options = parser.parse_args()
    if not PYTHON_DOC.is_dir():
        raise SystemExit(f"{PYTHON_DOC} is not there: apt-get install python3.11-doc")
    addresses, allow = (1, crawl.PART) if options.quick else (2, "")
    case = crawl.Case("costs", PYTHON_DOC, addresses, allow)
    print(f"{machine()}\n\n### Parts switched off\n")
    print(switched_off(case, options.rounds or (1 if options.quick else 2)), flush=True)
    if options.profile:
        for name in ("ours, links only", "ours, everything on"):
            print(f"\n### Samples: {name}\n\n{profile(case, name)}", flush=True)
    return 0


if __name__ == "__main__":
    run_main(main)
