"""Host, site, authority and directory of URLs."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawler.urls import authority, directory, host_id, host_key, normalize, parse_host, site_key
from webcrawler.urls.hosts import is_within

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "host", "place", "folder"),
    [
        ("http://Example.org", "example.org", "http://example.org", "http://example.org/"),
        ("https://a:443/b/c?d/e", "a", "https://a", "https://a/b/"),
        ("http://a:443/b/", "a:443", "http://a:443", "http://a:443/b/"),
        ("http://u:p@a/b//c", "a", "http://a", "http://a/b//"),
        ("http://[::1]:8000/x", "[::1]:8000", "http://[::1]:8000", "http://[::1]:8000/"),
        ("http://bücher.example/", "xn--bcher-kva.example", "http://xn--bcher-kva.example", None),
        ("http://a/?x=/y/", "a", "http://a", "http://a/"),
        ("ftp://a/b/c", "a", "ftp://a", "ftp://a/b/"),
    ],
)
def test_parts_of_a_url(text: str, host: str, place: str, folder: str | None) -> None:
    url = normalize(text)
    assert url is not None
    assert host_key(url) == host
    assert authority(url) == place
    assert directory(url) == (folder or url)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://a.test./x", "a.test"),
        ("http://a.test.:8080/x", "a.test:8080"),
        ("http://a.test../", "a.test"),
        ("http://[::1]:80/", "[::1]:80"),
    ],
)
def test_a_final_dot_makes_no_other_host(url: str, host: str) -> None:
    assert host_key(url) == host


def test_what_has_no_host() -> None:
    for url in ("mailto:a@b", "javascript:a/b/c", "data:text/html,//x/y", "data:a//b/c", "", "/x"):
        assert host_key(url) == ""


@pytest.mark.parametrize(
    ("host", "site"),
    [
        ("example.org", "example.org"),
        ("a.b.example.org", "example.org"),
        ("www.example.co.uk:8080", "example.co.uk"),
        ("example.org.", "example.org"),
        ("alice.github.io", "alice.github.io"),
        ("x.alice.github.io", "alice.github.io"),
        ("github.io", "github.io"),
        ("co.uk", "co.uk"),
        ("com", "com"),
        ("www.ck", "www.ck"),
        ("x.anything.ck", "x.anything.ck"),
        ("xn--bcher-kva.xn--p1ai", "xn--bcher-kva.xn--p1ai"),
        ("x.xn--bcher-kva.xn--p1ai", "xn--bcher-kva.xn--p1ai"),
        ("a.b.unheard-of", "b.unheard-of"),
        ("page.host-3.test:8000", "host-3.test"),
        ("localhost", "localhost"),
        ("localhost:8000", "localhost:8000"),
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1:8000", "127.0.0.1:8000"),
        ("[::1]", "[::1]"),
        ("[2001:db8::1]:8000", "[2001:db8::1]:8000"),
        ("", ""),
        (".", "."),
        ("..", ".."),
    ],
)
def test_sites(host: str, site: str) -> None:
    assert site_key(host) == site


def test_a_site_is_its_own_site() -> None:
    for host in ("a.b.example.org", "alice.github.io", "x.y.unheard-of", "127.0.0.1:80", "co.uk"):
        assert site_key(site_key(host)) == site_key(host)


def test_the_suffix_list_is_neither_downloaded_nor_written(tmp_path: Path) -> None:
    program = (
        "import socket\n"
        "def refuse(*_): raise AssertionError('network')\n"
        "socket.getaddrinfo = socket.socket.connect = refuse\n"
        "from webcrawler.urls import site_key\n"
        "print(site_key('www.example.co.uk'))"
    )
    home = {name: str(tmp_path) for name in ("HOME", "XDG_CACHE_HOME", "TLDEXTRACT_CACHE")}
    environment = {**os.environ, **home, "PYTHONDONTWRITEBYTECODE": "1"}
    answer = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "example.co.uk"
    assert answer.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_host_numbers_never_change() -> None:
    # They are stored in frontiers.
    assert host_id("example.org") == 0x4037554F7EBCBF45
    assert host_id("example.org:8080") != host_id("example.org")


@pytest.mark.parametrize(
    ("host", "within"),
    [
        ("example.org", True),
        ("a.b.example.org", True),
        ("example.org:8080", True),
        ("[::1]:80", True),
        ("notexample.org", False),
        ("example.org.evil.test", False),
        ("org", False),
        ("", False),
    ],
)
def test_within_domains(host: str, within: bool) -> None:
    assert is_within(host, frozenset({"example.org", "[::1]"})) is within


def test_hosts_as_people_write_them() -> None:
    assert parse_host("Example.ORG") == "example.org"
    assert parse_host("http://bücher.example/x") == "xn--bcher-kva.example"
    assert parse_host("localhost:8000") == "localhost:8000"
    with pytest.raises(ValueError, match="not a host name: 'no host'"):
        parse_host("no host")


@given(st.text(st.characters(codec=None, exclude_categories=()), max_size=60))
def test_no_text_raises(text: str) -> None:
    authority(text)
    directory(text)
    assert 0 <= host_id(text) < 2**64
    for host in (host_key(text), text, f"{text}.com"):
        site_key(host)
        is_within(host, frozenset({"example.org"}))
