"""Searching: fields, weights, filters, and many folders as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webcrawler.index import FullTextIndex, IndexedPage, IndexReader, QueryError, Weights, search
from webcrawler.index.anchors import Anchor

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [
    IndexedPage(1, "https://docs.a.example/guide", "Zebra guide", "All about animals.", "en", 1.0),
    IndexedPage(
        2, "https://a.example/", "Animals", "A zebra is striped. The lion is not.", "en", 2.0
    ),
    IndexedPage(3, "https://b.example:8080/lion/king", "Kings", "A lion sleeps.", "en", 3.0),
    IndexedPage(4, "https://c.example/", "Nothing", "Striped is what a zebra is.", "en", 4.0),
    IndexedPage(5, "https://d.example/never"),
]
ANCHORS = {5: [Anchor("the zebra pages", 2.0, 7, 3), Anchor("here", 0.01, 900, 1)]}


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> IndexReader:
    folder = tmp_path_factory.mktemp("search") / "index"
    with FullTextIndex(folder) as index:
        for page in PAGES:
            index.put(page, ANCHORS.get(page.fingerprint, ()))
    return IndexReader([folder])


def found(reader: IndexReader, query: str) -> set[int]:
    results = reader.search(query)
    assert results.total == len(results.hits)
    return {hit.fingerprint for hit in results.hits}


@pytest.mark.parametrize(
    ("query", "pages"),
    [
        ("zebra", {1, 2, 4, 5}),
        ("ZEBRAS", {1, 2, 4, 5}),
        ("zebra lion", {2}),
        ("zebra striped", {2, 4}),
        ('"zebra is striped"', {2}),
        ('"striped zebra"', set()),
        ("zebra -lion", {1, 4, 5}),
        ('zebra -"lion is"', {1, 4, 5}),
        ("title:zebra", {1}),
        ("title:animals zebra", {2}),
        ("anchor:zebra", {5}),
        ("anchor:here", set()),  # too light to be indexed
        ("site:a.example", {1, 2}),
        ("site:docs.a.example", {1}),
        ("site:example", {1, 2, 3, 4, 5}),
        ("site:b.example", {3}),
        ("site:b.example:8080", {3}),
        ("site:nobody.example", set()),
        ("zebra -site:a.example", {4, 5}),
        ("url:lion", {3}),
        ("url:lion/king", {3}),
        ("url:king/lion", set()),
        ("lion url:guide", set()),
        ("unheardof", set()),
        ("zebra -unheardof", {1, 2, 4, 5}),
    ],
)
def test_queries(reader: IndexReader, query: str, pages: set[int]) -> None:
    assert found(reader, query) == pages


def test_weights_decide_what_comes_first(reader: IndexReader) -> None:
    def first(weights: Weights) -> int:
        return reader.search("zebra", 1, weights).hits[0].fingerprint

    assert first(Weights(title=10, anchors=1, body=1)) == 1
    assert first(Weights(title=1, anchors=10, body=1)) == 5
    assert first(Weights(title=0.01, anchors=0.01, body=5)) in (2, 4)


def test_a_weight_of_zero_leaves_the_field_out(reader: IndexReader) -> None:
    hits = reader.search("zebra", 10, Weights(title=0, anchors=0, body=1)).hits
    assert {hit.fingerprint for hit in hits} == {2, 4}


@pytest.mark.parametrize("values", [(-1, 1, 1), (0, 0, 0), (float("nan"), 1, 1), (1e9, 1, 1)])
def test_weights_that_make_no_sense(values: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="weights"):
        Weights(*values)


def test_a_hit_says_everything(reader: IndexReader) -> None:
    (hit,) = reader.search("lion striped").hits
    assert (hit.title, hit.url) == ("Animals", "https://a.example/")
    marked = [hit.snippet.text[start:end] for start, end in hit.snippet.ranges]
    assert marked == ["striped", "lion"]
    assert hit.is_fetched
    assert hit.score > 0
    unfetched = next(hit for hit in reader.search("zebra").hits if hit.fingerprint == 5)
    assert not unfetched.is_fetched
    assert unfetched.anchors[0] == Anchor("the zebra pages", 2.0, 7, 3)
    assert unfetched.snippet.text == ""


def test_pages_of_hits(reader: IndexReader) -> None:
    whole = [hit.fingerprint for hit in reader.search("zebra").hits]
    parts = [reader.search("zebra", 2, offset=offset) for offset in (0, 2, 4)]
    assert [hit.fingerprint for part in parts for hit in part.hits] == whole
    assert all(part.total == 4 for part in parts)
    assert reader.search("zebra", 0).hits == []
    assert len(reader.search("zebra", 10**9).hits) == 4


def test_a_query_that_makes_no_sense(reader: IndexReader) -> None:
    with pytest.raises(QueryError):
        reader.search('"')


def make(folder: Path, pages: list[IndexedPage]) -> Path:
    with FullTextIndex(folder) as index:
        for page in pages:
            anchors = [] if page.fetched_at else [Anchor("zebra", 1.0, 1, 1)]
            index.put(page, anchors)
    return folder


def test_folders_of_many_workers_are_one_collection(tmp_path: Path) -> None:
    one = make(
        tmp_path / "one",
        [
            IndexedPage(1, "https://a.example/", body="zebra old", fetched_at=1.0),
            IndexedPage(2, "https://b.example/"),
            IndexedPage(3, "https://c.example/", body="zebra", fetched_at=5.0),
        ],
    )
    two = make(
        tmp_path / "two",
        [
            IndexedPage(1, "https://a.example/", body="zebra new", fetched_at=2.0),
            IndexedPage(2, "https://b.example/", body="zebra", fetched_at=3.0),
        ],
    )
    hits = search([one, two], "zebra").hits
    assert sorted(hit.fingerprint for hit in hits) == [1, 2, 3]
    by_page = {hit.fingerprint: hit for hit in hits}
    assert by_page[1].snippet.text == "zebra new"
    assert by_page[2].is_fetched
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_a_word_weighs_the_same_in_a_small_folder_and_a_large_one(tmp_path: Path) -> None:
    """Without the correction the only zebra of a large folder would beat that of a small one."""
    filler = [
        IndexedPage(100 + n, f"https://f.example/{n}", body="some other words", fetched_at=1.0)
        for n in range(300)
    ]
    zebra = IndexedPage(1, "https://a.example/", body="zebra and some words", fetched_at=1.0)
    other = IndexedPage(2, "https://b.example/", body="zebra and some words", fetched_at=1.0)
    large = make(tmp_path / "large", [zebra, *filler])
    small = make(tmp_path / "small", [other, *filler[:3]])
    scores = {hit.fingerprint: hit.score for hit in search([large, small], "zebra").hits}
    assert scores[1] == pytest.approx(scores[2], rel=0.1)
    alone = {hit.fingerprint: hit.score for hit in search([small], "zebra").hits}
    assert alone[2] < scores[2] / 2


def test_an_empty_index_finds_nothing(tmp_path: Path) -> None:
    FullTextIndex(tmp_path / "index").close()
    results = search([tmp_path / "index"], "zebra")
    assert (results.hits, results.total) == ([], 0)


def test_ranks_raise_pages_when_asked(tmp_path: Path) -> None:
    pages = [
        IndexedPage(n, f"https://a.example/{n}", body="zebra", fetched_at=1.0, rank=float(n))
        for n in range(5)
    ]
    reader = IndexReader([make(tmp_path / "index", pages)])
    ranked = [hit.fingerprint for hit in reader.search("zebra", by_rank=True).hits]
    assert ranked == [4, 3, 2, 1, 0]


def test_what_hits_show_cannot_control_a_terminal(tmp_path: Path) -> None:
    page = IndexedPage(
        1, "https://a.example/", "\x1b]0;owned\x07zebra", "zebra \x1b[2J", fetched_at=1
    )
    with FullTextIndex(tmp_path / "index") as index:
        index.put(page, [Anchor("zebra \x1b[31m", 1.0, 1, 1)])
    (hit,) = search([tmp_path / "index"], "zebra").hits
    shown = hit.title + hit.url + hit.snippet.text + "".join(a.text for a in hit.anchors)
    assert "\x1b" not in shown
    assert "\x07" not in shown


pieces = st.sampled_from(
    [
        '"',
        "-",
        ":",
        "title:",
        "site:",
        "url:",
        "a.example",
        "zebra",
        "lion",
        " ",
        "*",
        "~2",
        "ü",
        "北",
    ]
)


@settings(max_examples=200)
@given(query=st.one_of(st.text(max_size=100), st.lists(pieces, max_size=40).map("".join)))
def test_any_query_is_answered_or_refused(reader: IndexReader, query: str) -> None:
    try:
        results = reader.search(query)
    except QueryError:
        return
    assert results.total >= len(results.hits)
