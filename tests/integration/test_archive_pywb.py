"""Replay in pywb, started for real: what a browser would be shown is what was fetched.

pywb pins other versions of what we use, so it lives in an environment of its own, made once under
`WEBCRAWLER_CACHE` (or the user's cache folder) and used again. Where it cannot be made, the test
is skipped at home and fails where `CI` is set.
"""

from __future__ import annotations

import http.client
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import zlib
from pathlib import Path

import brotli
import pytest

from tests.ports import free_port
from webcrawler.archive import Exchange, Message, Original, WarcFiles, check, recover

#: setuptools, because pywb asks it for its resources and newer ones do not tell.
PACKAGES = ("pywb==2.10.0", "setuptools<81")
AT = 1714566000.0
DAY = 86400.0
HTML = (b"Content-Type", b"text/html; charset=utf-8")
CHUNKED = (b"Transfer-Encoding", b"chunked")
PAGE = "<html><head><title>Café</title></head><body><a href='/gzip'>on</a></body></html>".encode()


def cannot(reason: str):
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def pywb() -> Path:
    """The folder of pywb's programs."""
    cache = Path(os.environ.get("WEBCRAWLER_CACHE") or Path.home() / ".cache" / "webcrawler-tests")
    version = f"py{sys.version_info[0]}{sys.version_info[1]}"
    name = "-".join(re.sub(r"\W+", "_", package) for package in PACKAGES)
    environment = cache / f"{name}-{version}"
    if not (environment / "complete").exists():
        shutil.rmtree(environment, ignore_errors=True)
        try:
            cache.mkdir(parents=True, exist_ok=True)
            for command in (
                [sys.executable, "-m", "venv", str(environment)],
                [str(environment / "bin" / "pip"), "install", "-q", *PACKAGES],
                [str(environment / "bin" / "wayback"), "--version"],
            ):
                subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
        except subprocess.CalledProcessError as error:
            cannot(f"pywb cannot be installed: {error.stderr[-500:]}")
        except (OSError, subprocess.TimeoutExpired) as error:
            cannot(f"pywb cannot be installed: {error}")
        (environment / "complete").touch()
    return environment / "bin"


class Site:
    """A little archive with every way a page can be stored."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = WarcFiles(folder, max_bytes=3000, clock=lambda: AT)
        #: By path and time: the body that was sent, and the text it means.
        self.sent: dict[tuple[str, float], tuple[bytes, bytes]] = {}

    def add(self, path, body, *headers, at=AT, status=b"200 OK", original=None, text=None):
        response = Message(b"HTTP/1.1 " + status, [HTML, *headers], body)
        request = Message(b"GET /%b HTTP/1.1" % path.encode(), [(b"Host", b"example.org")])
        url = f"http://example.org/{path}"
        stored = self.files.write(Exchange(url, at, response, request, "192.0.2.1", "", original))
        self.sent[path, at] = (body, text if text is not None else body)
        return Original(url, at, stored.payload_digest), stored.kind


def build_site(folder: Path) -> Site:
    site = Site(folder)
    gzipped, brotlied = zlib.compress(PAGE, 6, 31), brotli.compress(PAGE)
    plain, _ = site.add("plain", PAGE, (b"Content-Length", b"%d" % len(PAGE)))
    chunked, _ = site.add("chunked", PAGE, CHUNKED)
    encoding = (b"Content-Encoding", b"gzip")
    site.add("gzip", gzipped, encoding, (b"Content-Length", b"%d" % len(gzipped)), text=PAGE)
    both, _ = site.add("gzip-chunked", gzipped, encoding, CHUNKED, text=PAGE)
    site.add("brotli", brotlied, (b"Content-Encoding", b"br"), text=PAGE)
    # Bodies that look like chunks, and are not, and are sent as such.
    looks = b"5\r\nhello\r\n0\r\n\r\nmore"
    site.add("looks-chunked", looks, (b"Content-Length", b"%d" % len(looks)))
    site.add("twice-chunked", looks, CHUNKED)
    site.add("binary", bytes(range(256)) * 20)
    # Copies, of another URL and of its own past.
    assert site.add("copy", PAGE, original=plain)[1] == "revisit"
    assert site.add("copy-chunked", PAGE, CHUNKED, original=chunked)[1] == "revisit"
    copy = site.add("copy-gzip", gzipped, encoding, CHUNKED, original=both, text=PAGE)
    assert copy[1] == "revisit"
    assert site.add("plain", PAGE, at=AT + DAY, original=plain)[1] == "revisit"
    unchanged = b"304 Not Modified"
    kind = site.add("plain", b"", at=AT + 2 * DAY, status=unchanged, original=plain, text=PAGE)[1]
    assert kind == "revisit"
    site.add("plain", b"changed", at=AT + 3 * DAY)
    site.add("missing", b"nothing here", status=b"404 Not Found")
    return site


@pytest.fixture(scope="module")
def replay(pywb, tmp_path_factory):
    """A pywb that replays the site: called with path and time, it gives status and body."""
    folder = tmp_path_factory.mktemp("pywb")
    site = build_site(folder / "writing")
    # As after a kill: the last file is open, with half a record at its end.
    shutil.copytree(folder / "writing", folder / "warc")
    (left,) = (folder / "warc").glob("*.open")
    with left.open("ab") as file:
        file.write(left.read_bytes()[:100])
    (recovered,) = recover(folder / "warc")
    assert recovered.cut_bytes == 100
    assert check(folder / "warc").is_sound
    warcs = sorted(map(str, (folder / "warc").iterdir()))
    assert len(warcs) > 2

    def run(*command: str) -> None:
        done = subprocess.run(
            [str(pywb / command[0]), *command[1:]],
            cwd=folder, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr

    run("warcio", "check", *warcs)  # with the brotli that warcio knows
    run("wb-manager", "init", "site")
    run("wb-manager", "add", "site", *warcs)
    port = free_port()
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [str(pywb / "wayback"), "-b", "127.0.0.1", "-p", str(port)],
            cwd=folder, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def ask(path: str, at: float, accept: str = "", kind: str = "id_"):
        stamp = time.strftime("%Y%m%d%H%M%S", time.gmtime(at))
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            address = f"/site/{stamp}{kind}/http://example.org/{path}"
            connection.request("GET", address, headers={"Accept-Encoding": accept})
            answer = connection.getresponse()
            return answer.status, answer.getheader("Content-Encoding"), answer.read()
        finally:
            connection.close()

    try:
        until = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert server.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < until, "pywb does not answer"
                time.sleep(0.1)
        yield site, ask
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def test_every_page_is_replayed_as_it_was_sent(replay):
    site, ask = replay
    for (path, at), (body, text) in site.sent.items():
        status, encoding, shown = ask(path, at, accept="gzip, br")
        assert status == (404 if path == "missing" else 200), path
        if encoding == "gzip":
            shown = zlib.decompress(shown, 31)
        elif encoding == "br":
            shown = brotli.decompress(shown)
        else:
            assert encoding is None
        assert shown == text, path
        assert body or text == PAGE


def test_the_past_is_chosen_by_its_time(replay):
    _, ask = replay
    assert ask("plain", AT + 3 * DAY)[2] == b"changed"
    assert ask("plain", AT + 2 * DAY)[2] == PAGE
    assert ask("plain", AT - 99 * DAY)[2] == PAGE


def test_links_lead_on_within_the_archive(replay):
    _, ask = replay
    status, _, shown = ask("gzip-chunked", AT, kind="mp_")
    assert status == 200
    assert "<title>Café</title>".encode() in shown
    assert b"/site/20240501122000mp_/http://example.org/gzip" in shown


def test_what_was_never_fetched_is_not_found(replay):
    _, ask = replay
    assert ask("never", AT)[0] == 404
