from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request

from webcrawler.download.handler import request_head
from webcrawler.download.origin import split


def head_of(request: Request, proxy_authorization: bytes | None = None) -> list[bytes]:
    origin, target = split(request.url)
    head = request_head(request, origin, target, proxy_authorization)
    assert head.endswith(b"\r\n\r\n")
    return head[:-4].split(b"\r\n")


def test_a_plain_get() -> None:
    request = Request("http://a.test/x?y", headers={"User-Agent": "bot", "accept": ["a", "b"]})
    assert head_of(request) == [
        b"GET /x?y HTTP/1.1",
        b"Host: a.test",
        b"User-Agent: bot",
        b"Accept: a",
        b"Accept: b",
    ]


def test_a_body_has_its_length_whatever_the_headers_say() -> None:
    request = Request(
        "http://a.test/",
        method="POST",
        body=b"abc",
        headers={"Content-Length": "7", "Transfer-Encoding": "chunked", "Content-Type": "t/x"},
    )
    assert head_of(request) == [
        b"POST / HTTP/1.1",
        b"Host: a.test",
        b"Content-Type: t/x",
        b"Content-Length: 3",
    ]
    assert b"Content-Length: 0" in head_of(Request("http://a.test/", method="PUT"))


def test_a_host_header_of_ones_own_wins() -> None:
    assert head_of(Request("http://a.test/", headers={"Host": "b.test"})) == [
        b"GET / HTTP/1.1",
        b"Host: b.test",
    ]


def test_the_password_of_the_proxy_is_for_the_proxy() -> None:
    request = Request("http://a.test/", headers={"Proxy-Authorization": "Basic eA=="})
    assert not any(b"Proxy" in line for line in head_of(request))
    assert head_of(request, b"Basic eA==")[-1] == b"Proxy-Authorization: Basic eA=="


def test_a_user_in_the_url_does_not_override_a_header() -> None:
    assert head_of(Request("http://u:p@a.test/"))[-1] == b"Authorization: Basic dTpw"
    given_one = Request("http://u:p@a.test/", headers={"Authorization": "Bearer x"})
    assert head_of(given_one)[-1] == b"Authorization: Bearer x"


def test_bytes_go_out_as_they_are() -> None:
    request = Request("http://a.test/", headers={"X-A": b"caf\xe9 \xff"})
    assert b"X-A: caf\xe9 \xff" in head_of(request)


@given(st.binary(max_size=50), st.binary(max_size=50))
def test_no_value_can_start_a_line_of_its_own(first: bytes, second: bytes) -> None:
    request = Request("http://a.test/", headers={"X-A": first, "X-B": second})
    lines = head_of(request)
    assert len(lines) == 4
    assert lines[3].startswith(b"X-B: ")
    assert not set(b"".join(lines)) & set(b"\r\n\0")


@pytest.mark.parametrize("method", ["GE T", "GET\r\nX:", "", "GÉT"])
def test_a_method_that_is_none(method: str) -> None:
    with pytest.raises(ValueError, match="no HTTP method"):
        head_of(Request("http://a.test/", method=method))
