"""Whole crawls of a plain sample web: what they reach, leave and say, and where they stop."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from scrapy.settings import Settings

from tests.crawling import LOG_FIELDS, ROOT, fetched, reachable
from webcrawler.config import Config
from webcrawler.exceptions import ArgumentError, SettingError
from webcrawler.frontier.backends import SIDE_TABLES
from webcrawler.frontier.backends.layout import OWN_TABLES, SHAPE, VERSION
from webcrawler.frontier.backends.rocks import RocksKV
from webcrawler.sampleweb import SampleServer, SampleWeb
from webcrawler.spiders.arguments import Arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.crawling import Crawls

FEED_FIELDS = {
    "url",
    "status",
    "content_type",
    "depth",
    "via",
    "title",
    "fetched_at",
    "digest",
    "links",
    "noindex",
}


@pytest.fixture(scope="module")
def whole(make_crawls: Callable[[str], Crawls], plain: SampleServer) -> Crawls:
    """A crawl of all there is, with a feed."""
    crawls = make_crawls("whole")
    crawls.run("web", plain.seeds, "-O", "pages.jl", ROBOTSTXT_OBEY=True)
    return crawls


@pytest.fixture(scope="module")
def two_domains() -> Iterator[SampleServer]:
    """Two registered domains with three hosts each, well linked."""
    domains = ("sample.test", "other.test")
    web = SampleWeb.plain(hosts=6, pages=60, domains=domains, cross_host=0.6)
    with SampleServer(web) as server:
        yield server


@pytest.fixture(scope="module")
def files() -> Iterator[SampleServer]:
    """Pages with texts, PDFs, feeds, images and binaries among them."""
    with SampleServer(SampleWeb.plain(hosts=2, pages=60, files=0.3)) as server:
        yield server


# -- what a whole crawl reaches and leaves


def test_it_reaches_exactly_the_reachable_pages(whole: Crawls, plain: SampleServer) -> None:
    truth = plain.web.truth().reachable_pages()
    assert Counter(whole.urls) == Counter(list(truth))
    assert {line["url"]: line["depth"] for line in whole.log}.keys() == truth.keys()


def test_every_line_of_the_log_has_its_fields(whole: Crawls, plain: SampleServer) -> None:
    links = plain.web.truth().links
    for line in whole.log:
        assert tuple(line)[: len(LOG_FIELDS)] == LOG_FIELDS
        assert datetime.fromisoformat(line["at"]).tzinfo is not None
        assert line["status"] == 200
        assert line["outcome"] == "stored"
        assert line["type"] == "text/html"
        assert line["bytes"] > 100
        assert line["ms"] > 0
        if line["depth"]:
            assert line["url"] in {link.url for link in links[line["via"]]}
        else:
            assert line["url"] in plain.seeds
            assert line["via"] == ""


def test_a_link_is_one_deeper_than_its_page(whole: Crawls) -> None:
    depths = {line["url"]: line["depth"] for line in whole.log}
    assert all(line["depth"] == depths[line["via"]] + 1 for line in whole.log if line["via"])


def test_the_report_agrees_with_the_log(whole: Crawls, plain: SampleServer) -> None:
    report, log = whole.report, whole.log
    assert report["finished"] is True
    assert report["reason"] == "finished"
    assert report["pages"] == len(log)
    assert report["bytes"] == sum(line["bytes"] for line in log)
    assert report["by_status"] == {"200": len(log)}
    assert report["by_type"] == {"text/html": len(log)}
    assert report["by_outcome"] == {"stored": len(log)}
    assert report["errors"] == {}
    assert report["hosts"] == len(plain.web.host_names)
    assert report["pages_per_second"] > 0
    assert report["frontier"]["known"] == len(log)
    assert report["frontier"]["waiting"] == report["frontier"]["in_flight"] == 0


def test_a_feed_has_a_line_for_every_page(whole: Crawls, plain: SampleServer) -> None:
    lines = [json.loads(line) for line in (whole.folder / "pages.jl").read_text().splitlines()]
    log = {line["url"]: line for line in whole.log}
    assert {line["url"] for line in lines} == log.keys()
    truth = plain.web.truth()
    for line in lines:
        assert set(line) >= FEED_FIELDS
        assert line["content_type"] == "text/html"
        assert line["via"] == log[line["url"]]["via"]
        assert line["depth"] == log[line["url"]]["depth"]
        assert line["links"] == len(truth.links[line["url"]])
        assert line["title"]
        assert line["noindex"] is False


def test_the_same_command_says_that_it_is_finished(whole: Crawls, plain: SampleServer) -> None:
    log, before = whole.log, len(plain.arrivals)
    command = whole.run("web", plain.seeds, ROBOTSTXT_OBEY=True)
    assert len(plain.arrivals) == before
    assert whole.log == log
    assert whole.report["finished"] is True
    assert whole.report["pages"] == len(log)
    assert f"finished; to start afresh delete {whole.job}" in command.stderr


def test_the_command_as_people_type_it(tmp_path: Path, plain: SampleServer) -> None:
    scrapy = Path(sys.executable).with_name("scrapy")
    arguments = ("crawl", "site", "-a", f"seeds={plain.seeds[0]}", "-a", "job=mine")
    settings = (
        f"CRAWLS_DIR={tmp_path}",
        "DNS_HOSTS=*.sample.test=127.0.0.1",
        "POLITENESS_MIN_DELAY=0",
        "POLITENESS_LATENCY_FACTOR=0",
    )
    done = subprocess.run(
        [scrapy, *arguments, *(word for setting in settings for word in ("-s", setting))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "Warning" not in done.stderr
    report = json.loads((tmp_path / "mine" / "report.json").read_text())
    truth = plain.web.truth().reachable_pages(hosts={plain.web.host_names[0]})
    assert report["pages"] == len(truth)
    assert f"in {tmp_path / 'mine'}: " in done.stderr


def test_without_a_reactor_and_without_a_store(crawls: Crawls, plain: SampleServer) -> None:
    crawls.run("web", plain.seeds, TWISTED_REACTOR_ENABLED=False, FRONTIER_BACKEND="memory")
    assert set(crawls.urls) == plain.web.truth().reachable_pages().keys()
    refused = crawls.frontier("stats")
    assert refused.code == 2
    assert refused.stderr == (
        f"error: no frontier is kept in {crawls.job}: its crawl had another FRONTIER_BACKEND\n"
    )


def test_everything_of_the_sample_web(crawls: Crawls) -> None:
    """All its features: every page that robots.txt, nofollow and sitemaps let a crawler reach."""
    with SampleServer(SampleWeb(hosts=12, pages=150, crawl_delay=0.05, retry_after=0)) as server:
        crawls.run("web", server.seeds, ROBOTSTXT_OBEY=True, SITEMAPS_ENABLED=False, RETRY_TIMES=3)
        truth = server.web.truth()
        log = crawls.log
        stored = {line["url"] for line in log if line["outcome"] in ("stored", "noindex")}
        # A session number does not make another page: one of each is enough.
        pages = {url.partition("?")[0] for url in truth.reachable_pages()}
        assert {url.partition("?")[0] for url in stored} == pages
        assert max(Counter(line["url"] for line in log).values()) == 1
        moved = {server.url(name, "/robots-moved.txt") for name in server.web.host_names}
        assert set(fetched(server)) <= truth.reachable().keys() | moved
        refused = {line["url"] for line in log if line["outcome"] == "refused"}
        assert refused
        assert not any(server.web.is_allowed(url) for url in refused)


# -- where a crawl stops


def test_max_pages_is_exact_over_restarts(crawls: Crawls, plain: SampleServer) -> None:
    truth = plain.web.truth().reachable_pages()
    before = len(fetched(plain))
    for limit, pages in ((7, 7), (7, 7), (20, 20)):  # the second run has nothing to do
        crawls.run("web", plain.seeds, max_pages=limit)
        assert crawls.report["pages"] == len(crawls.log) == pages
        assert crawls.report["reason"] == "max_pages"
        assert crawls.report["finished"] is False
        assert len(fetched(plain)) - before == pages
    assert max(Counter(crawls.urls).values()) == 1
    assert set(crawls.urls) < truth.keys()


def test_max_depth(crawls: Crawls, plain: SampleServer) -> None:
    """Depth 0 is tested with the seeds."""
    crawls.run("web", plain.seeds, max_depth=1)
    assert set(crawls.urls) == plain.web.truth().reachable_pages(max_depth=1).keys()


def test_max_seconds(crawls: Crawls, plain: SampleServer) -> None:
    command = crawls.run("web", plain.seeds, max_seconds=1, POLITENESS_MIN_DELAY=30)
    assert crawls.report["reason"] == "closespider_timeout"
    assert crawls.report["frontier"]["waiting"] > 0
    assert "the same command goes on" in command.stderr


# -- what is followed


def test_allow_and_deny(crawls: Crawls, plain: SampleServer) -> None:
    crawls.run("web", plain.seeds, allow=r"/(news|docs|$)", deny="[02468]\\.html$")

    def follow(url: str) -> bool:
        return bool(re.search(r"/(news|docs|$)", url)) and not re.search(r"[02468]\.html$", url)

    expected = reachable(plain, plain.seeds, follow)
    assert 1 < len(expected) < 60
    assert set(crawls.urls) == expected.keys()


def test_site_stays_on_its_hosts(crawls: Crawls, two_domains: SampleServer) -> None:
    seeds = [two_domains.url(0), two_domains.url(1)]
    crawls.run("site", seeds)
    hosts = {urlsplit(seed).netloc for seed in seeds}
    expected = reachable(two_domains, seeds, lambda url: urlsplit(url).netloc in hosts)
    assert set(crawls.urls) == expected.keys()


def test_site_with_its_whole_domain(crawls: Crawls, two_domains: SampleServer) -> None:
    crawls.dns = two_domains.dns
    crawls.run("site", two_domains.url(1), whole_domain="yes")
    expected = reachable(
        two_domains, [two_domains.url(1)], lambda url: ".other.test:" in urlsplit(url).netloc
    )
    assert {urlsplit(url).netloc for url in expected} != {urlsplit(two_domains.url(1)).netloc}
    assert set(crawls.urls) == expected.keys()


def test_directory_stays_below(crawls: Crawls, plain: SampleServer) -> None:
    # The page from which most can be reached without leaving its directory.
    def found(seed: str) -> dict[str, int]:
        directory = seed.rpartition("/")[0] + "/"
        return reachable(plain, [seed], lambda url: url.startswith(directory))

    pages = [url for url in plain.web.truth().reachable_pages() if urlsplit(url).path != "/"]
    seed = max(pages, key=lambda url: len(found(url)))
    crawls.run("directory", seed)
    assert set(crawls.urls) == found(seed).keys()
    assert len(crawls.urls) > 1


def _without(*extensions: str) -> Callable[[str], bool]:
    return lambda url: not url.endswith(extensions)


def test_html_only_by_default(crawls: Crawls, files: SampleServer) -> None:
    crawls.run("web", files.seeds)
    expected = reachable(
        files, files.seeds, _without(".txt", ".pdf", ".rss", ".atom", ".png", ".bin")
    )
    assert set(crawls.urls) == expected.keys()
    assert set(fetched(files)) == expected.keys()


def test_content_types(crawls: Crawls, files: SampleServer) -> None:
    crawls.run("web", files.seeds, content_types="html,text/plain")
    expected = reachable(files, files.seeds, _without(".pdf", ".rss", ".atom", ".png", ".bin"))
    assert set(crawls.urls) == expected.keys()
    types = files.web.truth().types
    assert crawls.report["by_type"] == Counter(types[url] for url in expected)
    assert "text/plain" in crawls.report["by_type"]


def test_url_settings(crawls: Crawls, two_domains: SampleServer) -> None:
    crawls.dns = two_domains.dns
    crawls.run("web", two_domains.url(0), URL_DENY_DOMAINS="other.test", URL_MAX_LENGTH=44)

    def follow(url: str) -> bool:
        return ".other.test" not in url and len(url) <= 44

    expected = reachable(two_domains, [two_domains.url(0)], follow)
    assert 1 < len(expected) < 60
    assert set(crawls.urls) == expected.keys()


# -- seeds


def test_seeds_in_a_file(crawls: Crawls, plain: SampleServer) -> None:
    lines = ["# two of them", plain.url(0), "", f"  {plain.url(1)}  "]
    (crawls.folder / "seeds.txt").write_text("\r\n".join(lines))
    crawls.run("web", "@seeds.txt", max_depth=0)
    assert set(crawls.urls) == {plain.url(0), plain.url(1)}


def test_seeds_on_standard_input(crawls: Crawls, plain: SampleServer) -> None:
    crawls.run("web", "-", stdin=f"{plain.url(1)}\n{plain.url(2)}\n", max_depth=0)
    assert set(crawls.urls) == {plain.url(1), plain.url(2)}


def test_unknown_arguments(crawls: Crawls, plain: SampleServer) -> None:
    command = crawls.run("web", plain.seeds, max_page=3, _job="scrapyd", color="red", max_depth=0)
    assert "argument max_page is not known: was max_pages meant?" in command.stderr
    assert "_job" not in command.stderr
    assert "color" not in command.stderr


# -- bad input

BAD: dict[str, tuple[str, dict[str, Any]]] = {
    "no seeds": ("argument seeds=", {"seeds": ""}),
    "no URL": ("no http or https URL", {"seeds": "sample.test,mailto:someone@sample.test"}),
    "unreadable seeds": ("No such file", {"seeds": "@nowhere.txt"}),
    "no regular expression": ("no regular expression", {"allow": "("}),
    "bad setting": ("one of memory, rocks, redis", {"FRONTIER_BACKEND": "paper"}),
    "bad download setting": ("DNS_HOSTS", {"DNS_HOSTS": "sample.test"}),
    "below a file": ("Not a directory", {"JOBDIR": "/dev/null/job"}),
    "no spider": ("the spiders are directory, site, web", {"spider": "webb"}),
}
BAD_ARGUMENTS = {
    "seeds": ("@/dev/null", "http://a b/", "http://", "ftp://a.test/", "http://a.test:99999/"),
    "max_pages": ("many", "-1", "1.5", ""),
    "max_depth": ("deep", "-2"),
    "max_seconds": ("soon", "-1", "nan"),
    "allow": ("(", "*"),
    "deny": ("[",),
    "content_types": ("pictures", "", ",", "text/html,a b"),
    "job": ("../elsewhere", "/tmp", ".", "a" * 200),
    "whole_domain": ("perhaps",),
}
BAD_SETTINGS = {
    "POLITENESS_MIN_DELAY": ("-1", "soon", "nan"),
    "POLITENESS_OVERRIDES": ('{"a.test": 5}', '{"a.test": {"delay": 1}}', "{"),
    "POLITENESS_PARK_AFTER": ("0",),
    "FRONTIER_WEIGHTS": ("1,2", "0,0,0,0,0,0,0,0", "a,b,c,d,e,f,g,h"),
    "FRONTIER_FRONT_QUEUES": ("0", "256", "two"),
    "FRONTIER_ORDER": ("random",),
    "FRONTIER_BLOOM_ERROR": ("0", "1"),
    "CONCURRENT_REQUESTS": ("0",),
    "ANCHORS_ENABLED": ("perhaps",),
    "URL_DENY_DOMAINS": ("a b",),
}


@pytest.mark.parametrize("name", BAD_ARGUMENTS)
def test_bad_arguments(name: str) -> None:
    for value in BAD_ARGUMENTS[name]:
        with pytest.raises(ArgumentError, match=f"argument {name}="):
            Arguments.parse({name: value})


@pytest.mark.parametrize("name", BAD_SETTINGS)
def test_bad_settings(name: str) -> None:
    for value in BAD_SETTINGS[name]:
        with pytest.raises(SettingError, match=f"setting {name}="):
            Config(Settings({name: value})).check()


def assert_refused(command: Any, words: str) -> None:
    """One sentence on stderr, exit code 2."""
    assert command.wait() == 2, command.stderr
    lines = command.stderr.splitlines()
    assert len(lines) == 1, command.stderr
    assert lines[0].startswith("error: ")
    assert words in lines[0]


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(crawls: Crawls, plain: SampleServer, name: str) -> None:
    words, changes = BAD[name]
    before = len(plain.arrivals)
    given = {"spider": "web", "seeds": plain.seeds[0], **changes}
    assert_refused(crawls.start(**given, LOG_LEVEL="WARNING"), words)
    assert len(plain.arrivals) == before


def test_a_job_folder_that_cannot_be_written(crawls: Crawls, plain: SampleServer) -> None:
    crawls.job.mkdir()
    crawls.job.chmod(0o555)
    command = crawls.start("web", plain.seeds, is_powerless=True, LOG_LEVEL="WARNING")
    assert_refused(command, f"cannot write to the job folder {crawls.job}: Permission denied")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"version": 99}', "was written by a newer version of webcrawler (format 99"),
        ("{", "is no JSON"),
    ],
)
def test_a_job_folder_of_another_kind(
    crawls: Crawls, plain: SampleServer, text: str, words: str
) -> None:
    crawls.job.mkdir()
    (crawls.job / "job.json").write_text(text)
    before = len(plain.arrivals)
    assert_refused(crawls.start("web", plain.seeds, LOG_LEVEL="WARNING"), words)
    assert len(plain.arrivals) == before


@pytest.mark.parametrize(
    ("version", "queues", "words"),
    [
        (VERSION + 1, 8, "was written by a newer version"),
        (VERSION, 5, "was started with FRONTIER_FRONT_QUEUES=5, not 8"),
    ],
)
def test_a_frontier_of_another_kind(
    crawls: Crawls, plain: SampleServer, version: int, queues: int, words: str
) -> None:
    kv = RocksKV(crawls.job / "frontier", (*OWN_TABLES, *SIDE_TABLES), sync_secs=0)
    batch = kv.batch()
    batch.put(b"shape", SHAPE.pack(version, queues), kv.handle("meta"))
    kv.write(batch)
    kv.close()
    before = len(plain.arrivals)
    assert_refused(crawls.start("web", plain.seeds, LOG_LEVEL="WARNING"), words)
    assert len(plain.arrivals) == before


def test_a_crawl_that_runs_already(crawls: Crawls, plain: SampleServer) -> None:
    first = crawls.start("web", plain.seeds, POLITENESS_MIN_DELAY=30)
    first.until((crawls.job / "running.json").exists)
    second = crawls.start("web", plain.seeds, LOG_LEVEL="WARNING")
    assert_refused(second, f"the crawl in {crawls.job} is already running")
    assert not first.has_ended()
