"""The robots gate by itself: what loopback cannot show, such as default ports and days."""

from __future__ import annotations

import pytest
from scrapy.http import Response

from webcrawler.politeness.cause import Cause
from webcrawler.robots import RobotsPolicy
from webcrawler.robots_gate import Errand, RobotsGate, Wait, redirected_sitemap
from webcrawler.tables import MemoryTables
from webcrawler.urls import Canonicalizer

NOON = 1_700_000_000.0  # a Tuesday, 22:13:20 UTC
DAY = 86_400.0


class Site:
    """A gate, and the answers that its errands get."""

    def __init__(self, tables: MemoryTables | None = None) -> None:
        self.tables = tables or MemoryTables()
        self.told: list[str] = []
        self.counted: list[str] = []
        self.gate = RobotsGate(
            self.tables,  # type: ignore[arg-type]  # of a store it needs the tables only
            "webcrawler",
            RobotsPolicy(retry_secs=10.0),
            Canonicalizer().fingerprint,
            tell=self.told.append,
            count=self.counted.append,
        )

    def errand(self, url: str, now: float = NOON) -> Errand:
        errand = self.gate.ask(url, now)
        assert isinstance(errand, Errand)
        return errand

    def answer(self, url: str, answer: bytes | int | Exception, now: float = NOON, **headers: str):
        errand = self.errand(url, now)
        if isinstance(answer, Exception):
            return self.gate.answered(errand, errand.url, answer, now)
        status, body = (answer, b"") if isinstance(answer, int) else (200, answer)
        response = Response(errand.url, status, headers, body)
        return self.gate.answered(errand, errand.url, response, now)


def test_sitemaps_belong_to_the_host_without_its_own_port() -> None:
    site = Site()
    learned = site.answer("https://example.org/", b"Sitemap: https://cdn.example.net/s.xml\n")
    (record,) = learned.records
    assert record.errand == "example.org 0"
    assert record.host == "cdn.example.net"
    moved = redirected_sitemap(record, "https://other.example.net/t.xml", 7)
    assert (moved.errand, moved.hops, moved.host) == ("example.org 0", 1, "other.example.net")


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://example.org/", "example.org"),
        ("https://example.org/", "example.org"),
        ("https://example.org:8443/", "example.org:8443"),
        ("http://[::1]/", "[::1]"),
        ("http://[::1]:8080/", "[::1]:8080"),
    ],
)
def test_the_host_of_an_errand(url: str, host: str) -> None:
    assert Site().errand(url).host == host


@pytest.mark.parametrize("url", ["http://example.org/", "http://[::1]:81/"])
def test_the_longer_delay_of_two_schemes_holds_for_their_host(url: str) -> None:
    site = Site()
    secure = url.replace("http:", "https:")
    assert site.answer(secure, b"User-agent: *\nCrawl-delay: 7\n").delay == 7
    assert site.answer(url, 404).delay == 7
    assert site.answer(url, b"User-agent: *\nCrawl-delay: 9\n", NOON + 2 * DAY).delay == 9


def test_a_redirect_from_http_to_https_stays_at_home() -> None:
    site = Site()
    learned = site.answer("http://example.org/", 301, Location="https://example.org/robots.txt")
    assert learned.records == []
    errand = site.errand("http://example.org/x")
    assert (errand.url, errand.abroad_since) == ("https://example.org/robots.txt", 0.0)


def test_a_record_abroad_and_its_answer() -> None:
    site = Site()
    url = "http://example.org/"
    (record,) = site.answer(url, 301, Location="https://www.example.org/robots.txt").records
    assert record.host == "www.example.org"
    wait = site.gate.ask(url, NOON + 1)
    assert isinstance(wait, Wait)
    assert wait.cause is Cause.ROBOTS
    errand = site.gate.errand_of(record, NOON + 2)
    answer = Response(record.url, body=b"User-agent: *\nDisallow: /x\n")
    site.gate.answered(errand, record.url, answer, NOON + 3)
    assert site.gate.ask(url, NOON + 4) is None
    assert site.gate.explain(url + "x", NOON + 4) is not None


def test_a_record_abroad_after_a_restart() -> None:
    """The errand is forgotten, the record is not: the URL waits for it or asks anew."""
    site = Site()
    url = "http://example.org/"
    (record,) = site.answer(url, 301, Location="https://www.example.org/robots.txt").records
    again = Site(site.tables)
    errand = again.gate.errand_of(record, NOON + 100)
    assert errand.hops == 1
    assert isinstance(again.gate.ask(url, NOON + 101), Wait)
    again.gate.answered(errand, record.url, Response(record.url, 404), NOON + 102)
    assert again.gate.ask(url, NOON + 103) is None


def test_an_answer_from_abroad_that_never_comes() -> None:
    site = Site()
    url = "http://example.org/"
    site.answer(url, 301, Location="https://www.example.org/robots.txt")
    assert isinstance(site.gate.ask(url, NOON + 299), Wait)
    assert site.gate.take_failure(url) == ""
    wait = site.gate.ask(url, NOON + 301)
    assert isinstance(wait, Wait)
    assert wait.until == NOON + 311
    assert site.gate.take_failure(url) == "no answer to a redirect"
    assert site.gate.take_failure(url) == ""
    # It comes after all.
    late = Errand("http://example.org:80", "https://www.example.org/robots.txt", 1, NOON)
    site.gate.answered(late, late.url, Response(late.url, 404), NOON + 305)
    assert site.gate.ask(url, NOON + 306) is None


def test_a_host_that_waits_lends_its_turn() -> None:
    """Two hosts that redirect to each other, and both have URLs that wait."""
    site = Site()
    left, right = "http://left.test/", "http://right.test/"
    assert site.answer(left, 302, Location=right + "robots.txt").records
    assert site.answer(right, 302, Location=left + "robots.txt").records == []
    for _ in range(4):
        site.answer(left, 302, Location=right + "robots.txt")  # in the turn of the other
        if site.gate.ask(right, NOON) is None:
            break
        site.answer(right, 302, Location=left + "robots.txt")
    assert site.gate.ask(right, NOON) is None


def test_a_month_without_an_answer() -> None:
    site = Site()
    url = "https://example.org/"
    now, tries = NOON, 0
    while isinstance(verdict := site.gate.ask(url, now), Wait | Errand):
        if isinstance(verdict, Wait):
            assert site.gate.take_failure(url) != ""
            now = verdict.until
            continue
        tries += 1
        site.answer(url, OSError("no route"), now)
    assert 30 * DAY <= now - NOON < 31 * DAY
    assert tries < 300
    assert site.gate.explain(url, now) is None
    assert len(site.told) == 1
    assert "https://example.org/robots.txt cannot be had (OSError)" in site.told[0]
    assert site.counted.count("robots/unreachable") == tries - 1


@pytest.mark.parametrize("header", ["3600", "Tue, 14 Nov 2023 23:13:20 GMT"])
def test_retry_after(header: str) -> None:
    site = Site()
    site.answer("https://example.org/", 503, **{"Retry-After": header})
    wait = site.gate.ask("https://example.org/", NOON + 1)
    assert isinstance(wait, Wait)
    assert wait.until == NOON + 3600


@pytest.mark.parametrize(
    ("hours", "wait"),
    [
        ("2200-2300", None),
        ("2300-0100", 2_800),
        ("2200-0400", None),
        ("0600-0845", 27_999 + 1),
        ("2212-2213", 86_319 + 1),
        ("0000-2359", None),
    ],
)
def test_visit_time(hours: str, wait: float | None) -> None:
    site = Site()
    site.answer("https://example.org/", f"User-agent: *\nVisit-time: {hours}\n".encode())
    verdict = site.gate.ask("https://example.org/", NOON)
    if wait is None:
        assert verdict is None
    else:
        assert verdict == Wait(NOON + wait, Cause.VISIT_TIME)
