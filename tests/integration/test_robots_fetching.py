"""When robots.txt is fetched: before all else, once, by its host's turn, and again when stale."""

from __future__ import annotations

import signal
import time
from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.scripted_server import Answer, ScriptedServer, moved, page, rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.crawling import Crawls
    from tests.integration.scripted_server import Asked

NOT_B = rules("User-agent: *\nDisallow: /b\n")
SLACK = 0.01  # what two clocks may differ by


def number(count: int) -> list[str]:
    return [f"/{n}" for n in range(count)]


# -- first, once, for each authority


@pytest.fixture(scope="module")
def twins() -> Iterator[tuple[ScriptedServer, ScriptedServer]]:
    """Two ports of one host, the second with rules of its own."""
    with ScriptedServer() as one, ScriptedServer() as two:
        two.script["twin.test", "/robots.txt"] = rules("User-agent: webcrawler\nDisallow: /1\n")
        yield one, two


@pytest.fixture(scope="module")
def many(make_crawls: Callable[[str], Crawls], twins: tuple[ScriptedServer, ...]) -> Crawls:
    """Forty URLs of each of two ports wait for robots.txt, which takes its time."""
    crawls = make_crawls("many")
    one, _ = twins
    one.script["twin.test", "/robots.txt"] = Answer(200, b"", wait=0.5, content_type="text/plain")
    crawls.run(
        "web",
        [server.url("twin.test", path) for server in twins for path in number(40)],
        ROBOTSTXT_OBEY=True,
    )
    return crawls


def test_it_is_fetched_first_and_once(many: Crawls, twins: tuple[ScriptedServer, ...]) -> None:
    for server in twins:
        paths = server.paths("twin.test")
        assert paths[0] == "/robots.txt"
        assert paths.count("/robots.txt") == 1
        assert server.of("twin.test")[0].ended_at <= server.of("twin.test")[1].at


def test_it_speaks_for_its_port_only(many: Crawls, twins: tuple[ScriptedServer, ...]) -> None:
    one, two = twins
    assert sorted(one.paths("twin.test")[1:]) == sorted(number(40))
    unwanted = {path for path in number(40) if path.startswith("/1")}
    assert set(two.paths("twin.test")[1:]) == set(number(40)) - unwanted
    assert {line["url"] for line in many.log if line["outcome"] == "refused"} == {
        two.url("twin.test", path) for path in unwanted
    }


# -- by its host's turn

TURNS = {
    "here": NOT_B,
    "moved": moved("/rules.txt"),
    "abroad": moved("http://keeper.test:{port}/rules.txt"),
    "absent": Answer(404),
    "no-store": rules(NOT_B.body, Cache_Control="no-store"),
}


@pytest.fixture(scope="module")
def turns(make_crawls: Callable[[str], Crawls]) -> Iterator[ScriptedServer]:
    """Three pages of each host, with a delay."""
    script: dict[Any, Any] = {("keeper.test", "/rules.txt"): NOT_B}
    for name, answer in TURNS.items():
        script[f"{name}.test", "/robots.txt"] = answer
        script[f"{name}.test", "/rules.txt"] = NOT_B
    with ScriptedServer(script) as server:
        hosts = [f"{name}.test" for name in (*TURNS, "keeper")]
        seeds = [url for path in ("/a", "/b", "/c") for url in server.urls(hosts, path)]
        make_crawls("turns").run("web", seeds, ROBOTSTXT_OBEY=True, POLITENESS_MIN_DELAY=0.6)
        yield server


@pytest.mark.parametrize("name", [*TURNS, "keeper"])
def test_it_counts_against_the_delay(turns: ScriptedServer, name: str) -> None:
    paths = turns.paths(f"{name}.test")
    assert paths[0] == "/robots.txt"
    assert paths.count("/robots.txt") == 1
    is_obeyed = name not in ("absent", "keeper")
    assert (
        [path for path in paths if len(path) == 2] == ["/a", "/c"]
        if is_obeyed
        else [
            "/a",
            "/b",
            "/c",
        ]
    )
    assert min(turns.gaps(f"{name}.test")) >= 0.6 - SLACK


def test_one_that_was_moved_abroad_is_no_url_of_the_crawl(crawls: Crawls) -> None:
    """It has no line in crawl.log, and the report counts lines: over restarts too."""
    script: dict[Any, Any] = {
        ("moved.test", "/robots.txt"): moved("http://keeper.test:{port}/rules.txt"),
        ("keeper.test", "/rules.txt"): NOT_B,
    }
    with ScriptedServer(script) as server:
        seeds = [server.url("moved.test", path) for path in ("/a", "/b", "/c")]
        for pages in (1, 2):
            crawls.run("web", seeds, ROBOTSTXT_OBEY=True, max_pages=pages)
        assert "/rules.txt" in server.paths("keeper.test")
    assert crawls.report["by_outcome"] == Counter(line["outcome"] for line in crawls.log)
    assert crawls.report["by_outcome"] == {"stored": 2, "refused": 1}
    assert crawls.ask("stats")["ended"] == {"stored": 2, "refused": 1, "errand": 1}


def test_urls_that_wait_for_it_hold_no_slot(crawls: Crawls) -> None:
    """With two slots, one is robots.txt on its way; the other is there for everybody else."""
    script: dict[Any, Any] = {
        ("waiting.test", "/robots.txt"): Answer(404, wait=3),
    }
    with ScriptedServer(script) as server:
        seeds = [server.url("waiting.test", path) for path in number(20)]
        seeds += [server.url("quick.test", path) for path in number(20)]
        crawls.run("web", seeds, ROBOTSTXT_OBEY=True, CONCURRENT_REQUESTS=2)
        answered_at = server.of("waiting.test")[0].ended_at
        assert len(server.paths("quick.test")) == 21
        assert all(asked.ended_at < answered_at for asked in server.of("quick.test"))
        assert sorted(server.paths("waiting.test")[1:]) == sorted(number(20))


# -- until it is stale


def hasty(answer: Answer) -> Answer:
    """That must be asked for again after a second."""
    return replace(answer, headers=(("Cache-Control", "public, max-age=1"),))


STALE: dict[str, Any] = {
    "lasting": NOT_B,
    "hasty": hasty(NOT_B),
    "expired": rules(NOT_B.body, Expires="-1"),
    "changed": [hasty(NOT_B), rules("User-agent: *\nDisallow: /5\n")],
    "then-503": [hasty(NOT_B), Answer(503)],
    "then-429": [hasty(NOT_B), Answer(429)],
    "then-reset": [hasty(NOT_B), Answer(ending="reset")],
    "then-gone": [hasty(NOT_B), Answer(404)],
    "none-then-500": [hasty(Answer(404)), Answer(500)],
}


@dataclass
class Stale:
    """A crawl of seven pages of each host, /b and at last /5 among them, at three a second."""

    crawls: Crawls
    server: ScriptedServer

    def asked(self, name: str) -> list[Asked]:
        return [asked for asked in self.server.of(f"{name}.test") if asked.path == "/robots.txt"]

    def ends(self, name: str) -> dict[str, str]:
        url = self.server.url(f"{name}.test", "")
        lines = [line for line in self.crawls.log if line["url"].startswith(url)]
        return {line["url"].removeprefix(url): line["outcome"] for line in lines}


def run_stale(crawls: Crawls, script: dict[str, Any], **settings: Any) -> Iterator[Stale]:
    with ScriptedServer() as server:
        for name, answer in script.items():
            server.script[f"{name}.test", "/robots.txt"] = answer
            server.script[f"{name}.test", "/"] = page("/1", "/2", "/3", "/4", "/b", "/5")
        crawls.run(
            "web",
            server.urls(f"{name}.test" for name in script),
            ROBOTSTXT_OBEY=True,
            POLITENESS_MIN_DELAY=0.35,
            ROBOTS_RETRY_SECS=0.3,
            RETRY_TIMES=0,
            **settings,
        )
        yield Stale(crawls, server)


@pytest.fixture(scope="module")
def stale(make_crawls: Callable[[str], Crawls]) -> Iterator[Stale]:
    yield from run_stale(make_crawls("stale"), STALE, ROBOTS_CACHE_MIN_SECS=1)


def test_it_is_fetched_again_when_it_is_old(crawls: Crawls) -> None:
    for stale in run_stale(crawls, {"host": NOT_B}, ROBOTS_CACHE_SECS=1):
        times = [asked.at for asked in stale.asked("host")]
        assert len(times) >= 2
        assert all(later - earlier >= 1 - SLACK for earlier, later in pairwise(times))


def test_while_it_is_fresh_it_is_not(stale: Stale) -> None:
    assert len(stale.asked("lasting")) == 1


def test_the_site_may_shorten_that(stale: Stale) -> None:
    for name in ("hasty", "expired"):
        times = [asked.at for asked in stale.asked(name)]
        assert len(times) >= 2
        assert all(later - earlier >= 1 - SLACK for earlier, later in pairwise(times))


def test_every_fetch_of_it_keeps_the_delay(stale: Stale) -> None:
    for name in STALE:
        assert min(stale.server.gaps(f"{name}.test")) >= 0.35 - SLACK


def test_new_rules_are_obeyed(stale: Stale) -> None:
    assert len(stale.asked("changed")) == 2
    ends = stale.ends("changed")
    assert (ends["/b"], ends["/5"]) == ("stored", "refused")
    reason = stale.crawls.ended(stale.server.url("changed.test", "/5"))["reason"]
    assert "(Disallow: /5)" in reason


def test_rules_that_are_taken_away_hold_no_longer(stale: Stale) -> None:
    assert set(stale.ends("then-gone").values()) == {"stored"}


@pytest.mark.parametrize("name", ["then-503", "then-429", "then-reset"])
def test_old_rules_stand_where_a_refetch_fails(stale: Stale, name: str) -> None:
    assert len(stale.asked(name)) >= 2
    ends = stale.ends(name)
    assert ends.pop("/b") == "refused"
    assert list(ends.values()) == ["stored"] * 6


def test_no_rules_are_nothing_to_fall_back_on(stale: Stale) -> None:
    """It said that there are none, and now cannot be asked: there may be some by now."""
    ends = stale.ends("none-then-500")
    assert (ends["/"], ends["/5"]) == ("stored", "failed")


# -- over restarts


def test_it_is_kept_over_restarts(crawls: Crawls) -> None:
    script: dict[Any, Any] = {
        ("long.test", "/robots.txt"): NOT_B,
        ("short.test", "/robots.txt"): rules(NOT_B.body, Cache_Control="max-age=1"),
        ("dead.test", "/robots.txt"): Answer(503),
    }
    with ScriptedServer(script) as server:
        hosts = ("long.test", "short.test")
        options = {"ROBOTSTXT_OBEY": True, "ROBOTS_CACHE_MIN_SECS": 1, "ROBOTS_RETRY_SECS": 3600}
        crawls.run("web", server.urls(hosts, "/a"), **options)
        fetched_at = time.time()
        assert [server.paths(host) for host in hosts] == [["/robots.txt", "/a"]] * 2
        # A host without an answer waits for its next try, in this run and in the next.
        seeds = [*server.urls(hosts, "/b"), *server.urls(hosts, "/c"), server.url("dead.test")]
        time.sleep(max(0.0, 1.5 - (time.time() - fetched_at)))
        for run in (1, 2):
            urls = [*seeds, server.url("long.test", f"/run-{run}")]
            command = crawls.start("web", urls, **options)
            command.until(lambda: server.paths("dead.test"))
            command.until(lambda: len(crawls.log) == 6 + run)  # noqa: B023 - called at once
            command.signal(signal.SIGINT)
            assert command.wait() == 0, (run, command.stderr)
        assert server.paths("dead.test") == ["/robots.txt"]
        assert sorted(server.paths("long.test")) == sorted(
            ["/robots.txt", "/a", "/c", "/run-1", "/run-2"]
        )
        assert server.paths("short.test")[:2] == ["/robots.txt", "/a"]
        assert server.paths("short.test")[2:] == ["/robots.txt", "/c"]
        assert [crawls.ended(server.url(host, "/b"))["outcome"] for host in hosts] == [
            "refused"
        ] * 2
