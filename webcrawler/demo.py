"""What `make crawl` runs: a crawl of the given seeds, or of the bundled sample web on loopback."""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
from pathlib import Path

from webcrawler.urls import complete_seed, host_key


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make crawl", description=__doc__, allow_abbrev=False)
    parser.add_argument("--seeds", default="", help="URLs separated by commas, or @file")
    parser.add_argument("--spider", default="site", choices=("web", "site", "directory"))
    # What is left, in its order, is for `scrapy crawl`.
    options, rest = parser.parse_known_args(argv)
    if options.seeds:
        return crawl_seeds(options.seeds, options.spider, rest)
    return crawl_sample(rest)


def crawl_seeds(seeds: str, spider: str, rest: list[str]) -> int:
    print(f"== crawling {seeds} with the spider '{spider}'; Ctrl-C stops, the same command goes on")
    code = _scrapy("crawl", spider, "-a", f"seeds={seeds}", *rest)
    if code == 0:
        first = complete_seed(seeds.split(",")[0])
        word = host_key(first).split(".")[0] if first else "word"
        print(
            "== look into it: .venv/bin/scrapy frontier stats, "
            f".venv/bin/scrapy search {word}, .venv/bin/scrapy archive list"
        )
    return code


def crawl_sample(rest: list[str]) -> int:
    """Serve a little web of 12 hosts and 300 pages and crawl it, quickly but politely."""
    print("== serving the sample web on loopback: 12 hosts, 300 pages, with traps for crawlers")
    command = [sys.executable, "-m", "webcrawler.sampleweb", "--hosts", "12", "--pages", "300"]
    # In a session of its own: Ctrl-C is for the crawl, which then still finishes what is under way.
    with subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as server:
        try:
            assert server.stdout is not None
            web = json.loads(server.stdout.readline())
            seeds = ",".join(web["seeds"])
            folder = Path(f"crawls/sample-{web['port']}")
            print(f"== crawling {seeds} into {folder}, 0.2 s between two fetches of a host")
            code = _scrapy(
                "crawl",
                "web",
                "-a",
                f"seeds={seeds}",
                "-s",
                f"JOBDIR={folder}",
                "-s",
                "DNS_HOSTS=" + ",".join(f"{k}={v}" for k, v in web["dns"].items()),
                "-s",
                "POLITENESS_MIN_DELAY=0.2",
                "-s",
                "ROBOTS_CONTACT=nobody@example.org",
                *rest,
            )
        finally:
            server.terminate()
    if code == 0:
        print("== try: .venv/bin/scrapy search river, .venv/bin/scrapy frontier hosts")
    return code


def _scrapy(*words: str) -> int:
    """Run a command. Ctrl-C reaches it too, and it knows best how to end: wait for that."""
    signal.signal(signal.SIGINT, lambda *_: None)
    return subprocess.call([sys.executable, "-m", "scrapy", *words])  # noqa: S603


if __name__ == "__main__":
    sys.exit(main())
