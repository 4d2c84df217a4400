"""Notes of what is to be indexed: written, read back, and bounded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from webcrawler.index.journal import MAX_BODY, MAX_TITLE, IndexedPage, IndexJournal, Removal, fate
from webcrawler.index.layout import INDEX_ALIASES, INDEX_FATE, INDEX_NEW, pair_key
from webcrawler.tables import Batch, MemoryTables

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=50)


@given(st.integers(0, 2**64 - 1), text, text, text, st.floats(0, 1e12), st.integers(0, 60000))
def test_a_page_comes_back(
    fingerprint: int, url: str, title: str, body: str, fetched_at: float, depth: int
) -> None:
    page = IndexedPage(fingerprint, url, title, body, "en", fetched_at, depth, 0.5)
    assert IndexedPage.unpack(page.pack()) == page


def test_a_page_is_bounded_and_no_text_breaks_it() -> None:
    hostile = IndexedPage(
        1, "https://a.example/\ud800", "t" * 10_000, "\udfff" * 300_000, "xx" * 99
    )
    page = IndexedPage.unpack(hostile.pack())
    assert len(page.title) == MAX_TITLE
    assert len(page.body) == MAX_BODY
    assert page.url == "https://a.example/?"


def test_notes_are_read_in_the_order_in_which_they_were_written() -> None:
    store, journal, batch = MemoryTables(), IndexJournal(), Batch()
    written = [
        journal.add(batch, IndexedPage(1, "https://a.example/", body="old"), 10),
        journal.remove(batch, 2, 11),
        journal.add(batch, IndexedPage(1, "https://a.example/", body="new"), 300),
        journal.remove(batch, 3, 301, alias_of=1),
    ]
    store.commit(batch)
    assert list(journal.waiting(store.table(INDEX_NEW))) == written
    assert written[3].work == Removal(3, 1)


def test_the_fate_of_a_page_is_kept_until_it_is_indexed_again() -> None:
    store, journal = MemoryTables(), IndexJournal()
    table = store.table(INDEX_FATE)
    key = (5).to_bytes(8, "big")
    assert fate(table.get(key)) is None
    for alias_of, expected in ((0, 0), (7, 7), (5, 0)):
        batch = Batch()
        journal.remove(batch, 5, 1, alias_of=alias_of)
        store.commit(batch)
        assert fate(table.get(key)) == expected
    assert list(store.table(INDEX_ALIASES).rows) == [pair_key(7, 5)]
    batch = Batch()
    journal.add(batch, IndexedPage(5, "https://a.example/"), 2)
    store.commit(batch)
    assert fate(table.get(key)) is None
