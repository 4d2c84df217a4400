from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawler.download.origin import split

PATHS = st.text(alphabet=st.characters(min_codepoint=0x21, max_codepoint=0x7E)).map(
    lambda text: text.replace("#", "")
)


@given(PATHS)
def test_the_target_is_sent_as_it_stands(path: str) -> None:
    origin, target = split(f"https://example.org:8443/{path}")
    assert target == "/" + path
    assert origin.host_header == b"example.org:8443"


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://a/?a=%7Eb", "/?a=%7Eb"),
        ("http://a//double//x", "//double//x"),
        ("http://a/x;y=1;z", "/x;y=1;z"),
        ("http://a/%e9%FF%2f", "/%e9%FF%2f"),
        ("http://a/./../b", "/./../b"),
        ("http://a/x#fragment?not", "/x"),
        ("http://a", "/"),
        ("http://a?q=/x", "/?q=/x"),
        ("http://a/a|b^c`{}", "/a|b^c`{}"),
        ("http://a/sp ace\r\nX: y", "/sp%20ace%0D%0AX:%20y"),
        ("http://a/é\ud800", "/%C3%A9%ED%A0%80"),
    ],
)
def test_targets(url: str, target: str) -> None:
    assert split(url)[1] == target


@pytest.mark.parametrize(
    ("url", "host", "header", "port"),
    [
        ("http://example.org/", "example.org", b"example.org", 80),
        ("https://example.org/", "example.org", b"example.org", 443),
        ("https://example.org:443/", "example.org", b"example.org", 443),
        ("http://example.org:443/", "example.org", b"example.org:443", 443),
        ("HTTP://Example.ORG/", "example.org", b"example.org", 80),
        ("http://[::1]:81/", "::1", b"[::1]:81", 81),
        ("http://bücher.example/", "xn--bcher-kva.example", b"xn--bcher-kva.example", 80),
    ],
)
def test_origins(url: str, host: str, header: bytes, port: int) -> None:
    origin, _ = split(url)
    assert (origin.host, origin.host_header, origin.url.port) == (host, header, port)
    assert origin.authorization is None


def test_a_user_in_the_url_becomes_a_header() -> None:
    origin, _ = split("http://us%40er:p%C3%A9@a/")
    assert origin.authorization == b"Basic dXNAZXI6cMOp"
    assert str(origin.url) == "http://a"
    assert split("http://user@a/")[0].authorization == b"Basic dXNlcjo="


@pytest.mark.parametrize(
    "url", ["ftp://a/", "file:///x", "http:///x", "http://", "nonsense", "http://a:99999/"]
)
def test_what_cannot_be_fetched_is_a_value_error(url: str) -> None:
    with pytest.raises(ValueError):
        split(url)


@given(st.text())
def test_nothing_but_value_error(rest: str) -> None:
    try:
        _, target = split("http://" + rest)
    except ValueError:
        return
    assert target.isascii()
    assert not set(target) & set(" \r\n\t\0#")
