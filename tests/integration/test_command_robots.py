"""scrapy robots: right answers with their reasons, from sites, files and a crawl's memory."""

from __future__ import annotations

import gzip
import socketserver
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from tests.commanding import Done, make_job, refused, run
from webcrawler.frontier.backends.rocks import RocksKV
from webcrawler.robots import TABLE, RobotsCache, RobotsFetch, authority_of, decide
from webcrawler.sampleweb import SampleServer, SampleWeb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

RULES = b"""\
User-agent: *
Disallow: /private
Allow: /private/open

User-agent: mybot
User-agent: otherbot
Crawl-delay: 600
Request-rate: 1/10
Visit-time: 0600-0845
Disallow: /

Sitemap: https://example.org/sitemap.xml
"""


class Site:
    """A server whose answers are written by the test, and that remembers what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {}
        self.asked: list[tuple[str, str]] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append((self.path, self.headers["User-Agent"]))
                site.answers.get(self.path, answer(404))(self)

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://site.test:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.asked]


def answer(
    status: int, body: bytes = b"", **headers: str
) -> Callable[[BaseHTTPRequestHandler], None]:
    def send(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return send


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


@pytest.fixture(scope="module")
def web() -> Iterator[SampleServer]:
    """A host for every kind of robots.txt there is."""
    with SampleServer(SampleWeb(hosts=14, pages=30)) as server:
        yield server


def ask(*argv: object, stdin: bytes = b"") -> Done:
    return run("robots", "-s", "DNS_HOSTS=*.test=127.0.0.1", *argv, stdin=stdin)


# -- from a file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "robots.txt"
    path.write_bytes(RULES)
    return path


def test_the_line_and_the_group_that_decide(file: Path) -> None:
    done = ask("--file", file, "https://example.org/private/x", "--json")
    assert done.code == 1
    (robots,) = done.json["robots"]
    (url,) = robots["urls"]
    assert url == {
        "url": "https://example.org/private/x",
        "allowed": False,
        "reason": "disallow_rule",
        "group": "*",
        "line": 2,
        "rule": "Disallow: /private",
        "sentence": "disallowed by line 2 (Disallow: /private) of the group for *",
    }
    assert robots["sitemaps"] == ["https://example.org/sitemap.xml"]


def test_paths_are_enough_for_a_file(file: Path) -> None:
    done = ask("--file", file, "/private/open", "/", "/robots.txt")
    assert done.code == 0
    assert done.lines == [
        str(file),
        "  webcrawler obeys the group for *",
        "  sitemap https://example.org/sitemap.xml",
        "  /private/open",
        "    allowed by line 3 (Allow: /private/open) of the group for *",
        "  /",
        "    allowed: no rule of the group for * matches",
        "  /robots.txt",
        "    allowed: no rule of the group for * matches",
    ]


def test_another_agent_and_what_is_asked_of_it(file: Path) -> None:
    done = ask("--file", file, "--agent", "MyBot/2.0", "https://example.org/")
    assert done.code == 1
    assert "  MyBot obeys the group for mybot" in done.lines
    assert "  crawl-delay 600 s, of which 120 s are obeyed" in done.lines
    assert "  request-rate 1 in 10 s" in done.lines
    assert "  visit-time 06:00 to 08:45 UTC" in done.lines
    assert "    disallowed by line 10 (Disallow: /) of the group for mybot" in done.lines


def test_a_file_from_standard_input(file: Path) -> None:
    done = ask("--file", "-", "/private", stdin=RULES)
    assert done.code == 1
    assert "    disallowed by line 2 (Disallow: /private) of the group for *" in done.lines


def test_a_file_alone_tells_what_it_asks_for(file: Path) -> None:
    done = ask("--file", file)
    assert done.code == 0
    assert "  sitemap https://example.org/sitemap.xml" in done.lines


@pytest.mark.parametrize("body", [b"", b"<html>", b"\xff\xfe\x00", b"a" * (3 << 20)])
def test_no_file_is_too_bad(tmp_path: Path, body: bytes) -> None:
    (tmp_path / "robots.txt").write_bytes(body)
    assert ask("--file", tmp_path / "robots.txt", "/x").code == 0


def test_nothing_that_a_terminal_obeys_is_printed(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_bytes(
        b"User-agent: *\nDisallow: /\x1b[31m\xc2\x9b2J\nSitemap: http://a/\x1b]0;x\x07\n"
    )
    done = ask("--file", tmp_path / "robots.txt", "/\x1b[31m\x9b2J/x", "/x\u202ey")
    assert done.code == 1
    assert "disallowed by line 2" in done.out
    for text in (done.out, ask("--file", tmp_path / "robots.txt", "/\x1b\x9b", "--json").out):
        assert not set(text) & {"\x1b", "\x07", "\x9b", "\u202e"}


# -- from sites


def test_every_kind_of_robots_txt_is_asked_for_once(web: SampleServer) -> None:
    urls = [web.url(number) for number in range(14)]
    before = len(web.arrivals)
    done = ask("--json", *urls, *[f"{url}x/y.html" for url in urls])
    assert done.code == 1
    asked = [arrival.host for arrival in web.arrivals[before:] if arrival.path == "/robots.txt"]
    assert sorted(asked) == sorted(web.web.host_names)
    assert len(done.json["robots"]) == 14
    assert all(len(robots["urls"]) == 2 for robots in done.json["robots"])
    kinds = [robots["kind"] for robots in done.json["robots"]]
    assert set(kinds) == {"rules", "allow_all", "disallow_all"}
    assert [robots["robots"] for robots in done.json["robots"]] == [f"{u}robots.txt" for u in urls]


def test_our_own_name_is_told(site: Site) -> None:
    ask("-s", "ROBOTS_CONTACT=https://example.org/bot", "--agent", "googlebot", site.url)
    ((path, agent),) = site.asked
    assert path == "/robots.txt"
    assert agent.startswith("webcrawler/")
    assert agent.endswith(" (+https://example.org/bot)")


def test_urls_from_standard_input(site: Site) -> None:
    site.answers["/robots.txt"] = answer(200, RULES)
    lines = f"# some\n{site.url}/a\n\n  {site.url}/private/x  \r\n".encode()
    done = ask("-", "--json", stdin=lines)
    assert done.code == 1
    assert [url["allowed"] for url in done.json["robots"][0]["urls"]] == [True, False]
    assert site.paths == ["/robots.txt"]


def test_what_is_no_url_is_told_and_the_rest_answered(site: Site) -> None:
    done = ask("-", stdin=f"mailto:a@b\n\xff\n{site.url}/\n".encode("latin-1"))
    assert done.code == 2
    assert f"  {site.url}/" in done.lines
    assert "error: 'mailto:a@b' is no URL" in done.err


@pytest.mark.parametrize(("hops", "is_found"), [(1, True), (5, True), (6, False)])
def test_five_redirects_are_followed(site: Site, hops: int, is_found: bool) -> None:
    for hop in range(hops):
        path = "/robots.txt" if not hop else f"/{hop}"
        site.answers[path] = answer(301 + hop % 2, Location=f"/{hop + 1}")
    site.answers[f"/{hops}"] = answer(200, RULES)
    done = ask("--json", f"{site.url}/private")
    (robots,) = done.json["robots"]
    assert (robots["kind"] == "rules") == is_found
    assert robots["redirects"] == min(hops, 5)
    assert done.code == (1 if is_found else 0)
    assert len(site.asked) == min(hops, 5) + 1


def test_a_redirect_to_another_host_speaks_for_the_first(site: Site) -> None:
    other = Site()
    try:
        other.answers["/elsewhere"] = answer(200, RULES)
        site.answers["/robots.txt"] = answer(308, Location=f"{other.url}/elsewhere")
        done = ask(f"{site.url}/private")
        assert done.code == 1
        assert f"  status 200, after 1 redirect to {other.url}/elsewhere" in done.lines
    finally:
        other.close()


@pytest.mark.parametrize("location", ["http://[bad", "mailto:x", "http://", "\xff\xfe", "//"])
def test_a_redirect_to_nowhere_is_no_robots_txt(site: Site, location: str) -> None:
    site.answers["/robots.txt"] = answer(302, Location=location)
    site.answers["/%C3%BF%C3%BE"] = answer(404)
    done = ask("--json", site.url)
    assert done.json["robots"][0]["kind"] in ("allow_all", "disallow_all")


def test_a_compressed_file_is_read(site: Site) -> None:
    site.answers["/robots.txt"] = answer(200, gzip.compress(RULES), Content_Encoding="gzip")
    assert ask(f"{site.url}/private").code == 1


def test_of_a_file_that_never_ends_the_beginning_counts(site: Site) -> None:
    def endless(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        try:
            request.wfile.write(RULES)
            while True:
                request.wfile.write(b"Disallow: /more\n" * 4096)
        except OSError:
            pass  # we were hung up on, as is right

    site.answers["/robots.txt"] = endless
    done = ask("--json", f"{site.url}/private")
    assert done.code == 1
    assert done.json["robots"][0]["urls"][0]["line"] == 2
    assert "truncated" in done.json["robots"][0]["problems"]


def _cut_off(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.send_header("Content-Length", "1000")
    request.end_headers()
    request.wfile.write(RULES)


def _silent(request: BaseHTTPRequestHandler) -> None:
    request.rfile.read()  # until the other side gives up


@pytest.mark.parametrize(
    ("send", "words"),
    [
        (answer(500), "status 500"),
        (answer(429), "status 429"),
        (_cut_off, "cut off after"),
        (_silent, "took too long"),
        (lambda request: request.wfile.write(b"nonsense\r\n\r\n"), ""),
        (lambda request: None, ""),
    ],
)
def test_what_cannot_be_had_refuses_everything(
    site: Site, send: Callable[[BaseHTTPRequestHandler], None], words: str
) -> None:
    site.answers["/robots.txt"] = send
    done = ask(site.url, "-s", "DOWNLOAD_FIRST_BYTE_TIMEOUT=0.5")
    assert done.code == 1
    assert done.err == ""
    assert "): nothing may be fetched until it answers" in done.lines[1]
    assert words in done.lines[1]
    assert done.lines[-1] == "    disallowed: robots.txt cannot be reached"


def test_nobody_there(site: Site) -> None:
    with socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler) as server:
        port = server.server_address[1]
    done = ask(f"http://127.0.0.1:{port}/", "http://nobody.invalid/")
    assert done.code == 1
    assert "  cannot be had (connection refused): nothing may be fetched until it answers" in (
        done.lines
    )


def test_a_private_address_is_refused_where_that_is_asked_for(site: Site) -> None:
    port = site.url.rpartition(":")[2]
    done = ask(f"http://127.0.0.1:{port}/", "-s", "DNS_DENY_PRIVATE=1")
    assert done.code == 1
    assert site.asked == []


def test_cache_control_shortens_how_long_it_is_believed(site: Site) -> None:
    site.answers["/robots.txt"] = answer(200, RULES, Cache_Control="max-age=3600")
    assert "  asked for just now; believed for 60 min" in ask(site.url).lines


# -- from a crawl's memory


def remember(job: Path, url: str, fetch: RobotsFetch, at: float) -> RocksKV:
    """A crawl's store, still open, that has asked for a robots.txt."""
    kv = RocksKV(make_job(job) / "frontier", (TABLE,), sync_secs=0)
    writes = kv.batch()
    entry = decide(None, fetch, at)
    writes.put(RobotsCache.key(authority_of(url)), entry.pack(), kv.handle(TABLE))
    kv.write(writes)
    return kv


def test_what_a_crawl_remembers_and_since_when(site: Site, tmp_path: Path) -> None:
    kv = remember(tmp_path / "job", site.url, RobotsFetch(200, body=RULES), time.time() - 7260)
    try:
        done = ask("--job", tmp_path / "job", f"{site.url}/private")
    finally:
        kv.close()
    assert done.code == 1
    assert "  the crawl asked for it 2 h ago; believed for 22 h" in done.lines
    assert site.asked == []


def test_what_a_crawl_remembers_may_be_stale(site: Site, tmp_path: Path) -> None:
    remember(tmp_path / "job", site.url, RobotsFetch(503), time.time() - 86400).close()
    done = ask("--job", tmp_path / "job", site.url)
    assert "  the crawl asked for it 24 h ago; to be asked again now" in done.lines


def test_what_a_crawl_does_not_remember_is_fetched(site: Site, tmp_path: Path) -> None:
    remember(tmp_path / "job", "http://other.test/", RobotsFetch(404), time.time()).close()
    site.answers["/robots.txt"] = answer(200, RULES)
    done = ask("--job", tmp_path / "job", f"{site.url}/private")
    assert done.code == 1
    assert done.lines[2].startswith("  the crawl has not asked for it; asked for just now;")
    assert site.paths == ["/robots.txt"]


# -- bad input


def test_bad_input_is_one_sentence(tmp_path: Path, file: Path) -> None:
    refused(ask("--file", tmp_path / "none", "/x"), "cannot read")
    refused(ask("--agent", "007", "--file", file, "/x"), "no crawler's name")
    refused(ask("--job", tmp_path / "none", "http://a.test/"), "there is no crawl")
    refused(ask("--job", make_job(tmp_path / "bare"), "http://a.test/"), "has kept no tables")


@pytest.mark.parametrize("argv", [(), ("--file", "-", "-"), ("--file", "x", "--job", "y", "/")])
def test_what_makes_no_sense_is_refused(argv: tuple[str, ...]) -> None:
    done = ask(*argv)
    assert done.code == 2
    assert "scrapy robots" in done.err


def test_help() -> None:
    done = run("robots", "--help")
    assert done.code == 0
    for word in ("--agent NAME", "--file FILE", "--job", "--json", "examples:", "Exit code: 0"):
        assert word in done.out
