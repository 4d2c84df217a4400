"""One worker and two on one Redis, on tiny pages by nginx: pages a second, and where CPU goes.

    python benchmarks/workers.py [--pages 800] [--rounds 3] [--hosts 16]

Rounds are interleaved: the embedded backend, two embedded crawls that share nothing but the machine
(half of the hosts each: what two can gain here), one worker, two workers, and again. Pages a second
are those of the middle 80 % of each crawl, without the start and the end that all agree on; the
ratio is of the same round. CPU is of all workers together, of Redis and of nginx, in the same 80 %.
"CPU allows" is what they leave room for: a process has one core, all have the machine's. It stands
still where others use the machine meanwhile, and pages a second do not. Commands are all
that were sent to Redis, trips the reads it needed for them. Figures go to .bench/workers.json.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.measure import machine, table, thousands
from benchmarks.serve import make_tiny_pages, nginx
from tests.redis_server import RedisServer

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / ".bench/workers.json"
SETTINGS = {
    "POLITENESS_MIN_DELAY": 0,
    "POLITENESS_LATENCY_FACTOR": 0,
    "ROBOTSTXT_OBEY": False,
    "CONTENTSEEN_ENABLED": False,
    "NEARDUP_ENABLED": False,
    "ANCHORS_ENABLED": False,
    "INDEX_ENABLED": False,
    "ARCHIVE_ENABLED": False,
    "LOG_LEVEL": "WARNING",
}
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Figures:
    """One crawl. CPU in milliseconds a page."""

    pages: int
    rate: float
    worker_cpu: float
    redis_cpu: float
    nginx_cpu: float
    allows: float  # pages a second, by CPU alone
    commands: float  # a page
    trips: float  # a page
    redis_busy: float  # share of one core


WAYS = {
    "embedded": (1, False),
    "two embedded, nothing shared": (2, False),
    "one worker": (1, True),
    "two workers": (2, True),
}


def crawl(site: Path, hosts: int, processes: int, is_shared: bool) -> Figures:
    """A whole crawl by so many processes."""
    server = RedisServer()
    try:
        with tempfile.TemporaryDirectory() as name, nginx(site, hosts) as served:
            folder = Path(name)
            running = []
            for number in range(processes):
                settings = {**SETTINGS, "JOBDIR": folder / f"job-{number}"}
                seeds = served.seeds[number::processes]
                if is_shared:
                    settings |= {"FRONTIER_BACKEND": "redis", "REDIS_URL": server.url}
                    settings["JOBDIR"], seeds = folder / "job", served.seeds
                command = [sys.executable, "-m", "scrapy", "crawl", "web"]
                command += ["-a", f"seeds={','.join(seeds)}"]
                for setting, value in settings.items():
                    command += ["-s", f"{setting}={value}"]
                running.append(subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL))
            watched = [running, [server.process], [served]]
            samples, known = (
                [],
                dict.fromkeys([each.pid for group in watched for each in group], 0.0),
            )
            while any(process.poll() is None for process in running):
                known = {pid: max(cpu, cpu_of(pid)) for pid, cpu in known.items()}
                used = [sum(known[each.pid] for each in group) for group in watched]
                samples.append((time.time(), *used))
                time.sleep(0.1)
            if any(process.returncode for process in running):
                raise SystemExit("a worker failed")
            times = sorted(
                datetime.fromisoformat(json.loads(line)["at"]).timestamp()
                for log in folder.glob("job*/**/crawl.log")
                for line in log.read_text().splitlines()
            )
            pages = len(times)
            first, last = times[pages // 10], times[pages * 9 // 10]
            middle = [sample for sample in samples if first <= sample[0] <= last]
            begin, end = middle[0], middle[-1]
            done = sum(begin[0] <= at <= end[0] for at in times)
            cpu = [(after - before) / done * 1000 for before, after in zip(begin, end, strict=True)]
            entries = server.client().hvals("{job}:workers")
            return Figures(
                pages=pages,
                rate=pages * 0.8 / (last - first),
                worker_cpu=cpu[1],
                redis_cpu=cpu[2],
                nginx_cpu=cpu[3],
                allows=1000 / max(cpu[1] / processes, sum(cpu[1:]) / (os.cpu_count() or 1)),
                commands=sum(json.loads(entry)["commands"] for entry in entries) / pages,
                trips=server.client().info("stats")["total_reads_processed"] / pages,
                redis_busy=cpu[2] / cpu[0],
            )
    finally:
        server.close()


def cpu_of(pid: int) -> float:
    """CPU seconds that a process has used; it may have ended, and not been waited for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=800, help="of each host")
    parser.add_argument("--hosts", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    where = machine()
    print(f"{where}; {options.hosts} hosts, {options.pages} pages each, {options.rounds} rounds")
    found: dict[str, list[Figures]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as name:
        make_tiny_pages(Path(name) / "site", options.pages)
        for _ in range(options.rounds):
            for way, results in found.items():
                results.append(crawl(Path(name) / "site", options.hosts, *WAYS[way]))
    rows = []
    ratios = {}
    for way, results in found.items():
        base = found["one worker" if WAYS[way][1] else "embedded"]
        pairs = [each.rate / one.rate for each, one in zip(results, base, strict=True)]
        allowed = [each.allows / one.allows for each, one in zip(results, base, strict=True)]
        ratios[way] = statistics.median(pairs)
        middle = {
            name: statistics.median(asdict(each)[name] for each in results)
            for name in asdict(results[0])
        }
        rows.append(
            (
                way,
                thousands(middle["rate"]),
                f"{ratios[way]:.2f} ({min(pairs):.2f}-{max(pairs):.2f})",
                f"{statistics.median(allowed):.2f}",
                *(f"{middle[name]:.2f}" for name in ("worker_cpu", "redis_cpu", "nginx_cpu")),
                f"{middle['commands']:.2f}",
                f"{middle['trips']:.2f}",
                f"{middle['redis_busy']:.0%}",
            )
        )
    head = (
        "",
        "pages/s",
        "x one",
        "CPU allows x one",
        "workers' CPU ms/page",
        "Redis's",
        "nginx's",
    )
    print(table((*head, "commands/page", "trips/page", "Redis busy"), rows))
    bound = ratios["two embedded, nothing shared"]
    share = ratios["two workers"] / bound
    print(
        f"two workers: {ratios['two workers']:.2f} x one (asked for: 1.7); two crawls that share "
        f"nothing reach {bound:.2f} x here, of which that is {share:.0%}"
    )
    OUTPUT.parent.mkdir(exist_ok=True)
    rounds = {way: [asdict(each) for each in results] for way, results in found.items()}
    told = {"machine": where, "rounds": rounds, "ratios": ratios}
    OUTPUT.write_text(json.dumps(told, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
