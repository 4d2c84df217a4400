"""The index's thread: takes notes, commits in groups, and says what went wrong."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from tests.unit.test_index_world import World, fingerprint, source_of
from webcrawler.exceptions import StoreError
from webcrawler.index import IndexedPage, IndexThread, Note, record_links
from webcrawler.index.layout import INDEX_NEW, LINKS_NEW
from webcrawler.items import Link
from webcrawler.tables import Batch

if TYPE_CHECKING:
    from pathlib import Path


class Locked(World):
    """Memory tables that two threads may use."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.lock = threading.RLock()
        commit = self.store.commit

        def commit_alone(batch: Batch) -> None:
            with self.lock:
                commit(batch)

        self.indexer._commit = commit_alone

    def end(self, url: str, body: str, links: list[Link]) -> Note:
        batch = Batch()
        source = source_of(url)
        with self.lock:
            record_links(batch, source, links, fingerprint, sequence=self.sequence.next())
            page = IndexedPage(source.fingerprint, url, "", body, "en", 1.0)
            note = self.journal.add(batch, page, self.sequence.next())
            self.store.commit(batch)
        return note


def test_everything_is_indexed_folded_and_refreshed_at_the_end(tmp_path: Path) -> None:
    world = Locked(tmp_path / "index")
    left = world.end("https://left.example/", "left by a crash", [])
    thread = IndexThread(world.indexer, commit_chars=20, commit_secs=1000.0)
    notes = [
        world.end(f"https://a.example/{n}", f"page {n}", [Link("https://t.example/", "zebra")])
        for n in range(10)
    ]
    # Notes of a start are replayed; those handed over as well are done twice, and there once.
    thread.start()
    for note in notes:
        thread.add(note)
    assert thread.close()
    assert thread.backlog == 0
    assert world.search("page").total == 10
    assert world.urls("left") == ["https://left.example/"]
    assert world.urls("zebra") == ["https://t.example/"]
    assert list(world.tables[INDEX_NEW].scan()) == []
    assert list(world.tables[LINKS_NEW].scan()) == []
    assert isinstance(left.work, IndexedPage)


def test_a_close_without_time_leaves_the_rest_for_the_next_start(tmp_path: Path) -> None:
    world = Locked(tmp_path / "index")
    thread = IndexThread(world.indexer, commit_secs=1000.0)
    thread.start()
    thread.add(world.end("https://a.example/", "x", [Link("https://t.example/", "zebra")]))
    assert not thread.close(final_secs=0)
    again = IndexThread(world.indexer)
    again.start()
    assert again.close()
    assert world.urls("zebra") == ["https://t.example/"]


def test_what_goes_wrong_is_raised_and_nothing_is_lost(tmp_path: Path) -> None:
    world = Locked(tmp_path / "index")
    thread = IndexThread(world.indexer, commit_chars=1)
    notes = [world.end(f"https://a.example/{n}", "zebra", []) for n in range(2)]

    def fail(batch: Batch) -> None:
        raise OSError("disk full")

    commit, world.indexer._commit = world.indexer._commit, fail
    thread.start()
    with pytest.raises(StoreError, match="disk full"):
        thread.close()
    with pytest.raises(StoreError):
        thread.add(notes[0])
    assert len(list(world.tables[INDEX_NEW].scan())) == 2
    world.indexer._commit = commit
    world.indexer.replay()
    assert world.search("zebra").total == 2
