"""Rows of a target: unions that never count twice, and stay small."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from webcrawler.index.inlinks import (
    GONE,
    MAX_SITES,
    MAX_SOURCES,
    MAX_SOURCES_OF_SITE,
    MAX_TEXT_BYTES,
    NOFOLLOW,
    Inlinks,
    merge,
)

URL = "https://t.example/"


def hashed(number: int, bits: int = 64) -> int:
    return xxh3_64_intdigest(number.to_bytes(8, "little")) >> (64 - bits)


def contents(inlinks: Inlinks) -> dict[tuple[int, int], str]:
    return {
        (site, source): texts
        for site, links in inlinks.sites.items()
        for source, texts in links.sources.items()
    }


entries = st.lists(
    st.tuples(
        st.integers(1, 5),
        st.integers(0, 200).map(hashed),
        st.sampled_from(["a", "b", "a\tb", "", NOFOLLOW, GONE, "ü€"]),
    ),
    max_size=200,
)


def filled(found: list[tuple[int, int, str]]) -> Inlinks:
    inlinks = Inlinks(URL)
    for site, source, texts in found:
        inlinks.add(site, source, texts)
    return inlinks


@given(entries)
def test_a_row_comes_back(found: list[tuple[int, int, str]]) -> None:
    inlinks = filled(found)
    inlinks.digest, inlinks.indexed_pages = 7, 9
    again = Inlinks.unpack(inlinks.pack())
    assert again == inlinks


@given(entries, entries)
def test_folding_again_changes_nothing(
    first: list[tuple[int, int, str]], second: list[tuple[int, int, str]]
) -> None:
    one, two = filled(first).pack(), filled(second).pack()
    once, twice = merge([one, two]), merge([one, two, two])
    assert once is not None
    assert once == twice


@given(entries, entries)
def test_rows_say_the_same_as_one_row_would(
    first: list[tuple[int, int, str]], second: list[tuple[int, int, str]]
) -> None:
    """However the links are split over folds: the same sample, the same estimates."""
    parts = merge([filled(first).pack(), filled(second).pack()])
    whole = filled(first + second)
    assert parts is not None
    assert contents(parts) == contents(whole)
    assert parts.page_count == whole.page_count


def test_the_newer_row_wins() -> None:
    old = filled([(1, 10, "old"), (1, 11, "kept")])
    new = filled([(1, 10, "new"), (1, 12, GONE)])
    both = merge([old.pack(), new.pack()])
    assert both is not None
    both.settle()
    assert contents(both) == {(1, 10): "new", (1, 11): "kept"}


def test_a_site_whose_links_are_all_gone_is_forgotten() -> None:
    both = merge([filled([(1, 10, "old")]).pack(), filled([(1, 10, GONE)]).pack()])
    assert both is not None
    both.settle()
    assert both.sites == {}
    assert both.page_count == both.site_count == 0


def test_links_that_do_not_count_are_not_counted() -> None:
    inlinks = filled([(1, 10, "a"), (1, 11, NOFOLLOW), (2, 12, NOFOLLOW)])
    assert inlinks.page_count == 1
    assert inlinks.site_count == 1


def test_counts_are_exact_up_to_the_bounds() -> None:
    inlinks = filled([(1, hashed(n), "a") for n in range(MAX_SOURCES_OF_SITE)])
    assert inlinks.page_count == MAX_SOURCES_OF_SITE


@pytest.mark.parametrize("pages", [1_000, 50_000])
def test_many_pages_are_estimated_and_the_row_stays_small(pages: int) -> None:
    inlinks = filled([(1, hashed(n), "a") for n in range(pages)])
    assert len(contents(inlinks)) <= MAX_SOURCES_OF_SITE
    assert pages / 2 < inlinks.page_count < pages * 2
    assert len(inlinks.pack()) < 1_000


def test_many_sites_are_estimated_and_the_row_stays_small() -> None:
    inlinks = filled([(hashed(n, 32), hashed(n), f"text {n}") for n in range(20_000)])
    assert len(inlinks.sites) <= MAX_SITES
    assert 10_000 < inlinks.site_count < 40_000
    assert len(inlinks.pack()) < 20_000


def test_a_row_is_bounded_whatever_is_put_into_it() -> None:
    inlinks = Inlinks(URL)
    for number in range(40_000):
        inlinks.add(hashed(number % 200, 32), hashed(number), f"{number} " * 40)
    row = inlinks.pack()
    assert len(contents(inlinks)) <= MAX_SOURCES
    assert len(row) < MAX_TEXT_BYTES + 12 * MAX_SOURCES + 10_000
    assert Inlinks.unpack(row).page_count == inlinks.page_count


def test_a_row_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown kind"):
        Inlinks.unpack(b"\x09" + bytes(40))


def test_no_rows_are_no_target() -> None:
    assert merge([]) is None
