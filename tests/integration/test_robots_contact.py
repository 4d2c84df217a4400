"""Who we are: what servers see, whose rules we obey, and what is said where nobody can reach us."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.crawler import Crawler
from scrapy.settings import Settings

from tests.integration.scripted_server import ScriptedServer, rules
from webcrawler import __version__
from webcrawler.crawl import Crawl
from webcrawler.exceptions import SettingError
from webcrawler.spiders.web import WebSpider

if TYPE_CHECKING:
    from pathlib import Path

    from tests.crawling import Crawls

WARNING = "NOBODY CAN REACH YOU"


def agents(server: ScriptedServer) -> set[str]:
    return {asked.headers["user-agent"] for asked in server.asked}


def test_the_contact_is_in_every_request(crawls: Crawls) -> None:
    with ScriptedServer() as server:
        contact = "https://crawler.example/about?a=b"
        command = crawls.run(
            "web", server.url("a.test"), ROBOTSTXT_OBEY=True, ROBOTS_CONTACT=contact
        )
        assert server.paths("a.test") == ["/robots.txt", "/"]
        assert agents(server) == {f"webcrawler/{__version__} (+{contact})"}
        assert WARNING not in command.stderr


def test_at_home_nobody_needs_it(crawls: Crawls) -> None:
    with ScriptedServer() as server:
        command = crawls.run("web", server.url("a.test"))
        assert agents(server) == {f"webcrawler/{__version__}"}
        assert WARNING not in command.stderr


def test_whoever_takes_another_name_obeys_the_rules_for_it(crawls: Crawls) -> None:
    text = "User-agent: webcrawler\nDisallow: /a\n\nUser-agent: MyBot\nDisallow: /b\n"
    with ScriptedServer({("a.test", "/robots.txt"): rules(text)}) as server:
        crawls.run(
            "web",
            [server.url("a.test", path) for path in ("/a", "/b")],
            ROBOTSTXT_OBEY=True,
            USER_AGENT="mybot/2.0",
            ROBOTS_CONTACT="bot@my.example",
        )
        assert server.paths("a.test") == ["/robots.txt", "/a"]
        assert agents(server) == {"mybot/2.0 (+bot@my.example)"}
        reason = crawls.ended(server.url("a.test", "/b"))["reason"]
        assert reason == "robots.txt: disallowed by line 5 (Disallow: /b) of the group for mybot"


def warnings(folder: Path, caplog: pytest.LogCaptureFixture, seeds: str, **options: Any) -> int:
    """How often it is said when a crawl is set up; nothing is fetched."""
    settings = Settings({"JOBDIR": str(folder / "job"), **options})
    settings.setmodule("webcrawler.settings", priority="default")
    crawler = Crawler(WebSpider, settings)
    caplog.set_level(logging.WARNING)
    try:
        WebSpider.from_crawler(crawler, seeds=seeds)
        return caplog.text.count(WARNING)
    finally:
        Crawl.of(crawler).close()


@pytest.mark.parametrize(
    ("seeds", "options", "times"),
    [
        ("example.org,http://example.net/,10.0.0.1", {}, 1),
        ("127.0.0.1,http://192.0.2.1/", {}, 1),
        ("http://[2001:db8::1]/", {}, 1),
        ("example.org", {"ROBOTS_CONTACT": "me@example.org"}, 0),
        ("127.0.0.1,http://[::1]:81/,localhost,http://127.9.9.9/", {}, 0),
        ("http://www.site.test/", {"DNS_HOSTS": "*.site.test=127.0.0.1"}, 0),
        ("http://www.site.test/", {"DNS_HOSTS": "*.site.test=10.1.1.1"}, 1),
    ],
)
def test_outside_it_is_said_loudly_and_once(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    seeds: str,
    options: dict[str, Any],
    times: int,
) -> None:
    assert warnings(tmp_path, caplog, seeds, **options) == times


@pytest.mark.parametrize("contact", ["a@b\r\nX-Evil: 1", "caf\xe9@example.org", "a\0b"])
def test_a_contact_that_is_none(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, contact: str
) -> None:
    with pytest.raises(SettingError, match="ROBOTS_CONTACT"):
        warnings(tmp_path, caplog, "127.0.0.1", ROBOTS_CONTACT=contact)
