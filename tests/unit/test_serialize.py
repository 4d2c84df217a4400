"""A user's own requests survive in the frontier."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import FormRequest, Request, Spider
from scrapy.http import JsonRequest

from webcrawler.serialize import RequestError, pack_request, unpack_request

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=10,
)


class Example(Spider):
    name = "example"

    def parse_item(self, response):
        """A callback."""

    def failed(self, failure):
        """An errback."""


SPIDER = Example()


@given(st.dictionaries(st.text(max_size=8).filter(lambda k: k != "visit"), PLAIN, max_size=4))
def test_round_trip(meta):
    request = Request(
        "http://a.test/x?y=1",
        method="POST",
        body=b"\x00\xff",
        headers={"X-A": ["1", "2"], "Cookie": "c"},
        meta=meta,
        cb_kwargs={"n": (1, b"2")},
        callback=SPIDER.parse_item,
        errback=SPIDER.failed,
        priority=5,
        dont_filter=True,
        flags=["f"],
    )
    again = unpack_request(pack_request(request, SPIDER), SPIDER)
    assert again.to_dict(spider=SPIDER) == request.to_dict(spider=SPIDER)
    assert again.callback == SPIDER.parse_item


@pytest.mark.parametrize(
    "request_",
    [
        FormRequest("http://a.test/", formdata={"a": "b"}),
        JsonRequest("http://a.test/", data={"a": [1]}),
    ],
)
def test_subclasses(request_):
    again = unpack_request(pack_request(request_, SPIDER), SPIDER)
    assert type(again) is type(request_)
    assert again.body == request_.body


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"meta": {"lock": object()}}, "object"),
        ({"cb_kwargs": {"deep": [{"x": {1, 2}}]}}, "set"),
        ({"callback": lambda response: None}, "instance method"),
        ({"body": b"x" * (5 << 20)}, "bytes"),
    ],
)
def test_what_cannot_be_stored_is_refused_and_named(changes, word):
    with pytest.raises(RequestError) as caught:
        pack_request(Request("http://a.test/named", **changes), SPIDER)
    assert "http://a.test/named" in str(caught.value)
    assert word in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[1]",
        b"[2, {}]",
        b'[1, {"url": "http://a/", "_class": "subprocess.Popen"}]',
        b"\xff",
        b'[1, {"url": {"\\u0000": "bytes", "v": 1}}]',
    ],
)
def test_damaged_or_hostile_rows_are_refused(data):
    with pytest.raises(RequestError):
        unpack_request(data, SPIDER)


def test_a_callback_that_is_gone():
    data = pack_request(Request("http://a/", callback=SPIDER.parse_item), SPIDER)
    with pytest.raises(RequestError):
        unpack_request(data, Spider(name="other"))
