"""Links by source become links by target; the graph can be asked both ways."""

from __future__ import annotations

import pytest

from tests.unit.test_index_world import fingerprint, source_of
from webcrawler.index import TABLES, edges, fold, incoming, outgoing, record_links
from webcrawler.index.fold import changed_targets
from webcrawler.index.layout import INLINKS_NEW, LINKS_NEW
from webcrawler.items import Link
from webcrawler.tables import Batch, MemoryTables

A, B, C, T = (f"https://{name}.example/" for name in "abct")


class Store(MemoryTables):
    """Memory tables with the two steps of the link graph."""

    def __init__(self) -> None:
        super().__init__()
        self.all = {name: self.table(name) for name in TABLES}
        self.time = 0

    def end(self, url: str, *links: Link) -> None:
        self.time += 1
        batch = Batch()
        source = source_of(url)
        old = self.all["links"].get(source.key)
        record_links(batch, source, links, fingerprint, sequence=self.time, old=old)
        self.commit(batch)

    def fold(self, limit: int = 512, *, is_committed: bool = True) -> int:
        self.time += 1
        batch = Batch()
        count = fold(self.all, batch, run=self.time, limit=limit)
        if is_committed:
            self.commit(batch)
        return count

    def sources(self, url: str) -> list[tuple[str, str]]:
        found = incoming(self.all, fingerprint(url))
        return sorted((link.url, link.text) for link in found.links)


@pytest.fixture
def store() -> Store:
    return Store()


def test_links_are_found_from_both_ends(store: Store) -> None:
    store.end(A, Link(T, "one"), Link(T, "two", "nofollow"), Link(B, "b"))
    store.end(B, Link(T, "three"))
    expected = [(A, "one"), (A, "two"), (B, "three")]
    assert store.sources(T) == expected  # not folded yet
    assert store.fold() == 2
    assert store.sources(T) == expected
    found = incoming(store.all, fingerprint(T))
    assert (found.pages, found.sites, found.is_whole) == (2, 2, True)
    row = outgoing(store.all, source_of(A).site, fingerprint(A))
    assert row is not None
    assert [(link.url, link.text, link.rel) for link in row] == [
        (T, "one", ""),
        (T, "two", "nofollow"),
        (B, "b", ""),
    ]
    assert outgoing(store.all, source_of(C).site, fingerprint(C)) is None
    assert dict(edges(store.all))[fingerprint(B)] == (fingerprint(T),)


def test_a_page_that_only_has_nofollow_links_is_shown_and_not_counted(store: Store) -> None:
    store.end(A, Link(T, "one", "nofollow"))
    store.fold()
    found = incoming(store.all, fingerprint(T))
    assert (found.pages, found.sites) == (0, 0)
    assert [link.rel for link in found.links] == ["nofollow"]


def test_nobody_links_to_an_unknown_page(store: Store) -> None:
    found = incoming(store.all, 12345)
    assert (found.links, found.pages, found.sites, found.is_whole) == ([], 0, 0, True)


def test_a_fold_that_was_not_committed_is_done_again(store: Store) -> None:
    store.end(A, Link(T, "one"))
    assert store.fold(is_committed=False) == 1
    assert store.fold() == 1
    assert store.fold() == 0
    assert store.sources(T) == [(A, "one")]


def test_folds_take_the_oldest_pages_first_and_no_more_than_asked(store: Store) -> None:
    for name in "abcde":
        store.end(f"https://{name}.example/", Link(T, name))
    assert [store.fold(limit=2) for _ in range(4)] == [2, 2, 1, 0]
    assert len(store.sources(T)) == 5


def test_a_page_fetched_again_replaces_its_links(store: Store) -> None:
    store.end(A, Link(T, "old"), Link(B, "b"))
    store.fold()
    store.end(A, Link(B, "b"), Link(C, "c"))
    store.fold()
    assert store.sources(T) == []
    assert incoming(store.all, fingerprint(T)).pages == 0
    assert store.sources(B) == [(A, "b")]
    store.end(A)  # gone
    store.fold()
    assert store.sources(B) == store.sources(C) == []


def test_a_page_fetched_twice_between_folds_counts_as_it_was_last(store: Store) -> None:
    store.end(A, Link(T, "first"))
    store.fold()
    store.end(A, Link(B, "second"))
    store.end(A, Link(C, "third"))
    store.fold(limit=1)
    assert incoming(store.all, fingerprint(T)).pages == 0
    assert incoming(store.all, fingerprint(B)).pages == 0
    store.fold()
    assert incoming(store.all, fingerprint(B)).pages == 0
    assert store.sources(C) == [(A, "third")]


def test_the_targets_of_a_fold_are_noted_for_the_index(store: Store) -> None:
    store.end(A, Link(T, "one"), Link(B, "b"))
    store.fold()
    rows = [row for _, row in store.all[INLINKS_NEW].scan(b"")]
    assert {target for row in rows for target in changed_targets(row)} == {
        fingerprint(T),
        fingerprint(B),
    }
    assert list(store.all[LINKS_NEW].scan(b"")) == []


def test_a_popular_target_is_sampled_and_says_so(store: Store) -> None:
    for number in range(300):
        store.end(f"https://a.example/{number}", Link(T, "home"))
    store.fold()
    found = incoming(store.all, fingerprint(T))
    assert 150 < found.pages < 600
    assert found.sites == 1
    assert not found.is_whole
    assert 0 < len(found.links) <= 64
