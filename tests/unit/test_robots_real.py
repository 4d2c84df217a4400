"""Real robots.txt files, and hostile ones: never an exception, bounded work."""

from __future__ import annotations

import random
import tarfile
import tracemalloc

import pytest
from protego import Protego

from tests.suites import suite_path
from webcrawler.robots import BODY_LIMIT, RobotsRules
from webcrawler.robots.corrections import ALLOW, DISALLOW, protego_text, read_group
from webcrawler.robots.paths import written_rule

AGENT = "webcrawler"


@pytest.fixture(scope="module")
def real_files() -> dict[str, bytes]:
    with tarfile.open(suite_path("robots/real_robots_txt.tar.gz")) as tar:
        files = {
            member.name: tar.extractfile(member).read()
            for member in tar
            if member.isfile() and "/test_data/" in member.name
        }
    assert len(files) == 4231
    return files


def urls_near(rule: str) -> set[str]:
    """Paths that a rule matches, or nearly does."""
    bare = rule.rstrip("$")
    paths = {bare.replace("*", "x"), bare.replace("*", "") + "q", bare.split("*")[0]}
    return {f"http://h/{path.removeprefix('/')}" for path in paths}


def test_every_file_is_read_and_answers_as_protego_does(real_files):
    """Behind the corrections Protego agrees on every rule of every file, but where it is known

    to read differently: a "$" that is part of a path, a whole URL as a rule, /robots.txt itself,
    and Allow: .../index.htm, which Google reads like index.html.
    """
    asked = html = 0
    differences = []
    for name, body in real_files.items():
        robots = RobotsRules.parse(body)
        html += "html" in robots.problems
        group = read_group(robots.body, AGENT)
        protego = Protego.parse(protego_text(group))
        assert robots.crawl_delay(AGENT) == protego.crawl_delay("*")
        for _, field, value in group.lines[:15]:
            if field not in (ALLOW, DISALLOW) or value.startswith(b"http"):
                continue
            for url in urls_near(written_rule(value)):
                if "$" in url or url == "http://h/robots.txt":
                    continue
                asked += 1
                allowed = robots.allowed(url, AGENT)
                assert robots.explain(url, AGENT).allowed == allowed
                if allowed != protego.can_fetch(url, "*"):
                    differences.append((name, url, str(robots.explain(url, AGENT))))
    assert asked > 40_000
    assert html > 100
    assert all("/index.htm)" in difference[2] for difference in differences)
    assert len(differences) <= 1


def test_the_largest_are_cut(real_files):
    for name, body in real_files.items():
        if len(body) > BODY_LIMIT:
            assert "truncated" in RobotsRules.parse(body).problems, name
            assert len(RobotsRules.parse(body).body) <= BODY_LIMIT


def repeated(line: bytes) -> bytes:
    return line * (2 * BODY_LIMIT // len(line))


HOSTILE = {
    "a gigabyte of nothing": lambda: bytes(1 << 30),
    "one endless line": lambda: b"User-agent: *\nDisallow: /" + b"a" * (3 * BODY_LIMIT),
    "line ends only": lambda: repeated(b"\r"),
    "a group a line": lambda: repeated(b"User-agent: webcrawler\nDisallow: /x\n"),
    "many names, many rules": lambda: (
        b"".join(b"User-agent: b%s\n" % (b"x" * (n % 99)) for n in range(4000))
        + b"User-agent: *\n"
        + repeated(b"Disallow: /a\n")
    ),
    "wildcards": lambda: b"User-agent: *\n" + repeated(b"Disallow: /" + b"*a" * 8000 + b"*b\n"),
    "different wildcards": lambda: (
        b"User-agent: *\n" + b"".join(b"Disallow: /*%x$\n" % n for n in range(40_000))
    ),
    "different lengths": lambda: (
        b"User-agent: *\n" + b"".join(b"Disallow: /%s\n" % (b"b" * n) for n in range(1, 1000))
    ),
    "escapes": lambda: b"User-agent: *\n" + repeated(b"Disallow: /" + b"%41%2a " * 2000 + b"\n"),
    "sitemaps": lambda: repeated(b"Sitemap: http://h/s.xml\n"),
    "delays": lambda: b"User-agent: *\n" + repeated(b"Crawl-delay: 1\n"),
    "random bytes": lambda: random.Random(4).randbytes(3 * BODY_LIMIT),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_files(kind):
    body = HOSTILE[kind]()
    tracemalloc.start()
    try:
        robots = RobotsRules.parse(body)
        for url in ("http://h/", "http://h/" + "a" * 2000, "http://h/" + "%41" * 700):
            assert robots.explain(url, AGENT).allowed == robots.allowed(url, AGENT)
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # The estimate the cache goes by holds, and nothing grows beyond a multiple of the limit.
    assert kept <= robots.size + 64 * 1024
    assert peak <= 40 * BODY_LIMIT


def test_wildcards_beyond_the_limit_never_allow_more():
    lines = [b"Disallow: /*x%dx" % n for n in range(6000)]
    robots = RobotsRules.parse(b"User-agent: *\n" + b"\n".join(lines))
    assert not robots.allowed("http://h/x5999x", AGENT)
    assert not robots.allowed("http://h/x1x", AGENT)
    allows = b"\n".join(b"Allow: /*x%dx" % n for n in range(6000))
    robots = RobotsRules.parse(b"User-agent: *\nDisallow: /\n" + allows)
    assert robots.allowed("http://h/x1x", AGENT)
    assert not robots.allowed("http://h/x5999x", AGENT)
