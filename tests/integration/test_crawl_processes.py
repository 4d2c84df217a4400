"""Crawls whose pages are read by a pool of processes (PAGE_PROCESSES)."""

from __future__ import annotations

import json
import os
import random
import signal
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tests.commanding import run
from tests.crawling import read_log
from webcrawler.sampleweb import SampleServer, SampleWeb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.crawling import Crawls

ALL_ON = {
    f"{name}_ENABLED": True for name in ("CONTENTSEEN", "NEARDUP", "ANCHORS", "INDEX", "ARCHIVE")
}


@pytest.fixture(scope="module")
def web() -> Iterator[SampleServer]:
    """Good pages only: what a crawl of others makes of them depends on which came first."""
    with SampleServer(SampleWeb.plain(hosts=6, pages=150)) as server:
        yield server


@pytest.fixture(scope="module")
def alone(make_crawls: Callable[[str], Crawls], web: SampleServer) -> Crawls:
    """The same crawl, all in its own process."""
    crawls = make_crawls("alone")
    crawls.run("web", web.seeds, **ALL_ON)
    return crawls


@pytest.fixture(scope="module")
def kept_alone(alone: Crawls) -> dict[str, set[tuple[str, str]]]:
    return kept(alone)


def kept(crawls: Crawls) -> dict[str, set[tuple[str, str]]]:
    """What is in the archive and in the index, whatever the order."""
    job = crawls.job
    assert run("archive", "--job", job, "check").code == 0
    listed = run("archive", "--job", job, "list", "--json", "--counted", "--kind", "response").lines
    hosts = {urlsplit(line["url"]).hostname for line in crawls.log}
    found = [
        page
        for host in hosts
        for page in run("search", "--job", job, "--json", "-n", 1000, f"site:{host}").json["hits"]
    ]
    return {
        "archive": {(line["url"], line["payload_digest"]) for line in map(json.loads, listed)},
        "index": {(page["url"], f"{page['title']} {page['is_fetched']}") for page in found},
    }


def endings(log: list[dict[str, Any]]) -> dict[str, str]:
    return {line["url"]: line["outcome"] for line in log}


def children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def test_the_pool_changes_no_ending(crawls: Crawls, web: SampleServer, alone: Crawls) -> None:
    crawls.run("web", web.seeds, PAGE_PROCESSES=2, **ALL_ON)
    assert endings(crawls.log) == endings(alone.log)
    assert Counter(endings(crawls.log).values())["stored"] > 100


def test_killed_pool_workers_cost_nothing(
    crawls: Crawls,
    web: SampleServer,
    alone: Crawls,
    kept_alone: dict[str, set[tuple[str, str]]],
) -> None:
    command = crawls.start("web", web.seeds, PAGE_PROCESSES=2, **ALL_ON)
    draw = random.Random(1)
    for lines in sorted(draw.sample(range(5, 110), 8)):
        command.until(lambda lines=lines: _lines(crawls.job) >= lines)
        workers = children(command.pid)
        for child in draw.sample(workers, min(len(workers), draw.choice((1, 2)))):
            os.kill(child, signal.SIGKILL)
    assert command.wait() == 0
    assert endings(crawls.log) == endings(alone.log)
    assert kept(crawls) == kept_alone
    assert len(crawls.log) == len(endings(crawls.log))
    assert "a page worker died" in command.stderr


def _lines(job: Path) -> int:
    return len(read_log(job)) if (job / "crawl.log").exists() else 0
