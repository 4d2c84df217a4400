"""What each answer to robots.txt means, seen from the server: one crawl of a host for each case.

Every host has two pages, /a and /b, and a robots.txt that, where it can be had, forbids /b.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.scripted_server import Answer, ScriptedServer, moved, rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.crawling import Crawls

NOT_B = rules("User-agent: *\nDisallow: /b\n")
RETRY_TIMES = 2

# How the two pages end.
OBEYED = ("stored", "refused")
ALLOWED = ("stored", "stored")
FAILED = ("failed", "failed")


@dataclass(frozen=True)
class Case:
    """What is answered at /robots.txt and, by path, beside it; how often it is asked for."""

    answer: Any
    ends: tuple[str, ...]
    asked: int | None = 1
    others: tuple[tuple[str, Answer], ...] = ()
    reason: str = ""


def chain(length: int) -> Case:
    """So many redirects on the same host before the rules."""
    places = [f"/{hop}.txt" for hop in range(1, length + 1)]
    others = [*(moved(place) for place in places[1:]), NOT_B]
    is_followed = length <= 5
    return Case(
        moved(places[0]),
        OBEYED if is_followed else ALLOWED,
        1,
        tuple(zip(places, others, strict=True)),
    )


def unreachable(answer: Answer, reason: str, urls: int = 2) -> Case:
    """Nothing is fetched, and each URL fails after as many tries as a page has."""
    return Case(answer, FAILED[:urls], urls * (RETRY_TIMES + 1), reason=reason)


CASES: dict[str, Case] = {
    # 2xx
    "status-200": Case(NOT_B, OBEYED),
    "status-203": Case(Answer(203, NOT_B.body), OBEYED),
    "status-206": Case(Answer(206, NOT_B.body), OBEYED),
    "status-204": Case(Answer(204, b""), ALLOWED),
    "empty": Case(rules(""), ALLOWED),
    # 4xx
    **{
        f"status-{status}": Case(Answer(status, NOT_B.body), ALLOWED)
        for status in (400, 401, 403, 404, 410, 418, 451)
    },
    # redirects on the same host
    **{f"chain-{length}": chain(length) for length in range(1, 8)},
    "chain-by-307": Case(moved("/r.txt", 307), OBEYED, 1, (("/r.txt", NOT_B),)),
    "chain-to-404": Case(moved("/r.txt"), ALLOWED, 1, (("/r.txt", Answer(404)),)),
    "loop": Case(moved("/robots.txt"), ALLOWED, 6),
    # redirects that lead nowhere
    "no-location": Case(Answer(302, NOT_B.body), ALLOWED),
    "status-300": Case(Answer(300, NOT_B.body), ALLOWED),
    "empty-location": Case(moved(""), ALLOWED),
    "odd-location": Case(moved("http://[::1"), ALLOWED),
    "no-host-location": Case(moved("http://"), ALLOWED),
    "ftp-location": Case(moved("ftp://elsewhere.test/robots.txt"), ALLOWED),
    "script-location": Case(moved("javascript:alert(1)"), ALLOWED),
    "byte-location": Case(moved("/\xff\xfe x.txt"), OBEYED, 1),
    "long-location": Case(moved("/" + "r" * 30_000), ALLOWED, 1),
    # to other hosts
    "abroad": Case(moved("http://keeper.test:{port}/rules.txt"), OBEYED),
    "abroad-and-back": Case(
        moved("http://keeper.test:{port}/back-to-abroad-and-back"), OBEYED, 1, (("/r.txt", NOT_B),)
    ),
    "abroad-in-five": Case(moved("http://keeper.test:{port}/in-four"), OBEYED),
    "abroad-in-six": Case(moved("http://keeper.test:{port}/in-five"), ALLOWED),
    "abroad-to-404": Case(moved("http://keeper.test:{port}/none"), ALLOWED),
    "ping": Case(moved("http://pong.test:{port}/robots.txt"), ALLOWED, None),
    "pong": Case(moved("http://ping.test:{port}/robots.txt"), ALLOWED, None),
    "abroad-to-503": Case(moved("http://keeper.test:{port}/503"), ("failed",), 3, reason="503"),
    "abroad-to-nobody": Case(moved("http://closed.test:1/robots.txt"), ("failed",), 3),
    "to-private": Case(
        moved("http://127.0.0.1:{port}/robots.txt"), ("failed",), 3, reason="DownloadCancelledError"
    ),
    # no answer, or not now
    **{
        f"status-{status}": unreachable(Answer(status, NOT_B.body), f"status {status}")
        for status in (429, 500, 502, 503, 504, 599)
    },
    "status-304": unreachable(Answer(304, b""), "status 304"),
    "status-999": unreachable(Answer(999, b""), "status 999"),
    "reset": unreachable(Answer(ending="reset"), "DownloadFailedError"),
    "hang": unreachable(Answer(ending="hang"), "DownloadTimeoutError", urls=1),
    # it comes back
    "back-after-503": Case([Answer(503), Answer(503), NOT_B], OBEYED, 3),
    "back-after-reset": Case([Answer(ending="reset"), NOT_B], OBEYED, 2),
    "back-after-429": Case([Answer(429), Answer(404)], ALLOWED, 2),
    "back-by-chain": Case(
        [Answer(503), Answer(503), moved("/1.txt")],
        OBEYED,
        3,
        (
            ("/1.txt", moved("/2.txt")),
            ("/2.txt", moved("/3.txt")),
            ("/3.txt", NOT_B),
        ),
    ),
}


@dataclass
class Statuses:
    crawls: Crawls
    server: ScriptedServer

    def ended(self, name: str, path: str = "/a") -> dict[str, Any]:
        return self.crawls.ended(self.server.url(f"{name}.test", path))

    def robots(self, name: str) -> list[str]:
        return [path for path in self.server.paths(f"{name}.test") if path == "/robots.txt"]


def pages(case: Case) -> list[str]:
    return ["/a", "/b"][: len(case.ends)]


@pytest.fixture(scope="module")
def statuses(make_crawls: Callable[[str], Crawls]) -> Iterator[Statuses]:
    """One crawl in which all of it happens."""
    crawls = make_crawls("statuses")
    script: dict[Any, Any] = {
        ("keeper.test", "/rules.txt"): NOT_B,
        ("keeper.test", "/back-to-abroad-and-back"): moved(
            "http://abroad-and-back.test:{port}/r.txt"
        ),
        ("keeper.test", "/in-one"): moved("/rules.txt"),
        ("keeper.test", "/none"): Answer(404),
        ("keeper.test", "/503"): Answer(503),
        ("byte-location.test", "/%FF%FE%20x.txt"): NOT_B,
    }
    numbers = ("one", "two", "three", "four", "five")
    for shorter, longer in pairwise(numbers):
        # From one host to the other and back, so that each step is one abroad.
        host = "keeper" if longer in ("two", "four") else "helper"
        other = "helper" if host == "keeper" else "keeper"
        script[f"{host}.test", f"/in-{longer}"] = moved(
            f"http://{other}.test:{{port}}/in-{shorter}"
        )
    script["helper.test", "/in-one"] = moved("http://keeper.test:{port}/rules.txt")
    script["keeper.test", "/in-five"] = moved("http://helper.test:{port}/in-five")
    seeds = []
    with ScriptedServer() as server:
        for name, case in CASES.items():
            script[f"{name}.test", "/robots.txt"] = case.answer
            script |= {(f"{name}.test", path): answer for path, answer in case.others}
            seeds += [server.url(f"{name}.test", path) for path in pages(case)]
        seeds += ["http://closed.test:1/a"]
        server.script = script
        crawls.run(
            "web",
            seeds,
            ROBOTSTXT_OBEY=True,
            ROBOTS_RETRY_SECS=0.1,
            RETRY_TIMES=RETRY_TIMES,
            DOWNLOAD_TIMEOUT=1,
            POLITENESS_PARK_AFTER=1000,
            DNS_DENY_PRIVATE=True,  # but for the names that the test gives addresses to
            STATS_DUMP=True,
        )
        yield Statuses(crawls, server)


@pytest.mark.parametrize("name", CASES)
def test_what_an_answer_means(statuses: Statuses, name: str) -> None:
    case = CASES[name]
    lines = [statuses.ended(name, path) for path in pages(case)]
    assert tuple(line["outcome"] for line in lines) == case.ends
    for line in lines:
        if line["outcome"] == "failed":
            assert line["reason"].startswith("robots.txt cannot be had")
            assert case.reason in line["reason"]
            assert line["status"] == 0
            assert line["bytes"] == 0
    asked = statuses.server.paths(f"{name}.test")
    wanted = [path for path, end in zip(pages(case), case.ends, strict=True) if end == "stored"]
    assert sorted(path for path in asked if path in ("/a", "/b")) == wanted
    assert asked[0] == "/robots.txt"


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.asked])
def test_how_often_it_is_asked_for(statuses: Statuses, name: str) -> None:
    assert len(statuses.robots(name)) == CASES[name].asked


def test_five_redirects_are_followed_and_no_more(statuses: Statuses) -> None:
    for length in range(1, 8):
        paths = [path for path in statuses.server.paths(f"chain-{length}.test") if ".txt" in path]
        assert paths == ["/robots.txt", *(f"/{hop}.txt" for hop in range(1, min(length, 5) + 1))]


def test_nothing_of_a_host_is_asked_for_before_its_rules_are_there(statuses: Statuses) -> None:
    """Also where they come from another host."""
    at = next(asked for asked in statuses.server.asked if asked.path == "/rules.txt").ended_at
    page = next(asked for asked in statuses.server.of("abroad.test") if asked.path == "/a")
    assert page.at > at


def test_a_server_that_refuses_connections(statuses: Statuses) -> None:
    line = statuses.crawls.ended("http://closed.test:1/a")
    assert line["outcome"] == "failed"
    assert line["reason"].startswith("robots.txt cannot be had")
    assert "Refused" in line["reason"]


def test_nobody_leads_us_to_a_private_address(statuses: Statuses) -> None:
    assert statuses.server.of("127.0.0.1") == []


def test_a_refusal_names_the_line(statuses: Statuses) -> None:
    line = statuses.ended("status-200", "/b")
    assert line["reason"] == "robots.txt: disallowed by line 2 (Disallow: /b) of the group for *"
    assert (line["status"], line["bytes"]) == (0, 0)


def test_all_of_it_is_counted(statuses: Statuses) -> None:
    crawls = statuses.crawls
    ends = [end for case in CASES.values() for end in case.ends] + ["failed"]
    report = crawls.report
    assert report["by_outcome"]["refused"] == ends.count("refused")
    assert report["by_outcome"]["failed"] == ends.count("failed")
    assert sum(report["errors"].values()) == ends.count("failed")
    assert report["finished"] is True
    assert report["frontier"]["waiting"] == 0
    stderr = crawls.commands[0].stderr
    assert f"'robots/refused': {ends.count('refused')}" in stderr
    # One sentence for the first of them: a crawl of the web meets such hosts all day.
    assert stderr.count("cannot be had (") == 1
