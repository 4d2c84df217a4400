"""robots.txt files of every bad kind: bounded time and memory, and the right answers."""

from __future__ import annotations

import asyncio
import gzip
import re
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.scripted_server import Answer, ScriptedServer, rules

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from tests.crawling import Command, Crawls

TIMEOUT = 2
OBEYED, ALLOWED, FAILED = "refused", "stored", "failed"
RULE = b"User-agent: *\nDisallow: /b\n"


async def endless() -> AsyncIterator[bytes]:
    """Rules, then whatever else, without end."""
    yield RULE
    while True:
        yield b"# nobody reads this\n" * 3000


async def one_endless_line() -> AsyncIterator[bytes]:
    yield RULE + b"Disallow: /"
    while True:
        yield b"a" * 60_000


async def gigabyte_of_agents() -> AsyncIterator[bytes]:
    yield RULE
    while True:
        yield b"User-agent: a\nDisallow: /*a*a*a*a*a*a*a*a$\n" * 1500


async def dripping() -> AsyncIterator[bytes]:
    yield RULE
    while True:
        await asyncio.sleep(0.2)
        yield b"#"


async def cut_off() -> AsyncIterator[bytes]:
    yield RULE


def padded(size: int, at: int) -> bytes:
    """A file of so many bytes whose only rule for /b stands at this one."""
    filler = b"Disallow: /x/yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\n"
    before = b"User-agent: *\n" + filler * (at // len(filler))
    whole = before[:at].rpartition(b"\n")[0] + b"\nDisallow: /b\n"
    return whole + filler * ((size - len(whole)) // len(filler))


def packed(body: bytes, encoding: str = "gzip") -> Answer:
    return Answer(200, body, (("Content-Encoding", encoding),), "text/plain")


def bomb(megabytes: int) -> bytes:
    """Rules and then zeros, compressed a thousandfold."""
    compressor = zlib.compressobj(9, wbits=31)
    parts = [compressor.compress(RULE)]
    parts += [compressor.compress(bytes(1 << 20)) for _ in range(megabytes)]
    return b"".join([*parts, compressor.flush()])


HUGE = (("Content-Length", str(1 << 30)),)
BODIES: dict[str, tuple[Answer, str]] = {
    # without end
    "endless": (Answer(stream=endless, content_type="text/plain"), OBEYED),
    "gigabyte": (Answer(stream=endless, headers=HUGE), OBEYED),
    "gigabyte-line": (Answer(stream=one_endless_line), OBEYED),
    "gigabyte-agents": (Answer(stream=gigabyte_of_agents), OBEYED),
    "endless-404": (Answer(404, stream=endless), ALLOWED),
    "dripping": (Answer(stream=dripping), FAILED),
    "cut-off": (Answer(stream=cut_off, headers=HUGE), FAILED),
    # large
    "600-kilobytes": (rules(padded(600 << 10, 490 << 10)), OBEYED),
    "rule-beyond": (rules(padded(600 << 10, 590 << 10)), ALLOWED),
    # odd
    "html": (Answer(200, b"<!DOCTYPE html><html><h1>Not found</h1>User-agent: *"), ALLOWED),
    "html-with-rule": (Answer(200, b"<html>\n<pre>\nUser-agent: *\nDisallow: /b\n"), OBEYED),
    "any-type": (Answer(200, RULE, content_type="image/png"), OBEYED),
    "no-type": (Answer(200, RULE, content_type=""), OBEYED),
    "bytes": (rules(b"\xff\xfe\x00\x80\n\x00\xc3\x28\nUser-agent: *\nDisallow: /b\n\xf0"), ALLOWED),
    "bytes-between": (
        rules(b"User-agent: *\n\xc3\x28\x80\nD\xffisallow: /\nDisallow: /b\nDisallow: /\xe9\n"),
        OBEYED,
    ),
    "noughts": (rules(b"\0" * 10_000 + b"\n" + RULE), OBEYED),
    "mark": (rules(b"\xef\xbb\xbf" + RULE), OBEYED),
    "half-mark": (rules(b"\xef\xbb" + RULE), OBEYED),
    "utf-16": (rules(RULE.decode().encode("utf-16")), OBEYED),
    "carriage-returns": (rules(RULE.replace(b"\n", b"\r")), OBEYED),
    "windows": (rules(RULE.replace(b"\n", b"\r\n")), OBEYED),
    "last-line-open": (rules(RULE.rstrip()), OBEYED),
    "shouting": (rules(RULE.upper().replace(b"/B", b"/b")), OBEYED),
    "other-agents": (rules("User-agent: other\nDisallow: /\n"), ALLOWED),
    "own-name": (
        rules("User-agent: *\nAllow: /\n\nUser-agent: WebCrawler/9\nDisallow: /b"),
        OBEYED,
    ),
    "unknown-line": (rules("User-agent: webcrawler\nNoise: 1\nDisallow: /b\n"), OBEYED),
    # packed
    "gzip": (packed(gzip.compress(RULE)), OBEYED),
    "deflate": (packed(zlib.compress(RULE), "deflate"), OBEYED),
    "twice": (packed(gzip.compress(gzip.compress(RULE)), "gzip, gzip"), OBEYED),
    "bomb": (packed(bomb(900)), FAILED),
    "half-packed": (packed(gzip.compress(RULE * 20 + bytes(range(256)) * 400)[:-200]), OBEYED),
    "not-packed": (packed(RULE), FAILED),
    "unknown-packing": (packed(RULE, "rot13"), OBEYED),
}


@dataclass
class Bodies:
    crawls: Crawls
    server: ScriptedServer
    seconds: float
    grown: float


def watch(command: Command) -> float:
    """Wait for its end; by how many megabytes its memory grew."""
    status = Path(f"/proc/{command.pid}/status")
    sizes = [0.0]
    while not command.has_ended(0.1):
        peak = re.search(r"VmHWM:\s+(\d+)", status.read_text())
        if peak is not None:
            sizes.append(int(peak[1]) / 1024)
    assert command.wait() == 0, command.stderr
    return max(sizes) - sizes[1]


@pytest.fixture(scope="module")
def bodies(make_crawls: Callable[[str], Crawls]) -> Iterator[Bodies]:
    """One crawl with all of them, two pages each."""
    crawls = make_crawls("bodies")
    with ScriptedServer() as server:
        for name, (answer, _) in BODIES.items():
            server.script[f"{name}.test", "/robots.txt"] = answer
        hosts = [f"{name}.test" for name in BODIES]
        begun_at = time.monotonic()
        command = crawls.start(
            "web",
            [*server.urls(hosts, "/b"), *server.urls(hosts, "/a")],
            ROBOTSTXT_OBEY=True,
            DOWNLOAD_TIMEOUT=TIMEOUT,
            RETRY_TIMES=0,
            ROBOTS_RETRY_SECS=0.1,
            STATS_DUMP=True,
        )
        grown = watch(command)
        assert "Traceback" not in command.stderr
        yield Bodies(crawls, server, time.monotonic() - begun_at, grown)


@pytest.mark.parametrize("name", BODIES)
def test_what_a_body_means(bodies: Bodies, name: str) -> None:
    expected = BODIES[name][1]
    ends = [
        bodies.crawls.ended(bodies.server.url(f"{name}.test", path))["outcome"]
        for path in ("/b", "/a")
    ]
    assert ends == [expected, FAILED if expected == FAILED else ALLOWED]


@pytest.mark.parametrize("name", [name for name, (answer, _) in BODIES.items() if answer.stream])
def test_no_more_is_read_than_is_needed(bodies: Bodies, name: str) -> None:
    """A megabyte, and what lies in the buffers between here and there."""
    for asked in bodies.server.of(f"{name}.test"):
        assert asked.sent < 16 << 20


def test_time_and_memory_are_bounded(bodies: Bodies) -> None:
    """The crawl of all of them: two tries at a dripping one, and little beside."""
    assert bodies.seconds < 60
    assert bodies.grown < 200


def test_what_is_odd_is_counted(bodies: Bodies) -> None:
    stderr = bodies.crawls.commands[0].stderr
    for problem in ("html", "truncated", "utf16", "nul", "long_line"):
        assert f"'robots/problem/{problem}': " in stderr
    assert "'robots/rules': " in stderr
    assert "'robots/unreachable': " in stderr
