"""Scopes: what is inside, what is outside, and what they say of themselves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawler.urls import Anywhere, Directories, Hosts, Scope, Sites

SCOPES: list[Scope] = [
    Anywhere(),
    Hosts(["example.org"]),
    Sites(["example.org"]),
    Directories(["http://example.org/docs/"]),
]


def test_anywhere() -> None:
    assert Anywhere().allows("https://example.org/")
    assert str(Anywhere()) == "anywhere"


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("http://example.org/", True),
        ("https://example.org/x?y=z", True),
        ("http://localhost:8000/", True),
        ("http://xn--bcher-kva.example/", True),
        ("http://localhost/", False),
        ("http://example.org:8080/", False),
        ("http://www.example.org/", False),
        ("http://evil.test/example.org/", False),
        ("http://evil.test/?http://example.org/", False),
        ("mailto:x@example.org", False),
    ],
)
def test_hosts(url: str, allowed: bool) -> None:
    scope = Hosts(["Example.org", "http://localhost:8000/x", "bücher.example"])
    assert scope.allows(url) is allowed


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("http://example.co.uk/", True),
        ("https://a.b.example.co.uk:8080/x", True),
        ("http://alice.github.io/", True),
        ("http://127.0.0.1:8000/", True),
        ("http://127.0.0.1:8001/", False),
        ("http://bob.github.io/", False),
        ("http://other.co.uk/", False),
        ("http://co.uk/", False),
        ("http://example.co.uk.evil.test/", False),
        ("javascript:void(0)", False),
    ],
)
def test_sites(url: str, allowed: bool) -> None:
    scope = Sites(["https://www.example.co.uk/x", "alice.github.io", "127.0.0.1:8000"])
    assert scope.allows(url) is allowed


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://example.org/docs/", True),
        ("http://example.org/docs/a/b?c", True),
        ("http://example.org/%7Euser/x", True),
        ("http://example.org/~user/x", True),
        ("http://whole.test/", True),
        ("http://whole.test/?x", True),
        ("http://example.org/", False),
        ("http://example.org/docs", False),
        ("http://example.org/docs2/", False),
        ("http://example.org/Docs/", False),
        ("http://example.org/?/docs/", False),
        ("http://example.org/x?docs/", False),
        ("http://example.org:81/docs/", False),
        ("http://www.example.org/docs/", False),
        ("mailto:x@example.org", False),
    ],
)
def test_directories(url: str, allowed: bool) -> None:
    scope = Directories(
        ["http://example.org/docs/intro.html?x/y", "example.org/~user/", "https://whole.test"]
    )
    assert scope.allows(url) is allowed


def test_an_empty_scope_allows_nothing() -> None:
    for scope in (Hosts([]), Sites([]), Directories([])):
        assert not scope.allows("http://example.org/")
        assert str(scope).endswith("(none)")


def test_scopes_describe_themselves() -> None:
    assert str(Hosts(["b.test", "a.test:81"])) == "hosts a.test:81, b.test"
    assert str(Hosts(["a.test"])) == "host a.test"
    assert str(Sites(["www.example.org"])) == "site example.org"
    assert str(Directories(["http://a/b/c"])) == "directory a/b/"
    many = str(Hosts(f"h{n}.test" for n in range(9)))
    assert many == "hosts h0.test, h1.test, h2.test, h3.test, h4.test and 4 more"


@pytest.mark.parametrize("scope", [Hosts, Sites, Directories])
def test_what_is_no_place_is_refused(scope: type) -> None:
    for text in ("no host", "ftp://x/", "/docs/", ""):
        with pytest.raises(ValueError):
            scope([text])


@given(st.text(st.characters(codec=None, exclude_categories=()), max_size=60))
def test_no_text_raises(text: str) -> None:
    for scope in SCOPES:
        for url in (text, f"http://{text}", f"http://example.org/{text}"):
            assert scope.allows(url) in (True, False)
