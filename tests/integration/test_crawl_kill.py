"""Crawls that are killed, stopped, run into a full disk or find their files damaged."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from tests.crawling import fetched
from tests.odd_server import Answer, OddServer, page
from webcrawler.sampleweb import SampleServer, SampleWeb
from webcrawler.sampleweb.audit import audit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.crawling import Command, Crawls

# Everything that makes a URL end in more than one step.
ODD = {"redirects": 0.1, "errors": 0.05, "flaky": 0.08, "slow": 0.03, "resets": 0.03}

# Everything that is made of a page, in the same commit.
PIPELINES = dict.fromkeys(
    (
        "CONTENTSEEN_ENABLED",
        "NEARDUP_ENABLED",
        "ANCHORS_ENABLED",
        "INDEX_ENABLED",
        "ARCHIVE_ENABLED",
    ),
    True,
)


class KilledCrawl:
    """A crawl that is killed at random moments and started again until it is finished."""

    def __init__(
        self, crawls: Crawls, server: SampleServer, seed: int, delay: float, **settings: Any
    ) -> None:
        self.settings = settings
        self.crawls = crawls
        self.server = server
        self.delay = delay
        self.random = Random(seed)
        self.kills = 0
        self.last_lines: set[int] = set()

    def run(self, kills: int, longest: float) -> None:
        while True:
            command = self._start()
            if self.kills < kills and not self._has_ended(command, longest):
                command.kill()
                self.kills += 1
                # The commit follows its line: only the last one can be missing.
                self.last_lines.add(len(self.crawls.log) - 1)
                continue
            assert command.wait() == 0, command.stderr
            assert "Traceback" not in command.stderr, command.stderr
            return

    def _start(self) -> Command:
        return self.crawls.start(
            "web",
            self.server.seeds,
            ROBOTSTXT_OBEY=True,
            POLITENESS_MIN_DELAY=self.delay,
            RETRY_TIMES=4,
            **self.settings,
        )

    def _has_ended(self, command: Command, longest: float) -> bool:
        """Let it live for a random time, most often counted from its first fetch."""
        if self.random.random() < 0.85:
            before = self.server.log.count
            command.until(lambda: self.server.log.count > before or command.has_ended())
        return command.has_ended(self.random.uniform(0, longest))

    def check(self) -> None:
        truth, log = self.server.web.truth(), self.crawls.log
        lines = Counter(line["url"] for line in log)
        assert lines.keys() == truth.reachable().keys(), "everything reachable, nothing else"
        again = {url for url, count in lines.items() if count > 1}
        assert again <= {log[number]["url"] for number in self.last_lines if number >= 0}
        pages = {line["url"] for line in log if line["outcome"] == "stored"}
        assert pages == truth.reachable_pages().keys()
        report = self.crawls.report
        assert report["finished"] is True
        assert report["pages"] == len(pages)
        assert report["frontier"]["known"] == len(lines)
        assert report["frontier"]["waiting"] == 0
        found = audit(self.server.arrivals, self.delay)
        assert found.is_polite, found.violations
        # At most what was in flight at a kill was fetched again.
        assert sum(found.refetched.values()) <= 2 * self.kills * self.server.web.hosts


def kill_and_check(crawls: Crawls, seed: int, kills: int, longest: float = 1.0) -> KilledCrawl:
    delay = (0.05, 0.1, 0.2)[seed % 3]
    web = SampleWeb.plain(seed=seed, hosts=6, pages=60, retry_after=0, **(ODD if seed % 2 else {}))
    with SampleServer(web) as server:
        killed = KilledCrawl(crawls, server, seed, delay, **(PIPELINES if seed % 5 == 0 else {}))
        killed.run(kills, longest)
        killed.check()
        return killed


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_is_lost_by_kill_9(crawls: Crawls, seed: int) -> None:
    assert kill_and_check(crawls, seed, kills=3, longest=0.5).kills > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 28))
def test_nothing_is_lost_by_many_kills(crawls: Crawls, seed: int) -> None:
    kill_and_check(crawls, seed, kills=6)


# -- Ctrl-C


@pytest.fixture
def slow_site() -> Iterator[OddServer]:
    """20 pages, of which one never answers before the server is told to."""
    with OddServer({("a.test", "/hang"): [Answer(ending="hang"), Answer()]}) as server:
        paths = [f"/{number}" for number in range(20)]
        server.answers["a.test", "/"] = page(*paths[:5], "/hang", *paths[5:])
        yield server


def test_ctrl_c_once_finishes_cleanly(crawls: Crawls) -> None:
    with SampleServer(SampleWeb.plain(hosts=4, pages=40, slow=0.2)) as server:
        command = crawls.start("web", server.seeds, POLITENESS_MIN_DELAY=0.3)
        command.until(lambda: len(crawls.log) >= 10)
        command.signal(signal.SIGINT)
        assert command.wait() == 0, command.stderr
        assert "Traceback" not in command.stderr, command.stderr
        assert "the same command goes on (shutdown)" in command.stderr
        report, urls = crawls.report, crawls.urls
        assert report["reason"] == "shutdown"
        assert report["finished"] is False
        assert report["pages"] == len(urls) < 40
        assert report["frontier"]["in_flight"] == 0
        assert sorted(fetched(server)) == sorted(urls), "what was in flight has ended"
        assert not (crawls.job / "running.json").exists()
        crawls.run("web", server.seeds, POLITENESS_MIN_DELAY=0.3)
        assert Counter(crawls.urls) == Counter(list(server.web.truth().reachable_pages()))
        assert Counter(fetched(server)) == Counter(crawls.urls), "nothing is fetched twice"
        assert audit(server.arrivals, 0.3).is_polite


def test_ctrl_c_twice_stops_at_once(crawls: Crawls, slow_site: OddServer) -> None:
    seed = slow_site.url("a.test")
    command = crawls.start("web", seed, CONCURRENT_REQUESTS=2)
    command.until(lambda: "/hang" in slow_site.paths("a.test"))
    command.signal(signal.SIGINT)
    command.until(lambda: "Closing spider (shutdown)" in command.stderr)
    assert not command.has_ended(0.2), "it waits for what is in flight"
    command.signal(signal.SIGINT)
    command.wait(timeout=25)
    before = crawls.urls
    assert 0 < len(before) < 21
    crawls.run("web", seed)
    assert Counter(crawls.urls) == Counter(
        slow_site.url("a.test", path) for path in ("/", "/hang", *(f"/{n}" for n in range(20)))
    )
    assert Counter(slow_site.paths("a.test"))["/hang"] == 2


# -- full disks


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a file system of its own needs root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def assert_stopped(command: Command, words: str) -> None:
    """One sentence says it, on a line of its own; exit code 2; no traceback."""
    assert command.wait() == 2, command.stderr
    assert "Traceback" not in command.stderr, command.stderr
    errors = [line for line in command.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, command.stderr
    assert words in errors[0]


def fill(folder: Path) -> Path:
    """Use up what space there is."""
    path = folder / "filler"
    with path.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 10, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                pass
    return path


@pytest.mark.parametrize("made", ["links", "everything"])
def test_a_full_disk(crawls: Crawls, small_disk: Path, made: str) -> None:
    with SampleServer(SampleWeb.plain(hosts=4, pages=100)) as server:
        crawls.name = "disk/job"
        crawls.settings = PIPELINES if made == "everything" else {}
        command = crawls.start("web", server.seeds, POLITENESS_MIN_DELAY=0.3)
        command.until(lambda: len(crawls.log) >= 10)
        filler = fill(small_disk)
        assert_stopped(command, "is full: free some space and start the same command again")
        filler.unlink()
        crawls.run("web", server.seeds)
        assert set(crawls.urls) == server.web.truth().reachable_pages().keys()
        assert crawls.report["finished"] is True


def test_a_disk_that_is_full_from_the_start(crawls: Crawls, small_disk: Path) -> None:
    with SampleServer(SampleWeb.plain(hosts=1, pages=2)) as server:
        crawls.name = "disk/job"
        fill(small_disk)
        assert_stopped(crawls.start("web", server.seeds), "is full: free some space")
        assert not server.arrivals


def test_files_that_may_not_grow(crawls: Crawls) -> None:
    """The same without root: a limit on the size of files."""
    with SampleServer(SampleWeb.plain(hosts=4, pages=100)) as server:
        limits = {"RLIMIT_FSIZE": 40_000}
        command = crawls.start("web", server.seeds, limits=limits, MEMUSAGE_ENABLED=False)
        assert_stopped(command, "File too large")
        crawls.run("web", server.seeds)
        assert set(crawls.urls) == server.web.truth().reachable_pages().keys()


# -- damaged files


def _damage(path: Path, how: str) -> None:
    data = bytearray(path.read_bytes())
    path.unlink()  # the checkpoint has a link to the same file
    if how == "cut":
        del data[len(data) // 2 :]
    else:
        for at in range(0, len(data), 64):
            data[at] ^= 0xFF
    path.write_bytes(data)


@pytest.fixture(scope="module")
def half(make_crawls: Callable[[str], Crawls]) -> Iterator[tuple[Crawls, SampleServer]]:
    """A crawl that was stopped half way, with a checkpoint."""
    crawls = make_crawls("half")
    with SampleServer(SampleWeb.plain(hosts=4, pages=60)) as server:
        crawls.run("web", server.seeds, max_pages=15)
        # Opening the frontier again makes tables of what was only logged.
        crawls.ask("stats")
        crawls.ask("checkpoint", "checkpoint")
        yield crawls, server


@pytest.mark.parametrize(
    ("pattern", "how"),
    [("CURRENT", "cut"), ("MANIFEST-*", "cut"), ("MANIFEST-*", "flip"), ("*.sst", "flip")],
)
def test_damaged_files(
    crawls: Crawls, half: tuple[Crawls, SampleServer], pattern: str, how: str
) -> None:
    whole, server = half
    shutil.copytree(whole.job, crawls.job)
    files = sorted((crawls.job / "frontier").glob(pattern))
    assert files
    for path in files:
        _damage(path, how)
    before = len(server.arrivals)
    command = crawls.start("web", server.seeds)
    assert_stopped(command, f"the frontier in {crawls.job / 'frontier'}")
    assert "checkpoint" in command.stderr.splitlines()[-1]
    assert len(server.arrivals) == before, "nothing was fetched"
    refused = crawls.frontier("stats")
    assert refused.code == 2
    assert refused.stderr.startswith(f"error: the frontier in {crawls.job / 'frontier'}")


def test_the_last_checkpoint_works(half: tuple[Crawls, SampleServer]) -> None:
    whole, server = half
    for path in (whole.job / "frontier").glob("*.sst"):
        _damage(path, "flip")
    assert whole.frontier("stats").code == 2
    whole.name = "checkpoint"
    whole.run("web", server.seeds)
    assert whole.report["finished"] is True
    assert whole.report["pages"] == 60
    assert len(whole.log) == 45, "the checkpoint knows what had ended"
