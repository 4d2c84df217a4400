"""`scrapy frontier` on stopped and on running crawls, and what starts from a checkpoint."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.crawling import Crawls
from tests.odd_server import Answer, OddServer, page
from webcrawler.sampleweb import SampleServer, SampleWeb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.crawling import Answered

HOSTS = ("a.test", "b.test", "c.test")


@pytest.fixture(scope="module")
def site() -> Iterator[OddServer]:
    """Three hosts with ten pages each; a.test/1 and b.test are not what they seem."""
    with OddServer({}) as server:
        links = [server.url(host, f"/{n}") for n in range(10) for host in HOSTS]
        server.answers["a.test", "/"] = page(*links)
        server.answers["b.test", "/0"] = Answer(404)
        yield server


@pytest.fixture(scope="module")
def stopped(make_crawls: Callable[[str], Crawls], site: OddServer) -> Crawls:
    """A crawl that fetched the seed and one page of each host, and was stopped."""
    crawls = make_crawls("stopped")
    command = crawls.start("web", site.url("a.test"), POLITENESS_MIN_DELAY=6000)
    command.until(lambda: len(crawls.log) == 3)
    command.signal(2)
    assert command.wait() == 0
    return crawls


@pytest.fixture
def running(crawls: Crawls, site: OddServer) -> Iterator[Crawls]:
    """The same, still running: all hosts are held for a long time."""
    command = crawls.start("web", site.url("a.test"), POLITENESS_MIN_DELAY=6000)
    command.until(lambda: len(crawls.log) == 3)
    yield crawls
    assert not command.has_ended(), command.stderr


def host(site: OddServer, name: str) -> str:
    return f"{name}:{site.port}"


# -- looking


def check_stats(crawls: Crawls) -> None:
    stats = crawls.ask("stats")
    assert stats["known"] == 31
    assert stats["waiting"] == 28
    assert stats["hosts"] == 3
    assert stats["ended"] == {"stored": 2, "failed": 1}
    assert stats["in_flight"] == stats["frozen"] == 0
    text = crawls.frontier("stats").stdout
    assert "known          31" in text
    assert "stored 2, failed 1" in text


def check_hosts(crawls: Crawls, site: OddServer) -> None:
    rows = crawls.ask("hosts")
    assert {row["host"]: row["waiting"] for row in rows} == {
        host(site, "a.test"): 10,
        host(site, "b.test"): 9,
        host(site, "c.test"): 9,
    }
    assert rows[0]["waiting"] == 10, "by waiting"
    for row in rows:
        assert row["delay"] == 6000
        assert 0 < row["in_secs"] <= 6000
        assert row["because"] == "minimum delay"
    times = [row["next_at"] for row in crawls.ask("hosts", "next")]
    assert times == sorted(times)
    assert crawls.ask("hosts", "failing") == []
    assert len(crawls.ask("hosts", "-n", 1)) == 1
    assert host(site, "b.test") in crawls.frontier("hosts").stdout


def check_peek(crawls: Crawls, site: OddServer) -> None:
    result = crawls.ask("peek", host(site, "c.test"), "-n", 3)
    assert [row["url"] for row in result["urls"]] == [
        site.url("c.test", f"/{n}") for n in (1, 2, 3)
    ]
    assert {(row["queue"], row["depth"]) for row in result["urls"]} == {(2, 1)}
    text = crawls.frontier("peek", host(site, "c.test").upper()).stdout
    assert site.url("c.test", "/9") in text
    assert "9 URLs wait" in text
    assert "is no host of this crawl" in crawls.frontier("peek", "nowhere.test").stdout


def check_why(crawls: Crawls, site: OddServer) -> None:
    ended = crawls.ask("why", site.url("b.test", "/0"))
    assert ended["state"] == "ended"
    assert (ended["outcome"], ended["status"], ended["depth"]) == ("failed", 404, 1)
    assert ended["via"] == site.url("a.test")
    assert time.time() - 3600 < ended["ended_at"] < time.time()
    waiting = crawls.ask("why", site.url("b.test", "/5") + "#fragment")
    assert waiting["state"] == "waiting"
    assert waiting["known_as"] == site.url("b.test", "/5")
    assert waiting["via"] == site.url("a.test")
    assert waiting["queue"] == 2
    assert "breadth-first, depth 1: queue 2" in waiting["queue_because"]
    assert waiting["host"]["because"] == "minimum delay"
    assert waiting["host"]["in_secs"] > 0
    unknown = crawls.ask("why", site.url("b.test", "/nowhere"))
    assert unknown["state"] == "unknown"
    text = crawls.frontier("why", site.url("c.test", "/9")).stdout
    assert "in front queue 2 (breadth-first, depth 1: queue 2)" in text
    assert f"it was found on {site.url('a.test')}" in text
    assert "set by minimum delay; 9 URLs wait" in text
    text = crawls.frontier("why", site.url("b.test", "/0")).stdout
    assert "ended as failed (status 404)" in text
    assert "was never put" in crawls.frontier("why", site.url("d.test")).stdout


def test_looking_into_a_stopped_crawl(stopped: Crawls, site: OddServer) -> None:
    check_stats(stopped)
    check_hosts(stopped, site)
    check_peek(stopped, site)
    check_why(stopped, site)


def test_looking_into_a_running_crawl(running: Crawls, site: OddServer) -> None:
    check_stats(running)
    check_hosts(running, site)
    check_why(running, site)


def test_the_command_as_people_type_it(stopped: Crawls) -> None:
    """In a process of its own, and without a job: the latest crawl is meant."""
    command = stopped.command("frontier", "stats", "-s", f"CRAWLS_DIR={stopped.folder}")
    assert command.wait() == 0, command.stderr
    assert "known          31" in command.stdout
    assert command.stderr == ""


# -- changing


def change(crawls: Crawls, site: OddServer) -> None:
    """Block b.test, drop the odd pages, add a URL."""
    blocked = crawls.ask("block", host(site, "b.test"))
    assert blocked == {"host": host(site, "b.test"), "known": True}
    assert crawls.ask("stats")["frozen"] == 10
    assert "is blocked" in crawls.frontier("why", site.url("b.test", "/6")).stdout
    dropped = crawls.ask("drop", "/[13579]$")
    assert dropped["looked_at"] >= dropped["dropped"]
    assert crawls.ask("add", site.url("d.test"), site.url("a.test")) == {"given": 2, "new": 1}


def check_changed(crawls: Crawls, site: OddServer) -> None:
    """What is in the end, with b.test still blocked."""
    outcomes = {line["url"]: line["outcome"] for line in crawls.log}
    assert len(outcomes) == len(crawls.log), "everything ends once"
    for name in ("a.test", "c.test"):
        for number in range(10):
            url = site.url(name, f"/{number}")
            assert outcomes[url] == ("filtered" if number % 2 else "stored")
    assert outcomes[site.url("d.test")] == "stored"
    assert {url for url in outcomes if "//b.test" in url} == {
        site.url("b.test", f"/{number}") for number in (1, 3, 5, 7, 9)
    }
    assert crawls.report["by_outcome"] == Counter(outcomes.values())


def test_changing_a_stopped_crawl(crawls: Crawls, site: OddServer) -> None:
    seed = site.url("a.test")
    crawls.run("web", seed, max_pages=1)
    change(crawls, site)
    assert "dropped by hand" in {line.get("reason") for line in crawls.log}
    command = crawls.run("web", seed)
    check_changed(crawls, site)
    assert "5 URLs are kept on hosts that are blocked" in command.stderr
    assert crawls.report["finished"] is True
    assert crawls.ask("unblock", host(site, "b.test"))["known"] is True
    crawls.run("web", seed)
    outcomes = {line["url"]: line["outcome"] for line in crawls.log}
    assert outcomes[site.url("b.test", "/8")] == "stored"
    assert len(outcomes) == 32


def test_changing_a_running_crawl(crawls: Crawls, site: OddServer) -> None:
    slow = {host(site, name): {"min_delay": 6000} for name in HOSTS}
    command = crawls.start("web", site.url("a.test"), POLITENESS_OVERRIDES=slow)
    command.until(lambda: len(crawls.log) == 3)
    assert crawls.ask("drop", "/[2-9]$") == {"looked_at": 28, "dropped": 24}
    assert Counter(line["outcome"] for line in crawls.log)["filtered"] == 24
    assert crawls.ask("why", site.url("c.test", "/9"))["outcome"] == "filtered"
    # The engine sleeps: it is woken for what is new, and for what may go on.
    crawls.ask("add", site.url("d.test", "/1"))
    command.until(lambda: site.url("d.test", "/1") in crawls.urls)
    crawls.ask("block", host(site, "d.test"))
    crawls.ask("add", site.url("d.test", "/2"))
    assert crawls.ask("why", site.url("d.test", "/2"))["state"] == "waiting"
    assert crawls.ask("stats")["frozen"] == 1
    crawls.ask("unblock", host(site, "d.test"))
    command.until(lambda: site.url("d.test", "/2") in crawls.urls)
    command.signal(2)
    assert command.wait() == 0, command.stderr
    assert crawls.report["by_outcome"] == Counter(line["outcome"] for line in crawls.log)
    assert crawls.report["frontier"]["waiting"] == 4


# -- checkpoints


def test_a_crawl_starts_from_a_checkpoint_of_a_running_one(crawls: Crawls, launcher: Any) -> None:
    with SampleServer(SampleWeb.plain(hosts=4, pages=60)) as server:
        truth = server.web.truth().reachable_pages()
        command = crawls.start("web", server.seeds, POLITENESS_MIN_DELAY=0.6)
        command.until(lambda: len(crawls.log) >= 6)
        answer = crawls.ask("checkpoint", "copy")
        assert answer == {"folder": str(crawls.folder / "copy")}
        known = Crawls(launcher, crawls.folder, name="copy").ask("stats")
        command.kill()
        assert 0 < known["waiting"] < known["known"]
        copy = Crawls(launcher, crawls.folder, name="copy")
        copy.run("web", server.seeds)
        assert copy.report["finished"] is True
        assert copy.report["pages"] == len(truth)
        ended = known["ended"]["stored"]
        assert len(copy.log) == len(truth) - ended
        first = {line["url"] for line in crawls.log[:ended]}
        assert first | set(copy.urls) == truth.keys()
        assert not first & set(copy.urls)


def test_checkpoints_are_made_on_their_own(crawls: Crawls) -> None:
    with SampleServer(SampleWeb.plain(hosts=4, pages=60)) as server:
        truth = server.web.truth().reachable_pages()
        made: set[str] = set()
        folder = crawls.job / "checkpoints"
        (folder / "mine").mkdir(parents=True)
        command = crawls.start(
            "web",
            server.seeds,
            POLITENESS_MIN_DELAY=1,
            FRONTIER_CHECKPOINT_SECS=0.2,
            FRONTIER_CHECKPOINTS=2,
        )

        def are_made() -> bool:
            if folder.exists():
                made.update(path.name for path in folder.iterdir() if path.name[0] == "2")
            return len(made) >= 4

        command.until(are_made)
        command.kill()
        kept = sorted(path for path in folder.iterdir() if path.name[0] == "2")
        assert (folder / "mine").exists(), "what people keep there is theirs"
        assert 2 <= len(kept) <= 3, "a kill may come before the oldest is removed"
        crawls.name = str(kept[-1].relative_to(crawls.folder))
        crawls.run("web", server.seeds)
        assert crawls.report["finished"] is True
        assert crawls.report["pages"] == len(truth)


def test_a_checkpoint_with_a_bloom_filter(crawls: Crawls) -> None:
    bloom = {"FRONTIER_BLOOM_URLS": 1000}
    with SampleServer(SampleWeb.plain(hosts=4, pages=40)) as server:
        crawls.run("web", server.seeds, max_pages=20, **bloom)
        crawls.ask("checkpoint", crawls.folder / "copy", "-s", "FRONTIER_BLOOM_URLS=1000")
        assert "FRONTIER_BLOOM_URLS" in crawls.frontier("stats").stderr
        crawls.name = "copy"
        crawls.run("web", server.seeds, **bloom)
        assert crawls.report["pages"] == 40
        assert len(crawls.log) == 20


# -- bad input

BAD = {
    "no action": ((), "name one of the actions stats, hosts,"),
    "no such action": (("eat",), "name one of the actions"),
    "hosts by what": (("hosts", "size"), "waiting, next, failing, not by size"),
    "no host": (("peek",), "name a host"),
    "two hosts": (("block", "a.test", "b.test"), "name a host"),
    "no such host": (("block", "nowhere.test"), "nowhere.test is no host of this crawl"),
    "not a host": (("peek", "http://"), "http:// is no host"),
    "no URL": (("why", "mailto:a@b.test"), "mailto:a@b.test is no URL"),
    "nothing to add": (("add",), "say which URLs to add"),
    "no pattern": (("drop", "("), "( is no regular expression"),
    "folder that is there": (("checkpoint", "."), "is there already"),
    "folder that everybody has": (("checkpoint", "/"), "is there already"),
    "name too long": (("checkpoint", "x" * 300), "cannot make a checkpoint"),
    "no rows": (("peek", "a.test", "-n", "-1"), "-n -1 is no number of rows"),
    "long URL": (("add", "http://a.test/" + "z" * 70_000), "longer than the 65,535 bytes"),
    "folder below a file": (("checkpoint", "/dev/null/x"), "cannot make a checkpoint"),
}


def assert_refused(command: Answered, words: str) -> None:
    assert command.code == 2
    assert command.stdout == ""
    (line,) = command.stderr.splitlines()
    assert line.startswith("error: ")
    assert words in line


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(stopped: Crawls, name: str) -> None:
    words, sentence = BAD[name]
    assert_refused(stopped.frontier(*words), sentence)


def test_a_running_crawl_refuses_bad_input(running: Crawls) -> None:
    names = ("hosts by what", "no such host", "no pattern", "folder that is there", "name too long")
    for name in names:
        words, sentence = BAD[name]
        assert_refused(running.frontier(*words), sentence)


def test_no_job(crawls: Crawls) -> None:
    assert_refused(crawls.frontier("stats"), f"there is no crawl {crawls.job}")
