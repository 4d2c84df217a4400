"""Every way in which a URL can end: it ends once, with its outcome, and its host goes on."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.crawling import ROOT
from tests.odd_server import Answer, OddServer, page
from tests.spiders.own_requests import BINARY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.crawling import Crawls

SPIDERS = ROOT / "tests" / "spiders"


def moved(location: str, status: int = 302) -> Answer:
    return Answer(status, b"<p>moved</p>", {"Location": location})


@dataclass(frozen=True)
class Case:
    """What a host answers at /a, how that URL ends, and how often it is asked for."""

    outcome: str
    answer: Any = None
    status: int = 200
    asked: int = 1
    reason: str = ""


CASES = {
    "fine": Case("stored"),
    # refused and broken on the way
    "refused": Case("refused", status=0, asked=0, reason="not this one"),
    "refused-late": Case("refused", reason="not this answer"),
    "middleware-breaks": Case("failed", status=0, asked=0, reason="RuntimeError"),
    # the spider and the pipelines
    "callback-breaks": Case("failed", reason="callback: RuntimeError"),
    "callback-breaks-late": Case("stored"),
    "callback-yields-nothing": Case("stored"),
    "callback-yields-more": Case("stored"),
    "dropped": Case("filtered", reason="dropped: not wanted"),
    "pipeline-breaks": Case("failed", reason="pipeline: RuntimeError"),
    # what servers say
    "not-found": Case("failed", Answer(404), 404),
    "gone": Case("failed", Answer(410), 410),
    "broken": Case("failed", Answer(500), 500, asked=3),
    "not-modified": Case("not_modified", Answer(304, b""), 304),
    "image": Case("filtered", Answer(body=b"\x89PNG\r\n\x1a\n", content_type="image/png")),
    "empty": Case("stored", Answer(body=b"")),
    "untyped": Case("stored", Answer(content_type="")),
    "locked": Case(
        "stored", lambda asked: Answer(200 if "X-Key" in asked.headers else 401), asked=2
    ),
    "rerouted": Case("redirect", Answer(418), 418, reason="http://elsewhere.test"),
    "flaky": Case("stored", [Answer(503), Answer(ending="reset"), Answer()], asked=3),
    # what servers do
    "reset": Case("failed", Answer(ending="reset"), 0, asked=3, reason="DownloadFailedError"),
    "cut": Case("failed", Answer(ending="cut"), 0, asked=3, reason="ResponseDataLossError"),
    "hanging": Case("failed", Answer(ending="hang"), 0, asked=3, reason="DownloadTimeoutError"),
    "large": Case("failed", Answer(body=b"x" * 200_000), 0, reason="DownloadCancelledError"),
    # redirects
    "redirect": Case("redirect", moved("/there"), 302, reason="/there"),
    "redirect-to-seen": Case("redirect", moved("/b"), 302),
    "redirect-to-itself": Case("redirect", moved("/a"), 302),
    "redirect-to-ftp": Case("failed", moved("ftp://elsewhere.test/"), 302),
    "redirect-nowhere": Case("redirect", moved("http://"), 302),
    "redirect-without-location": Case("failed", Answer(302), 302),
}


def answers() -> dict[Any, Any]:
    """The hosts of the cases; `start.test` links to /a and then /b of each."""
    hosts = {(f"{name}.test", "/a"): case.answer or Answer() for name, case in CASES.items()}
    return {
        **hosts,
        ("chain.test", "/a"): moved("/2", 301),
        ("chain.test", "/2"): moved("/3", 307),
        ("chain.test", "/3"): moved("http://fine.test:{port}/end", 308),
        ("loop.test", "/a"): moved("/2"),
        ("loop.test", "/2"): moved("/3"),
        ("loop.test", "/3"): moved("/2"),
        ("endless.test", "/b"): Answer(),
        "endless.test": lambda asked: moved(asked.path + "x"),
    }


@dataclass
class Endings:
    crawls: Crawls
    server: OddServer

    def ended(self, name: str, path: str = "/a") -> dict[str, Any]:
        return self.crawls.ended(self.server.url(f"{name}.test", path))


@pytest.fixture(scope="module")
def endings(make_crawls: Callable[[str], Crawls]) -> Iterator[Endings]:
    """One crawl in which all of it happens."""
    crawls = make_crawls("endings")
    with OddServer(answers()) as server:
        names = [*CASES, "chain", "loop", "endless"]
        links = [server.url(f"{name}.test", path) for name in names for path in ("/a", "/b")]
        nameless = [f"http://no-such-name.invalid/{path}" for path in "ab"]
        closed = [f"http://closed.test:1/{path}" for path in "ab"]
        server.answers["start.test", "/"] = page(*links, *nameless, *closed)
        command = crawls.start(
            str(SPIDERS / "endings.py"),
            server.url("start.test"),
            DOWNLOAD_MAXSIZE=100_000,
            REDIRECT_MAX_TIMES=5,
            DNS_TIMEOUT=2,
        )
        assert command.wait() == 0, command.stderr
        yield Endings(crawls, server)


@pytest.mark.parametrize("name", CASES)
def test_an_ending(endings: Endings, name: str) -> None:
    case = CASES[name]
    line = endings.ended(name)
    assert line["outcome"] == case.outcome
    assert line["status"] == case.status
    assert case.reason in line.get("reason", "")
    assert endings.server.paths(f"{name}.test").count("/a") == case.asked


@pytest.mark.parametrize("name", [*CASES, "chain", "loop", "endless"])
def test_its_host_goes_on(endings: Endings, name: str) -> None:
    assert endings.ended(name, "/b")["outcome"] == "stored"
    assert endings.server.paths(f"{name}.test").count("/b") == 1


def test_nothing_ends_twice_and_all_of_it_ends(endings: Endings) -> None:
    urls = endings.crawls.urls
    assert len(urls) == len(set(urls))
    report = endings.crawls.report
    assert report["finished"] is True
    assert report["frontier"]["known"] == len(urls)
    assert report["frontier"]["waiting"] == 0


def test_a_chain_of_redirects(endings: Endings) -> None:
    for path, status in (("/a", 301), ("/2", 307), ("/3", 308)):
        line = endings.ended("chain", path)
        assert (line["outcome"], line["status"]) == ("redirect", status)
    end = endings.ended("fine", "/end")
    assert end["outcome"] == "stored"
    assert end["depth"] == 1
    assert end["via"] == endings.server.url("chain.test", "/3")


def test_a_loop_of_redirects(endings: Endings) -> None:
    assert [endings.ended("loop", path)["outcome"] for path in ("/a", "/2", "/3")] == [
        "redirect"
    ] * 3
    assert sorted(endings.server.paths("loop.test")) == ["/2", "/3", "/a", "/b"]


def test_endless_redirects(endings: Endings) -> None:
    asked = [path for path in endings.server.paths("endless.test") if path != "/b"]
    assert asked == ["/a" + "x" * hop for hop in range(6)]
    assert endings.ended("endless", "/axxxxx")["outcome"] in ("refused", "failed")


def test_a_name_that_does_not_resolve(endings: Endings) -> None:
    for path in "ab":
        line = endings.crawls.ended(f"http://no-such-name.invalid/{path}")
        assert line["outcome"] == "failed"
        assert line["status"] == 0
        assert "CannotResolveHostError" in line["reason"]


def test_a_server_that_refuses_connections(endings: Endings) -> None:
    for path in "ab":
        line = endings.crawls.ended(f"http://closed.test:1/{path}")
        assert line["outcome"] == "failed"
        assert line["status"] == 0
        assert "ConnectionRefused" in line["reason"]


def test_errors_are_counted_by_kind(endings: Endings) -> None:
    errors = endings.crawls.report["errors"]
    assert errors["status 404"] == 1
    assert errors["DownloadTimeoutError"] == 1
    assert errors["CannotResolveHostError"] == 2
    assert errors["callback: RuntimeError"] == 1
    assert sum(errors.values()) == endings.crawls.report["by_outcome"]["failed"]


def test_a_users_own_request(endings: Endings) -> None:
    line = endings.ended("callback-yields-more", "/more")
    assert line["outcome"] == "stored"
    assert line["depth"] == 2


# -- a cache


def test_what_a_cache_answers(crawls: Crawls) -> None:
    with OddServer({("a.test", "/missing"): Answer(404)}) as server:
        server.answers["a.test", "/"] = page("/fine", "/missing", "/again")
        server.answers["a.test", "/again"] = moved("/fine")
        cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": crawls.folder / "cache"}
        logs = []
        for name in ("first", "second"):
            crawls.name = name
            crawls.run("web", server.url("a.test"), **cache)
            logs.append({line["url"]: line for line in crawls.log})
            assert len(server.asked) == 4
        first, second = logs
        assert first.keys() == second.keys()
        for url, line in first.items():
            names = ("outcome", "status", "bytes", "type")
            for name in names[:1] if line["outcome"] == "redirect" else names:
                assert second[url][name] == line[name], (url, name)


# -- redirects of a site


def test_a_seed_that_moved_takes_its_scope_along(crawls: Crawls) -> None:
    with OddServer({("moved.test", "/"): moved("http://www.moved.test:{port}/", 301)}) as server:
        www = [f"/{number}" for number in range(5)]
        outside = server.url("elsewhere.test")
        server.answers["www.moved.test", "/"] = page(*www, outside, "/out")
        server.answers["www.moved.test", "/out"] = moved(outside)
        command = crawls.start("site", server.url("moved.test"), POLITENESS_MIN_DELAY=0.3)
        command.until(lambda: len(crawls.log) >= 3)
        command.kill()
        crawls.run("site", server.url("moved.test"))
        expected = ["http://moved.test/", *(f"http://www.moved.test{path}" for path in ("/", *www))]
        ended = {line["url"].replace(f":{server.port}", ""): line["outcome"] for line in crawls.log}
        assert {url for url, outcome in ended.items() if outcome == "stored"} == set(expected[1:])
        assert ended[expected[0]] == "redirect"
        assert ended["http://www.moved.test/out"] == "redirect"
        assert not server.paths("elsewhere.test")


# -- requests of a user's own


def test_requests_survive_a_kill(crawls: Crawls) -> None:
    spider = SPIDERS / "own_requests.py"
    # The first of them does not come back, so that the others wait for their host.
    with OddServer({("own.test", "/binary"): [Answer(ending="hang"), Answer()]}) as server:
        seed = server.url("own.test")
        command = crawls.start(str(spider), seed)
        # Asked for, and the page that asks for all of them has ended.
        command.until(lambda: "/binary" in server.paths("own.test") and crawls.report["pages"])
        command.kill()
        errors = [line for line in command.stderr.splitlines() if " ERROR: " in line]
        assert len(errors) == 2
        for line, words in zip(errors, ("/lambda> ", "/object> "), strict=True):
            assert words in line
            assert "cannot be kept in the frontier and is refused" in line
        assert server.paths("own.test") == ["/", "/binary"]
        command = crawls.start(str(spider), seed, "-o", "items.jl", RETRY_TIMES=0)
        assert command.wait() == 0, command.stderr
        asked = {request.path: request for request in server.asked}
        assert Counter(server.paths("own.test")) == {
            "/": 1,
            "/binary": 2,
            "/form": 1,
            "/json": 1,
            "/again": 2,
            "/once": 1,
        }
        assert asked["/binary"].method == "PUT"
        assert asked["/binary"].body == BINARY
        assert asked["/binary"].headers["X-Kind"] == "binary"
        assert (asked["/form"].method, asked["/form"].body) == ("POST", b"a=1")
        assert json.loads(asked["/json"].body) == [1]
        lines = (crawls.folder / "items.jl").read_text().splitlines()
        items = {item["name"]: item for item in map(json.loads, lines) if "name" in item}
        assert items.keys() == {"binary", "form", "json", "again", "first", "failed"}
        assert items["binary"]["number"] == 1.5
        assert items["binary"]["note"] == repr({"deep": (1, b"two", None)})
        assert items["failed"]["error"] == "DownloadConnectionRefusedError"
        assert {item["depth"] for item in items.values() if "depth" in item} == {1}
        assert crawls.report["finished"] is True


# -- spiders of a user's own


@pytest.fixture(scope="module")
def documented() -> str:
    """The spiders that docs/extending.md shows."""
    text = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    (block,) = [part for part in text.split("```python\n")[1:] if "(WebSpider)" in part]
    return block.partition("```")[0]


def run_documented(crawls: Crawls, code: str, spider: str, seed: str) -> list[dict[str, Any]]:
    (crawls.folder / "documented.py").write_text(code)
    crawls.run(spider, seed, "-O", "items.jl", SPIDER_MODULES="documented", ANCHORS_ENABLED=True)
    return [json.loads(line) for line in (crawls.folder / "items.jl").read_text().splitlines()]


def test_a_spider_with_priorities(crawls: Crawls, documented: str) -> None:
    with OddServer({("a.test", "/"): page("/1", "/2", "/3", "/2026/4", "/2026/5")}) as server:
        run_documented(crawls, documented, "news", server.url("a.test"))
        assert server.paths("a.test")[:3] == ["/", "/2026/4", "/2026/5"]


def test_a_spider_with_items_and_requests(crawls: Crawls, documented: str) -> None:
    shop = Answer(body=b"<title>shop</title><p class=offer><b>Tea</b><p class=offer><b>Jam</b>")
    more = Answer(body=b'{"left": 3}', content_type="application/json")
    with OddServer({("a.test", "/"): shop, ("a.test", "/ajax/more"): more}) as server:
        items = run_documented(crawls, documented, "shop", server.url("a.test"))
        assert [item["name"] for item in items if "name" in item] == ["Tea", "Jam"]
        assert [item for item in items if "more" in item] == [{"more": {"left": 3}, "n": 1}]


def test_a_spider_that_chooses_links(crawls: Crawls, documented: str) -> None:
    body = b"<a href=one>one</a> <a href=two>Edit</a> <a href=/three>three</a>"
    with OddServer({("a.test", "/manual/"): Answer(body=body)}) as server:
        run_documented(crawls, documented, "manual", server.url("a.test", "/manual/"))
        assert server.paths("a.test") == ["/manual/", "/manual/one"]
