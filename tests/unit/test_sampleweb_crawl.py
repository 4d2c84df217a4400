"""The truth against a crawl: a simple crawler of the test's own goes through the real server."""

from __future__ import annotations

import http.client
from collections import deque
from urllib.parse import urlsplit

import ada_url
import pytest
from protego import Protego
from resiliparse.parse.html import HTMLTree

from webcrawler.sampleweb import SampleServer, SampleWeb

NOFOLLOW = {"nofollow", "ugc", "sponsored", "none"}


class Crawler:
    """Breadth first, one request at a time; asks for everything it may, and remembers all of it."""

    def __init__(self, server: SampleServer, obey: bool) -> None:
        self.port = server.port
        self.obey = obey
        self.statuses: dict[str, int] = {}
        self.first_statuses: dict[str, int] = {}
        self.types: dict[str, str] = {}
        self.rules: dict[str, Protego] = {}
        waiting = deque(server.seeds)
        known = set(waiting)
        while waiting:
            url = waiting.popleft()
            if self.obey and not self.robots(url).can_fetch(url, "webcrawler"):
                continue
            for target in self.visit(url):
                if target not in known:
                    known.add(target)
                    waiting.append(target)

    def fetch(self, url: str) -> tuple[int, dict[str, str], bytes]:
        parts = urlsplit(url)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        try:
            connection.request("GET", target, headers={"Host": parts.netloc})
            response = connection.getresponse()
            headers = {name.lower(): value for name, value in response.headers.items()}
            return response.status, headers, response.read()
        except http.client.IncompleteRead:
            return response.status, headers, b""
        except (ConnectionError, http.client.RemoteDisconnected):
            return 0, {}, b""
        finally:
            connection.close()

    def robots(self, url: str) -> Protego:
        origin = "/".join(url.split("/")[:3])
        if origin not in self.rules:
            status, headers, body = self.fetch(f"{origin}/robots.txt")
            if status == 301:
                status, headers, body = self.fetch(origin + headers["location"])
            text = body.decode("utf-8-sig") if status == 200 else ""
            if status >= 500:
                text = "User-agent: *\nDisallow: /"
            self.rules[origin] = Protego.parse(text)
        return self.rules[origin]

    def visit(self, url: str) -> list[str]:
        for _ in range(3):
            status, headers, body = self.fetch(url)
            self.first_statuses.setdefault(url, status)
            if 0 < status < 500:
                break
        self.statuses[url] = status
        self.types[url] = headers.get("content-type", "").partition(";")[0]
        if "location" in headers:
            return [ada_url.join_url(url, headers["location"])]
        if status != 200 or self.types[url] not in ("text/html", "application/xhtml+xml"):
            return []
        directives = headers.get("x-robots-tag", "")
        if "otherbot" in directives:
            directives = ""
        # Links are ASCII, so that only UTF-16 matters here.
        is_wide = body.startswith((b"\xff\xfe", b"\xfe\xff"))
        tree = HTMLTree.parse(body.decode("utf-16" if is_wide else "latin-1"))
        base = url
        targets = []
        for node in tree.document.query_selector_all(
            "base, meta[name=robots], meta[http-equiv], a, area, iframe, link"
        ):
            if node.tag == "base":
                base = node["href"]
            elif node.tag == "meta" and node.getattr("name"):
                directives += "," + node["content"]
            elif node.tag == "meta":
                if node["http-equiv"] == "refresh":
                    targets.append(node["content"].partition("url=")[2])
            elif not (self.obey and NOFOLLOW & set((node.getattr("rel") or "").split())):
                targets.append(node.getattr("href") or node.getattr("src"))
        if self.obey and NOFOLLOW & {word.strip() for word in directives.lower().split(",")}:
            return []
        return [ada_url.join_url(base, target).partition("#")[0] for target in targets]


@pytest.mark.parametrize("obey", [True, False], ids=["obeying", "not obeying"])
def test_a_crawl_finds_exactly_what_the_truth_tells(obey):
    web = SampleWeb(seed=11, hosts=16, pages=300, slow_secs=0.01, slow=0.02, flaky=0.03)
    with SampleServer(web) as server:
        crawler = Crawler(server, obey)
        truth = server.web.truth()
    reachable = truth.reachable(obey_robots=obey, obey_nofollow=obey)
    assert len(reachable) > 150
    assert set(crawler.statuses) == set(reachable)
    for url in reachable:
        assert crawler.statuses[url] == truth.statuses[url], url
        assert crawler.types[url] == truth.types[url], url
        has_failed_first = crawler.first_statuses[url] != crawler.statuses[url]
        assert has_failed_first == (truth.resources[url].failures > 0), url


def test_a_plain_web_is_crawled_whole():
    with SampleServer(SampleWeb.plain(seed=4, hosts=5, pages=100)) as server:
        crawler = Crawler(server, obey=True)
        assert len(crawler.statuses) == 100
        assert set(crawler.statuses.values()) == {200}
        arrivals = server.arrivals
    assert len(arrivals) == 105  # and a robots.txt for each host
