"""Crawl-delay, Request-rate and Visit-time, seen from the server."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.scripted_server import Answer, ScriptedServer, moved, rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.crawling import Crawls

LONGEST = 1.0
SLACK = 0.01
PAGES = ("/a", "/b", "/c")


def group(*lines: str, agent: str = "*") -> Answer:
    return rules("\n".join([f"User-agent: {agent}", *lines, "Disallow: /private", ""]))


# What is answered at robots.txt, and the delay that is kept.
DELAYS: dict[str, tuple[Any, float]] = {
    "none": (group(), 0.0),
    "half": (group("Crawl-delay: 0.5"), 0.5),
    "mine": (group("Crawl-delay: 0.6", agent="webcrawler"), 0.6),
    "another": (group("Crawl-delay: 30", agent="otherbot"), 0.0),
    "mine-not-all": (
        rules("User-agent: *\nCrawl-delay: 30\n\nUser-agent: webcrawler\nCrawl-delay: 0.4\n"),
        0.4,
    ),
    "rate": (group("Request-rate: 2/1s"), 0.5),
    "both": (group("Crawl-delay: 0.1", "Request-rate: 1/1s"), 1.0),
    "capped": (group("Crawl-delay: 77"), LONGEST),
    "rate-capped": (group("Request-rate: 1/1h"), LONGEST),
    "abroad": (moved("http://keeper.test:{port}/rules.txt"), 0.7),
    "moved": (moved("/rules.txt"), 0.7),
    # that mean nothing
    "negative": (group("Crawl-delay: -5"), 0.0),
    "no-number": (group("Crawl-delay: soon"), 0.0),
    "nan": (group("Crawl-delay: nan"), 0.0),
    "infinite": (group("Crawl-delay: inf"), 0.0),
    "no-rate": (group("Request-rate: 1/0"), 0.0),
    # that mean too much
    "overflow": (group("Crawl-delay: 1e300"), LONGEST),
    "digits": (group("Crawl-delay: " + "9" * 90), LONGEST),
    "rate-overflow": (group("Request-rate: 1/" + "9" * 80 + "h"), LONGEST),
}
CAPPED = ("capped", "rate-capped", "overflow", "digits", "rate-overflow")


@dataclass
class Delays:
    crawls: Crawls
    server: ScriptedServer


@pytest.fixture(scope="module")
def delays(make_crawls: Callable[[str], Crawls]) -> Iterator[Delays]:
    """Three pages of each host; nothing but robots.txt asks for a delay."""
    crawls = make_crawls("delays")
    slow = group("Crawl-delay: 0.7")
    with ScriptedServer() as server:
        for name, (answer, _) in DELAYS.items():
            server.script[f"{name}.test", "/robots.txt"] = answer
            server.script[f"{name}.test", "/rules.txt"] = slow
        server.script["keeper.test", "/rules.txt"] = slow
        hosts = [f"{name}.test" for name in DELAYS]
        crawls.run(
            "web",
            [url for path in PAGES for url in server.urls(hosts, path)],
            ROBOTSTXT_OBEY=True,
            POLITENESS_CRAWL_DELAY_MAX=LONGEST,
            STATS_DUMP=True,
        )
        yield Delays(crawls, server)


@pytest.mark.parametrize("name", DELAYS)
def test_a_delay_is_kept(delays: Delays, name: str) -> None:
    """Also between robots.txt and the first page; but for a redirect, before it is known."""
    delay = DELAYS[name][1]
    paths = delays.server.paths(f"{name}.test")
    gaps = delays.server.gaps(f"{name}.test")
    assert tuple(path for path in paths if path in PAGES) == PAGES
    known = [gap for path, gap in zip(paths, gaps, strict=False) if path != "/robots.txt"]
    assert min(known) >= delay - SLACK
    if name not in ("moved", "abroad"):
        assert min(gaps) >= delay - SLACK


@pytest.mark.parametrize("name", DELAYS)
def test_no_more_than_that(delays: Delays, name: str) -> None:
    """Whatever was not meant, and whatever lies above the cap, does not slow the crawl."""
    assert min(delays.server.gaps(f"{name}.test")) < DELAYS[name][1] + 3


def test_what_was_capped_is_told_and_counted(delays: Delays) -> None:
    stderr = delays.crawls.commands[0].stderr
    told = [line for line in stderr.splitlines() if "POLITENESS_CRAWL_DELAY_MAX)" in line]
    assert sorted(line.partition("WARNING: ")[2].partition(".test")[0] for line in told) == sorted(
        CAPPED
    )
    assert any("asks for 77 s between two fetches and gets 1 s" in line for line in told)
    assert f"'robots/crawl_delay_capped': {len(CAPPED)}" in stderr


def test_the_host_remembers_it(delays: Delays) -> None:
    port = delays.server.port
    why = delays.crawls.ask("why", delays.server.url("half.test", "/a"))
    assert why["host"]["host"] == f"half.test:{port}"
    assert why["host"]["crawl_delay"] == 0.5
    assert why["host"]["because"] == "crawl delay"


# -- Visit-time


def hours(begin: datetime, end: datetime) -> Answer:
    return group(f"Visit-time: {begin:%H%M}-{end:%H%M}")


def test_visit_time(crawls: Crawls) -> None:
    now = datetime.now(UTC)
    hour = timedelta(hours=1)
    script: dict[Any, Any] = {
        ("open.test", "/robots.txt"): hours(now - hour, now + hour),
        ("closed.test", "/robots.txt"): hours(now + 2 * hour, now + 3 * hour),
        ("was-open.test", "/robots.txt"): hours(now - 3 * hour, now - 2 * hour),
        ("odd.test", "/robots.txt"): group("Visit-time: 9900-1234"),
    }
    with ScriptedServer(script) as server:
        hosts = ["open.test", "closed.test", "was-open.test", "odd.test"]
        command = crawls.start("web", server.urls(hosts, "/a"), ROBOTSTXT_OBEY=True)
        command.until(lambda: len(server.asked) >= 6 and len(crawls.log) >= 2)
        opens = {
            host: crawls.ask("why", server.url(host, "/a"))["host"]
            for host in ("closed.test", "was-open.test")
        }
        command.signal(signal.SIGINT)
        assert command.wait() == 0, command.stderr
        for host in ("open.test", "odd.test"):
            assert server.paths(host) == ["/robots.txt", "/a"]
        for host in opens:
            assert server.paths(host) == ["/robots.txt"]
            assert opens[host]["because"] == "visit time"
    begin = (now + 2 * hour).replace(second=0, microsecond=0)
    assert opens["closed.test"]["next_at"] == begin.timestamp()
    begin = (now + 21 * hour).replace(second=0, microsecond=0)
    assert opens["was-open.test"]["next_at"] == begin.timestamp()
