"""Resolving and normalising: the standard's own suites, the shortcut against the parser, seeds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ada_url import URL
from hypothesis import example, given
from hypothesis import strategies as st

from tests.suites import suite_path
from webcrawler.urls import Resolver, complete_seed, host_key, normalize

# Cases that are answered otherwise than the standard says, each with its reason. There are none:
# the two parts that `normalize` leaves out are left out of the expected answer as well.
EXCEPTIONS: dict[tuple[str, str | None], str] = {}


def cases(name: str) -> list[dict[str, Any]]:
    return [case for case in json.loads(suite_path(name).read_bytes()) if isinstance(case, dict)]


def expected(case: dict[str, Any]) -> str | None:
    """The answer of a case, without fragment, user name and password."""
    if case.get("failure"):
        return None
    href: str = case["href"].partition("#")[0]
    if case["username"] or case["password"]:
        password = f":{case['password']}" if case["password"] else ""
        return href.replace(f"{case['username']}{password}@", "", 1)
    return href


def test_every_case_of_the_url_suite() -> None:
    wrong = [
        (case["input"], case["base"], expected(case), found)
        for case in cases("url/wpt-urltestdata.json")
        if (case["input"], case["base"]) not in EXCEPTIONS
        and (found := normalize(case["input"], case["base"])) != expected(case)
    ]
    assert wrong == []


def test_every_case_of_the_host_suite() -> None:
    wrong = []
    for case in cases("url/wpt-toascii.json"):
        url = normalize(f"https://{case['input']}/x")
        found = None if url is None else host_key(url)
        if found != case["output"]:
            wrong.append((case["input"], case["output"], found))
    assert wrong == []


def parsed(text: str, base: str | None) -> str | None:
    """What ada-url says, by its other interface."""
    try:
        url = URL(text, base)
    except ValueError:
        return None
    if url.username or url.password:
        url.username = ""
        url.password = ""
    return url.href.partition("#")[0]


BASES = [
    None,
    "https://example.org/",
    "http://example.org:8080/a/b/c.html?query#fragment",
    "https://user:secret@example.org/~a//b/",
    "http://127.0.0.1/x/y/z",
    "http://[::1]:81/a/b/",
    "https://example.org/" + "d/" * 40,
    "file:///C:/x/y",
    "mailto:somebody@example.org",
    "data:text/plain,hello/there",
]
PIECES = [
    *["/", "//", ".", "..", "../", "./", "\\", "a", "b.html", "~c", "?", "#", "&", "=", ";", ":"],
    *["http:", "https:", "http://", "https://", "//", "file:", "javascript:", "x:", "C:", "C|"],
    *[
        "example.org",
        "EXAMPLE.org",
        "127.1",
        "127.0.0.1",
        "0x7f",
        "[::1]",
        "xn--a",
        "xn--bcher-kva",
    ],
    *[
        ":80",
        ":443",
        ":8080",
        ":99999",
        ":",
        "@",
        "u:p@",
        "%2e",
        "%2E",
        "%2e%2e",
        "%",
        "%41",
        "%zz",
    ],
    *["|", "[", "]", "^", "`", "{", "}", "'", '"', "<", ">", "$", "!", "*", "_", "-", "+", ","],
    *[" ", "\t", "\n", "\r", "\0", "\x1f", "\x7f", "é", "漢", "\u3002", "\ufffd", "😀"],
]


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join), st.sampled_from(BASES))
@example("http://example.org", None)
@example("https://example.org?x", None)
@example("..", "http://a/b/c/d")
@example("../../../../x", "http://a/b/c/d")
@example("..//x", "http://a/b/c/d")
@example(".//x", "http://a/b/c/d")
@example("//x//y", "http://a/b/c/d")
@example("a/%2E./b", "http://a/b/c/d")
@example("", "http://a/b?c")
@example("?", "http://a/b?c")
@example("a\n", "http://a/b")
def test_the_shortcut_answers_as_the_parser_does(text: str, base: str | None) -> None:
    assert normalize(text, base) == parsed(text, base)


@given(st.text(max_size=40), st.sampled_from(BASES))
def test_what_is_normal_stays_as_it_is(text: str, base: str | None) -> None:
    url = normalize(text, base)
    if url is not None:
        assert normalize(url) == url
        assert normalize(url, "http://example.org/elsewhere/") == url


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("../x.html#part", "https://example.org/docs/x.html"),
        ("x?b=1&a=2", "https://example.org/docs/guide/x?b=1&a=2"),
        ("#part", "https://example.org/docs/guide/intro.html?v=1"),
        ("/x/../y", "https://example.org/y"),
        ("//Other.example/x", "https://other.example/x"),
        ("HTTP://EXAMPLE.ORG:80/x", "http://example.org/x"),
        ("https://user:secret@example.org/x@y", "https://example.org/x@y"),
        ("https://user@example.org", "https://example.org/"),
        ("//user:p%40@example.org?x@y", "https://example.org/?x@y"),
        ("ftp://user@example.org/x", "ftp://example.org/x"),
        ("mailto:user@example.org", "mailto:user@example.org"),
        ("  /a b\n", "https://example.org/a%20b"),
        ("http://bücher.example/ä", "http://xn--bcher-kva.example/%C3%A4"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://", None),
        ("http://a b/", None),
        ("http://example.org:99999/", None),
    ],
)
def test_links_of_a_page(text: str, url: str | None) -> None:
    assert normalize(text, "https://example.org/docs/guide/intro.html?v=1#top") == url


def test_without_a_base_only_absolute_links_are_urls() -> None:
    assert normalize("http://example.org") == "http://example.org/"
    for text in ("", "x.html", "/x", "//example.org/", "#x", "?x"):
        assert normalize(text) is None
        assert normalize(text, "") is None
        assert normalize(text, "no base at all") is None
    assert normalize("http://example.org", "no base at all") == "http://example.org/"


def test_a_resolver_shows_its_normal_base() -> None:
    assert Resolver("HTTP://u:p@Example.org#x").base == "http://example.org/"
    assert Resolver("nonsense").base is None


@pytest.mark.parametrize("text", [None, b"http://example.org/", 5, 1.5, [], {}])
def test_what_is_no_text_is_no_url(text: Any) -> None:
    assert normalize(text) is None
    assert normalize(text, "http://example.org/") is None


LONG = 1_000_000


@pytest.mark.parametrize(
    "text",
    [
        "a" * LONG,
        "../" * LONG,
        "a/../" * LONG,
        "http://" + "a" * LONG,
        "http://" + "a." * LONG,
        "http://" + "ü" * LONG,
        "http://xn--" + "a9" * LONG,
        "http://" + "@" * LONG + "a/",
        "http://a:" + "1" * LONG,
        "%2e/" * LONG,
        "?" * LONG,
        "#" * LONG,
        "\0" * LONG,
        " " * LONG,
        "\ud800" * LONG,
        "data:" + "," * LONG,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_long_texts_are_answered(text: str) -> None:
    for base in (None, "http://example.org/x", "http://example.org/" + "a/" * LONG):
        url = normalize(text, base)
        assert url is None or url.isascii()
    assert normalize("x", text) is None or normalize("x", text).isascii()  # type: ignore[union-attr]


def test_half_a_surrogate_pair_is_the_replacement_character() -> None:
    assert normalize("/\udc80x", "http://a/") == "http://a/%EF%BF%BDx"
    assert normalize("x", "http://a/\ud800/y") == "http://a/%EF%BF%BD/x"
    assert normalize("x#\ud800", "http://a/") == "http://a/x"
    assert normalize("http://\ud800/") is None


any_text = st.text(st.characters(codec=None, exclude_categories=()), max_size=60)


@given(any_text, st.none() | any_text)
def test_no_text_raises(text: str, base: str | None) -> None:
    url = normalize(text, base)
    assert url is None or "#" not in url
    complete_seed(text)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("example.org", "https://example.org/"),
        (" Example.ORG ", "https://example.org/"),
        ("example.org:8080/x", "https://example.org:8080/x"),
        ("example.org:443", "https://example.org/"),
        ("example.org?q=a:b@c", "https://example.org/?q=a:b@c"),
        ("example.org/~user@home#part", "https://example.org/~user@home"),
        ("localhost", "https://localhost/"),
        ("localhost:8000", "https://localhost:8000/"),
        ("//a/b", "https://a/b"),
        ("http://example.org", "http://example.org/"),
        ("HTTPS://example.org/a b", "https://example.org/a%20b"),
        ("http:example.org", "http://example.org/"),
        ("https://user:secret@example.org/", "https://example.org/"),
        ("127.0.0.1:8000/x", "https://127.0.0.1:8000/x"),
        ("[::1]", "https://[::1]/"),
        ("[::1]:8000/x", "https://[::1]:8000/x"),
        ("::1", "https://[::1]/"),
        ("fe80::1", "https://[fe80::1]/"),
        ("http://[2001:DB8::0:1]/", "http://[2001:db8::1]/"),
        ("bücher.example", "https://xn--bcher-kva.example/"),
    ],
)
def test_seeds(text: str, url: str) -> None:
    assert complete_seed(text) == url


@pytest.mark.parametrize(
    "text",
    [
        *[
            "",
            " ",
            "not a url",
            "http://",
            "https:///",
            "://x",
            "//",
            "///x",
            "/x",
            "./x",
            "?x",
            "#x",
        ],
        *["ftp://x", "mailto:x", "mailto:x@example.org", "x@example.org", "javascript:alert(1)"],
        *["file:///etc/passwd", "C:\\x", "\\x", "data:text/html,x", ".", "..", "http://./", "100"],
        *["example.org:99999", "example.org:http", "fe80::1%eth0", "http://a b", "ex ample.org"],
        *["@seeds.txt", "-", "%zz", "exa\0mple.org", "\ud800"],
    ],
)
def test_what_is_no_seed(text: str) -> None:
    # A lone "-" is a host name to the standard; a command line reads it before it gets here.
    assert complete_seed(text) == ("https://-/" if text == "-" else None)
