"""What is corrected in front of Protego, and that it is enough for Protego to be right."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from protego import Protego

from tests.suites import suite_path
from webcrawler.robots import BODY_LIMIT, RobotsRules
from webcrawler.robots.corrections import (
    LINE_LIMIT,
    compact,
    prepare,
    protego_text,
    read_compact,
    read_group,
    read_lines,
)


def read(body: bytes) -> list[tuple[int, str, bytes]]:
    return list(read_lines(prepare(body, BODY_LIMIT, set()), set()))


def test_protego_is_right_behind_the_corrections():
    # What cannot be put right in front of it, by (file, url): escapes that it undoes, and
    # /robots.txt, which it always allows.
    excepted = {
        ("correctness/non-ascii-paths.textproto", "http://foo.bar/foo/bar/\u30c4"),
        ("correctness/non-ascii-paths.textproto", "http://foo.bar/foo/bar/baz"),
        ("stress/327748.textproto", "http://m.example.com/robots.txt"),
        ("stress/369883.textproto", "http://example.com/robots.txt"),
        ("stress/860237.textproto", "http://example.com/robots.txt"),
    }
    wrong = set()
    for case in json.loads(suite_path("robots/google_spec_test.json").read_text("utf-8")):
        body = case["robots"].encode(case["robots_encoding"])
        group = read_group(RobotsRules.parse(body).body, case["agent"])
        allowed = Protego.parse(protego_text(group)).can_fetch(case["url"], "*")
        if allowed != case["allowed"]:
            wrong.add((case["file"], case["url"]))
    assert wrong == excepted


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_line_ends(end):
    body = end.join([b"User-agent: *", b"", b"Disallow: /a\x0cb\xc2\x85c\xe2\x80\xa8d", b"Allow:"])
    assert read(body) == [
        (1, "User-agent", b"*"),
        (3, "Disallow", b"/a\x0cb\xc2\x85c\xe2\x80\xa8d"),
        (4, "Allow", b""),
    ]


@pytest.mark.parametrize(
    "body",
    [
        b"\xef\xbb\xbfUser-agent: *",
        b"\xef\xbbUser-agent: *",
        b"\xefUser-agent: *",
        "\ufeffUser-agent: *".encode("utf-16-le"),
        "\ufeffUser-agent: *".encode("utf-16-be"),
    ],
)
def test_byte_order_marks(body):
    assert read(body) == [(1, "User-agent", b"*")]


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        (b"disallow:/x", "Disallow", b"/x"),
        (b"  DISALLOW \t:  /x  # why", "Disallow", b"/x"),
        (b"Dissalow: /x", "Disallow", b"/x"),
        (b"Disallows: /x", "Disallow", b"/x"),
        (b"Disallow /x", "Disallow", b"/x"),
        (b"Disallow /x:y", "Disallow", b"/x:y"),
        (b"Disallow:\xc2\xa0/x\xc2\xa0", "Disallow", b"/x"),
        (b"Disallow: /\xe9", "Disallow", b"/\xe9"),
        (b"Disallow: /x\0y", "Disallow", b"/x"),
        (b"User agent: x", "User-agent", b"x"),
        (b"User agent x", "User-agent", b"x"),
        (b"useragent: x", "User-agent", b"x"),
        (b"Site-map: http://h/s", "Sitemap", b"http://h/s"),
        (b"Sitemap http://h/s", "Sitemap", b"http://h/s"),
        (b"crawl delay: 3", "Crawl-delay", b"3"),
    ],
)
def test_lines_as_people_write_them(line, field, value):
    assert read(b"\n" + line) == [(2, field, value)]


@pytest.mark.parametrize(
    "line", [b"", b":", b"# Disallow: /", b"Allow us to explain", b"<p>Allow: /", b"\0Allow: /"]
)
def test_lines_that_say_nothing(line):
    assert read(line) == []


def test_a_cut_body_ends_with_a_whole_line():
    problems: set[str] = set()
    body = prepare(b"User-agent: *\nDisallow: /private\n", 25, problems)
    assert body == b"User-agent: *\n"
    assert problems == {"truncated"}


def test_the_limit_is_at_least_what_the_standard_asks():
    filler = b"# filler\n" * (500 * 1024 // 9)
    assert not RobotsRules.parse(filler + b"User-agent: *\nDisallow: /\n").allowed("http://h/", "x")


def test_a_long_line_is_cut_where_that_forbids_more_only():
    long = b"/" + b"a" * (2 * LINE_LIMIT)
    lines = read(b"User-agent: *\nDisallow: " + long + b"\nAllow: " + long)
    assert [(field, len(value)) for _, field, value in lines] == [
        ("User-agent", 1),
        ("Disallow", LINE_LIMIT - len("Disallow: ")),
    ]


words = st.sampled_from([b"User-agent", b"Allow", b"disallow", b"Sitemap", b"Foo", b"/a", b"*"])
marks = st.sampled_from([b":", b": ", b" ", b"\n", b"\r", b"\r\n", b"#", b"\0", b"\xff", b"\xa0"])
bodies = st.lists(words | marks | st.just(b"\xef\xbb\xbf"), max_size=40).map(b"".join)


@settings(deadline=None)
@given(bodies)
def test_a_compact_body_says_the_same(body):
    prepared = prepare(body, BODY_LIMIT, set())
    small = compact(prepared, set())
    assert list(read_compact(small)) == list(read_lines(prepared, set()))
    assert list(read_lines(small, set())) == list(read_lines(prepared, set()))
    again = RobotsRules.parse(small)
    assert again.body == small
    for agent in ("a", "x"):
        assert read_group(small, agent) == read_group(again.body, agent)


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_read(body):
    robots = RobotsRules.parse(body, limit=200)
    for url in ("http://h/", "", "http://h/" + body.decode("latin-1"), "\ud800"):
        assert robots.explain(url, "x").allowed == robots.allowed(url, "x")
    assert isinstance(robots.sitemaps, tuple)
