"""Anchors of pages that another worker holds: they move to it, once, whatever dies between."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import pytest

from tests.unit.test_index_world import World, fingerprint
from webcrawler.index import IndexReader
from webcrawler.index.inlinks import Inlinks, row_url

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

A, B, T = "https://a.example/", "https://b.example/", "https://t.example/"


class Town:
    """What Redis knows, in a dict: who ended what, and everybody's box."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ended: dict[int, int] = {}
        self.boxes: defaultdict[int, list[bytes]] = defaultdict(list)
        self.heir = 2
        self.is_reachable = True

    def worker(self, number: int) -> Worker:
        return Worker(self, number)

    def urls(self, query: str) -> list[str]:
        folders = [path for path in self.folder.iterdir() if path.is_dir()]
        return [hit.url for hit in IndexReader(folders).search(query).hits]


class Box:
    """One worker's post office."""

    def __init__(self, town: Town, number: int) -> None:
        self.town, self.number = town, number

    def holders(self, targets: Sequence[tuple[int, str]]) -> list[int]:
        if not self.town.is_reachable:
            return [0] * len(targets)
        return [self.town.ended.get(target, 0) for target, _ in targets]

    def heirs(self, targets: Sequence[int]) -> list[int]:
        return [self.town.heir if self.town.is_reachable else 0] * len(targets)

    def send(self, worker: int, parcel: bytes) -> bool:
        if self.town.is_reachable:
            self.town.boxes[worker].append(parcel)
        return self.town.is_reachable

    def take(self) -> list[bytes]:
        return self.town.boxes[self.number][:1]

    def taken(self, count: int) -> None:
        del self.town.boxes[self.number][:count]

    def leave(self, *, is_idle: bool) -> None:
        pass

    def is_over(self) -> bool:
        return True


class Worker(World):
    """A worker with tables and an index of its own."""

    def __init__(self, town: Town, number: int) -> None:
        super().__init__(town.folder / str(number), post=Box(town, number))
        self.town, self.number = town, number

    def fetch(self, url: str, *args: object, **options: object) -> None:
        self.town.ended[fingerprint(url)] = self.number
        super().fetch(url, *args, **options)  # type: ignore[arg-type]

    def settle(self) -> None:
        self.indexer.commit()
        while self.indexer.fold():
            pass
        while self.indexer.receive() + self.indexer.refresh(is_final=True):
            pass


@pytest.fixture
def town(tmp_path: Path) -> Town:
    return Town(tmp_path)


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_anchor_reaches_the_worker_that_holds_the_page(town: Town, when: str) -> None:
    one, two = town.worker(1), town.worker(2)
    if when == "before":
        two.fetch(T, "nothing")
    one.fetch(A, "", [(T, "zebra")])
    one.indexer.fold()
    one.indexer.refresh()
    if when == "after":
        assert not town.boxes[2], "nobody holds it yet"
        two.fetch(T, "nothing")
        one.indexer.refresh()  # what was put off is asked about again
    assert len(town.boxes[2]) == 1
    two.settle()
    one.settle()
    assert one.urls("zebra") == []
    (hit,) = two.search("zebra").hits
    assert (hit.url, hit.is_fetched) == (T, True)
    assert [anchor.text for anchor in hit.anchors] == ["zebra"]
    assert not any(town.boxes.values())


def test_who_dies_before_it_has_noted_what_it_sent_sends_it_again(town: Town) -> None:
    one, two = town.worker(1), town.worker(2)
    two.fetch(T, "nothing")
    one.fetch(A, "", [(T, "zebra")])
    one.indexer.fold()
    commit = one.indexer._commit
    one.indexer._commit = lambda batch: None
    one.indexer.refresh()
    one.indexer._commit = commit
    assert len(town.boxes[2]) == 1
    one.settle()
    assert len(town.boxes[2]) == 2
    two.settle()
    (hit,) = two.search("zebra").hits
    assert [(anchor.text, anchor.pages) for anchor in hit.anchors] == [("zebra", 1)]


def test_who_dies_before_it_has_kept_a_parcel_finds_it_again(town: Town) -> None:
    one, two = town.worker(1), town.worker(2)
    two.fetch(T, "nothing")
    one.fetch(A, "", [(T, "zebra")])
    one.settle()

    def die(batch: object) -> None:
        raise OSError

    commit = two.indexer._commit
    two.indexer._commit = die
    with pytest.raises(OSError):
        two.indexer.receive()
    two.indexer._commit = commit
    two.settle()
    assert two.urls("zebra") == [T]


def test_a_page_that_nobody_fetches_is_represented_once_with_all_anchors(town: Town) -> None:
    one, two = town.worker(1), town.worker(2)
    one.fetch(A, "", [(T, "zebra")])
    two.fetch(B, "", [(T, "lion")])
    one.settle()
    two.settle()
    assert one.urls("zebra") == []
    (hit,) = two.search("zebra lion").hits
    assert (hit.url, hit.is_fetched) == (T, False)


def test_once_it_is_fetched_it_is_represented_by_its_page(town: Town) -> None:
    one, two = town.worker(1), town.worker(2)
    one.fetch(A, "", [(T, "zebra")])
    one.settle()
    two.settle()
    assert two.urls("zebra") == [T]
    one.fetch(T, "nothing")  # the crawl goes on
    two.indexer.replay()
    two.settle()
    one.settle()
    assert two.urls("zebra") == []
    (hit,) = one.search("zebra").hits
    assert (hit.url, hit.is_fetched) == (T, True)


def test_the_anchors_of_a_copy_follow_it_to_another_worker(town: Town) -> None:
    """Worker 1 links to a copy that worker 2 met, of a page that worker 3 holds."""
    one, two, three = (town.worker(number) for number in (1, 2, 3))
    three.fetch(T, "nothing")
    two.fetch(B, is_indexed=False, alias_of=T)
    one.fetch(A, "", [(B, "zebra")])
    for worker in (one, two, three):
        worker.settle()
    assert town.urls("zebra") == [T]
    assert three.urls("zebra") == [T]


def test_without_redis_everything_waits(town: Town) -> None:
    one, two = town.worker(1), town.worker(2)
    two.fetch(T, "nothing")
    one.fetch(A, "", [(T, "zebra")])
    town.is_reachable = False
    one.settle()
    assert one.urls("zebra") == []
    town.is_reachable = True
    one.indexer.replay()
    one.settle()
    two.settle()
    assert one.urls("zebra") == []
    assert two.urls("zebra") == [T]


def test_the_url_of_a_row_is_read_without_the_rest() -> None:
    inlinks = Inlinks(T)
    for number in range(300):
        inlinks.add(number % 7 + 1, number, f"text {number}")
    assert row_url(inlinks.pack()) == T
    assert row_url(Inlinks("").pack()) == ""
