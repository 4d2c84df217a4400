"""Canonical forms: w3lib's, but stable, and without what only tracks."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from w3lib.url import canonicalize_url

from webcrawler.urls import Canonicalizer, normalize

plain = Canonicalizer(())
usual = Canonicalizer()

# Texts with many ways to write the same; "%" and "%zz" start no escape.
escape = st.integers(0, 255).flatmap(
    lambda code: st.sampled_from([f"%{code:02X}", f"%{code:02x}", f"%{code:02X}"])
)
letter = st.sampled_from("abcABC019-._~!$&'()*+,=:@/[]|?é漢 ^{}\\")
well_formed = st.lists(letter | escape, max_size=12).map("".join)
malformed = st.lists(letter | escape | st.sampled_from(["%", "%z", "%4", ";"]), max_size=12).map(
    "".join
)
parameter = st.lists(
    st.sampled_from(["a", "b", "utm_x", "UTM_y", "jsessionid", "=", "&", "+", "%20", "%3d", "%26"]),
    max_size=12,
).map("".join)


def url_of(path: str, query: str) -> str:
    url = normalize(f"http://example.org/{path}?{query}".replace("#", ""))
    assert url is not None
    return url


@given(well_formed.map(lambda text: text.replace("?", "")), well_formed | parameter)
@example("%7euser/a%2fb%3fc%3bd%25e%23f", "b=2&a=1&a=&c")
@example("", "&&=&a&=b&b==c")
@example("", "q=%e9%zz%&%2B=+")
def test_the_form_is_that_of_w3lib(path: str, query: str) -> None:
    url = url_of(path, query)
    page, mark, parameters = plain.canonical(url).partition("?")
    their_page, their_mark, their_parameters = canonicalize_url(url).partition("?")
    assert (page, mark) == (their_page, their_mark)
    # Where escapes are, only the order may differ.
    assert sorted(parameters.split("&")) == sorted(their_parameters.split("&"))
    if "%" not in parameters and "+" not in parameters:
        assert parameters == their_parameters


@given(malformed, malformed | parameter)
@example("%%34%31", "%%34%31=%%34%31")
@example("%2%35", "")
@example("a;jsessionid=1;b=2/c;JSESSIONID=3", "")
@example("a%3bjsessionid=1", "%6asessionid=1")
def test_the_form_of_a_form_is_itself(path: str, query: str) -> None:
    for canonicalizer in (plain, usual):
        form = canonicalizer.canonical(url_of(path, query))
        assert canonicalizer.canonical(form) == form


@given(st.lists(parameter.filter(lambda text: "&" not in text), max_size=5), st.randoms())
def test_the_order_of_parameters_does_not_matter(parameters: list[str], random: object) -> None:
    shuffled = list(parameters)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = (url_of("x", "&".join(order)) for order in (parameters, shuffled))
    assert usual.canonical(one) == usual.canonical(other)
    assert usual.fingerprint(one) == usual.fingerprint(other)


@given(malformed, well_formed | parameter)
def test_nothing_is_added_or_lost_but_order_and_spelling(path: str, query: str) -> None:
    url = url_of(path, query)
    before, _, parameters_before = url.partition("?")
    after, _, parameters_after = plain.canonical(url).partition("?")
    # A stray percent sign may have become %25, which reads the same.
    assert unquote_to_bytes(after) == unquote_to_bytes(before)
    assert sorted(
        unquote_to_bytes(parameters_after.replace("+", "%20").replace("&", ""))
    ) == sorted(
        unquote_to_bytes(
            "".join(
                each if "=" in each else f"{each}="
                for each in parameters_before.replace("+", "%20").split("&")
                if each
            )
        )
    )


@pytest.mark.parametrize("code", range(256))
def test_every_escape_has_one_spelling(code: int) -> None:
    for written in (f"%{code:02X}", f"%{code:02x}"):
        url = normalize(f"http://a/x{written}x")
        assert url is not None
        assert plain.canonical(url) == canonicalize_url(url)


@pytest.mark.parametrize(
    ("url", "form"),
    [
        ("http://a/", "http://a/"),
        ("http://a/?", "http://a/"),
        ("http://a/?b=2&a=1", "http://a/?a=1&b=2"),
        ("http://a/?a=2&a=1&a", "http://a/?a=&a=1&a=2"),
        ("http://a/?a-b=1&a=2", "http://a/?a=2&a-b=1"),
        ("http://a/%7Euser/%e4", "http://a/~user/%E4"),
        ("http://a/a%2Fb", "http://a/a%2Fb"),
        ("http://a/100%", "http://a/100%25"),
        ("http://a/?q=a+b", "http://a/?q=a+b"),
        ("http://a/?q=a%20b", "http://a/?q=a+b"),
        ("http://a/?q=a%2Bb", "http://a/?q=a%2Bb"),
        ("http://a/?u=http://b/", "http://a/?u=http%3A%2F%2Fb%2F"),
        ("http://a/?utm_source=x&id=5&UTM_Medium=y", "http://a/?id=5"),
        ("http://a/?gclid=x", "http://a/"),
        ("http://a/?utm=1&mygclid=2", "http://a/?mygclid=2&utm=1"),
        ("http://a/?PHPSESSID=1&sid=2&ref=3", "http://a/?ref=3&sid=2"),
        ("http://a/?%75tm_source=x", "http://a/"),
        ("http://a/x;jsessionid=0A1B", "http://a/x"),
        ("http://a/x;JSESSIONID=0A1B?b=1", "http://a/x?b=1"),
        ("http://a/x;v=1;jsessionid=0A1B/y;w", "http://a/x;v=1/y;w"),
        ("http://a/x;jsessionid", "http://a/x;jsessionid"),
        ("http://a/x%3Bjsessionid=1", "http://a/x%3Bjsessionid=1"),
    ],
)
def test_forms(url: str, form: str) -> None:
    assert usual.canonical(url) == form


def test_which_parameters_are_dropped_is_told() -> None:
    canonical = Canonicalizer(["Session[id]", "trace*", "größe", "a*b"]).canonical
    assert canonical("http://a/?session%5Bid%5D=1&TRACE=2&traces=3&x=4") == "http://a/?x=4"
    assert canonical("http://a/?gr%C3%B6%C3%9Fe=1&a*b=2&axb=3") == "http://a/?axb=3"
    assert canonical("http://a/?utm_source=1") == "http://a/?utm_source=1"
    assert Canonicalizer(["*"]).canonical("http://a/?x=1&y=2") == "http://a/"
    assert plain.canonical("http://a/;jsessionid=1?gclid=2") == "http://a/;jsessionid=1?gclid=2"


def test_fingerprints_are_64_bit_numbers_of_the_form() -> None:
    # The number is stored in frontiers: it must never change.
    assert usual.fingerprint("http://example.org/") == 0xB73DC5B066F53581
    urls = ["http://a/", "http://a/?b&a", "http://a/?a&b", "http://a/%7e", "http://a/~", "http://a"]
    numbers = usual.fingerprints(urls)
    assert numbers == [usual.fingerprint(url) for url in urls]
    assert numbers[1] == numbers[2]
    assert numbers[3] == numbers[4]
    assert len(set(numbers)) == 4
    assert all(0 <= number < 2**64 for number in numbers)
    assert usual.fingerprints([]) == []


def test_ten_thousand_urls_have_ten_thousand_fingerprints() -> None:
    urls = [f"http://a/{n}" for n in range(5000)] + [f"http://a/?n={n}" for n in range(5000)]
    assert len(set(usual.fingerprints(urls))) == len(urls)


@given(st.text(st.characters(codec=None, exclude_categories=()), max_size=60))
@example("\ud800?%;\ud800=\udfff&\ud800")
def test_no_text_raises(text: str) -> None:
    form = usual.canonical(text)
    assert usual.canonical(form) == form
    assert usual.fingerprints([text]) == [usual.fingerprint(text)]


def test_long_texts_are_answered() -> None:
    for piece in ("%", "%41", "?", "&", "a=b&", ";", ";a=", "=", "+", "/"):
        url = f"http://a/{piece * 300_000}?{piece * 300_000}"
        assert usual.canonical(url).startswith("http://a/")
