"""One worker and two on one Redis, on tiny pages by nginx: ratio, steps and time in Redis.

python benchmarks/workers.py [PAGES]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.measure import machine, table, thousands
from benchmarks.serve import make_tiny_pages, nginx
from tests.redis_server import RedisServer

ROOT = Path(__file__).resolve().parent.parent
HOSTS = 16
SETTINGS = {
    "FRONTIER_BACKEND": "redis",
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


def crawl(seeds: list[str], workers: int, folder: Path) -> tuple[float, float, float, float]:
    """Pages a second, commands a page, share of the time in Redis, overlap."""
    server = RedisServer()
    try:
        settings = {**SETTINGS, "REDIS_URL": server.url, "JOBDIR": folder / f"job-{workers}"}
        command = [sys.executable, "-m", "scrapy", "crawl", "web", "-a", f"seeds={','.join(seeds)}"]
        for name, value in settings.items():
            command += ["-s", f"{name}={value}"]
        running = [
            subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) for _ in range(workers)
        ]
        for process in running:
            process.wait()
        lines = [
            json.loads(line)["at"]
            for log in (folder / f"job-{workers}").glob("worker-*/crawl.log")
            for line in log.read_text().splitlines()
        ]
        times = sorted(_seconds(at) for at in lines)
        # The middle of the crawl: without the start, and the end that all agree on.
        first, last = times[len(times) // 10], times[len(times) * 9 // 10]
        rate = len(times) * 0.8 / max(1e-6, last - first)
        stats = server.client().info("commandstats")
        # The commands that steps make inside Redis cost no round trip: only the steps count.
        calls = stats["cmdstat_evalsha"]["calls"]
        busy = stats["cmdstat_evalsha"]["usec"] / 1e6
        return rate, calls / len(times), busy / (times[-1] - times[0]), len(times)
    finally:
        server.close()


def _seconds(at: object) -> float:
    if isinstance(at, int | float):
        return float(at)
    from datetime import datetime

    return datetime.fromisoformat(str(at)).timestamp()


def main(pages: int) -> None:
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_tiny_pages(folder / "pages", pages)
        rows = []
        with nginx(folder / "pages", HOSTS) as seeds:
            for workers in (1, 2):
                rate, calls, share, ended = crawl(seeds, workers, folder)
                rows.append((workers, rate, calls, share, ended))
                time.sleep(0.5)
        print(
            table(
                ("workers", "pages a second", "ratio", "steps a page", "Redis busy", "ended"),
                [
                    (
                        str(workers),
                        thousands(rate),
                        f"{rate / rows[0][1]:.2f}",
                        f"{calls:.1f}",
                        f"{share:.0%}",
                        thousands(ended),
                    )
                    for workers, rate, calls, share, ended in rows
                ],
            )
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
