"""What `make crawl` runs: a crawl of the given seeds, or of the bundled sample web on loopback."""

from __future__ import annotations

import argparse
import json
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from webcrawler.interrupt import end_quietly
from webcrawler.job import is_job_name
from webcrawler.urls import complete_seed, host_key

CRAWLS = Path("crawls")
PORT_FILE = "sample-port"
# As `scrapy` does it, but Ctrl-C leaves no traceback while Scrapy itself is being imported.
SCRAPY = "import webcrawler.commands; from scrapy.cmdline import execute; execute()"


def main(argv: list[str] | None = None) -> int:
    end_quietly()
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
    name = next((word.removeprefix("job=") for word in rest if word.startswith("job=")), "")
    name = name if is_job_name(name) else ""  # what is wrong with it, the crawl says
    print("== serving the sample web on loopback: 12 hosts, 300 pages, with traps for crawlers")
    command = [sys.executable, "-m", "webcrawler.sampleweb", "--hosts", "12", "--pages", "300"]
    command += ["--port", str(port_before(name))]
    # In a session of its own: Ctrl-C is for the crawl, which then still finishes what is under way.
    with subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as server:
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            if not line:
                return server.wait()  # it has said why
            web = json.loads(line)
            seeds = ",".join(web["seeds"])
            folder = CRAWLS / (name or f"sample-{web['port']}")
            remember_port(folder, web["port"])
            print(f"== crawling {seeds} into {folder}, 0.2 s between two fetches of a host")
            code = _scrapy(
                "crawl",
                "web",
                "-a",
                f"seeds={seeds}",
                "-a",
                f"job={folder.name}",
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


def port_before(name: str) -> int:
    """Where the web of this job was served, or without a name that of one not finished; 0: any.

    A sample web's URLs have its port in them, so the same command goes on only on the same port.
    """
    for folder in [CRAWLS / name] if name else sorted(CRAWLS.glob("sample-*")):
        with suppress(OSError, ValueError):
            port = int((folder / PORT_FILE).read_text())
            report = folder / "report.json"
            is_finished = report.exists() and json.loads(report.read_text())["finished"]
            if (name or not is_finished) and _is_free(port):
                return port
    return 0


def remember_port(folder: Path, port: int) -> None:
    """For the next time. Where that cannot be written, the crawl is about to say so."""
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / PORT_FILE).write_text(str(port))


def _is_free(port: int) -> bool:
    with suppress(OSError, OverflowError), socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
        return True
    return False


def _scrapy(*words: str) -> int:
    """Run a command. Ctrl-C reaches it too, and it knows best how to end: wait for that."""
    signal.signal(signal.SIGINT, lambda *_: None)
    return subprocess.call([sys.executable, "-c", SCRAPY, *words])  # noqa: S603


if __name__ == "__main__":
    sys.exit(main())
