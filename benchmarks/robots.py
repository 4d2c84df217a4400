"""What a question to robots.txt costs, side by side with Protego.

    python benchmarks/robots.py                  the typical and the worst real files
    python benchmarks/robots.py --urls 2000      fewer questions
    python benchmarks/robots.py --suites FOLDER  where the real files are

The files are those of the suite `robots/real_robots_txt.tar.gz`: typical is the median by its
number of rules among those that have any for us, largest the one with the most, wildest the one
with the most rules that have a `*` inside, which have to be tried one by one. The questions are
URLs that the rules match or nearly match, mixed with some they do not. Protego is given the same
file and answers the same URLs; where both give another answer than each other is counted (known
differences of Protego stand in `webcrawler/robots/corrections.py`). Time is that of the thread, the
best of several rounds: others may be using the machine.

Limits, which make the command fail where they are passed: 15 us a question for the typical file,
200 us for the other two.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tarfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from measure import machine, table, versions
from protego import Protego

from webcrawler.robots import RobotsRules
from webcrawler.robots.corrections import ALLOW, DISALLOW, read_group
from webcrawler.robots.paths import written_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

AGENT = "webcrawler"
ROOT = Path(__file__).resolve().parent.parent
SUITE = "robots/real_robots_txt.tar.gz"
LIMITS = {"typical": 15.0, "largest": 200.0, "wildest": 200.0}


def real_files(suites: Path) -> dict[str, bytes]:
    with tarfile.open(suites / SUITE) as tar:
        return {
            member.name: file.read()
            for member in tar
            if member.isfile() and (file := tar.extractfile(member)) is not None
        }


def rules_of(body: bytes) -> list[str]:
    """The rules that speak to us, as they are written."""
    lines = read_group(RobotsRules.parse(body).body, AGENT).lines
    return [
        written_rule(value) for _, field, value in lines if field in (ALLOW, DISALLOW) and value
    ]


def choose(files: dict[str, bytes]) -> dict[str, str]:
    """The names of the files that are measured."""
    sizes = sorted((len(rules_of(body)), name) for name, body in files.items())
    filled = [(size, name) for size, name in sizes if size]
    wildest = max(files, key=lambda name: sum("*" in rule[:-1] for rule in rules_of(files[name])))
    return {
        "typical": filled[len(filled) // 2][1],
        "largest": filled[-1][1],
        "wildest": wildest,
    }


def questions(rules: Sequence[str], count: int) -> list[str]:
    """URLs that rules match, nearly match, and do not."""
    draw = random.Random(1)
    urls = []
    for _ in range(count):
        path = draw.choice(rules).rstrip("$").replace("*", "x" * draw.randint(0, 9))
        kind = draw.randrange(4)
        if kind == 1:
            path = path[: max(1, len(path) - draw.randint(1, 4))]
        elif kind == 2:
            path += f"/page-{draw.randrange(10**6)}.html?id={draw.randrange(10**6)}"
        elif kind == 3:
            path = "/" + "/".join(str(draw.randrange(10**4)) for _ in range(draw.randint(1, 5)))
        urls.append("https://www.example.org/" + path.lstrip("/"))
    return urls


def microseconds(ask: Callable[[str], object], urls: Sequence[str], rounds: int) -> float:
    """What one question costs, in the best of the rounds."""
    best = float("inf")
    for _ in range(rounds):
        started = time.thread_time()
        for url in urls:
            ask(url)
        best = min(best, time.thread_time() - started)
    return best / len(urls) * 1e6


def parse_milliseconds(parse: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(3):
        started = time.thread_time()
        parse()
        best = min(best, time.thread_time() - started)
    return best * 1e3


def measure(kind: str, body: bytes, count: int) -> tuple[list[list[str]], float]:
    """The rows of one file, and what a question costs us."""
    rules = rules_of(body)
    urls = questions(rules, count)
    text = body.decode("utf-8", "replace")
    ours, theirs = RobotsRules.parse(body), Protego.parse(text)
    ours.allowed(urls[0], AGENT)  # compiles the group
    # Protego walks all rules for each question: fewer of them say as much.
    few = urls[: max(20, min(count, 2_000_000 // max(1, len(rules))))]
    unlike = sum(ours.allowed(url, AGENT) != theirs.can_fetch(url, AGENT) for url in few)
    asked = microseconds(lambda url: ours.allowed(url, AGENT), urls, 5)
    peer = microseconds(lambda url: theirs.can_fetch(url, AGENT), few, 3)
    explained = microseconds(lambda url: ours.explain(url, AGENT), urls, 3)

    def compile_ours() -> None:
        RobotsRules.parse(body).allowed(urls[0], AGENT)

    parsed = parse_milliseconds(compile_ours)
    peer_parsed = parse_milliseconds(lambda: Protego.parse(text))
    name = f"{kind}: {len(rules):,} rules, {len(body):,} bytes"
    rows = [
        [f"{name}: allowed, us", f"{asked:.2f}", f"{peer:.2f}", f"{peer / asked:.1f}x"],
        [f"{kind}: why, us", f"{explained:.2f}", "", ""],
        [
            f"{kind}: parse, ms",
            f"{parsed:.2f}",
            f"{peer_parsed:.2f}",
            f"{peer_parsed / parsed:.1f}x",
        ],
        [f"{kind}: other answers of {len(few):,}", "", f"{unlike:,}", ""],
    ]
    return rows, asked


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = Path(os.environ.get("WEBCRAWLER_SUITES", ROOT.parent / "shared" / "suites"))
    parser.add_argument("--urls", type=int, default=10_000, help="questions asked of each file")
    parser.add_argument("--suites", type=Path, default=default, help="folder of the suites")
    options = parser.parse_args()
    if not (options.suites / SUITE).exists():
        parser.error(f"no {SUITE} below {options.suites}: name the folder by --suites")
    files = real_files(options.suites)
    rows: list[list[str]] = []
    is_slow = False
    for kind, name in choose(files).items():
        more, cost = measure(kind, files[name], max(20, options.urls))
        rows += more
        if cost > LIMITS[kind]:
            is_slow = True
            print(f"too slow: {cost:.1f} us, at most {LIMITS[kind]:g}", file=sys.stderr)
    print(f"{machine()}; {versions('protego')}\n")
    print(table(["robots.txt", "ours", "Protego", "ratio"], rows))
    return int(is_slow)


if __name__ == "__main__":
    sys.exit(main())
