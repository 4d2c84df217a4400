"""One index from the pages and tables of several crawls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.test_index_world import World, fingerprint
from webcrawler.index import Built, IndexedPage, JoinedTable, build_index, search
from webcrawler.tables import MemoryTable

if TYPE_CHECKING:
    from pathlib import Path


def page(url: str, body: str, fetched_at: float = 1.0) -> IndexedPage:
    return IndexedPage(fingerprint(url), url, "", body, "en", fetched_at)


def found(folder: Path, query: str) -> list[str]:
    return sorted(hit.url for hit in search([folder], query).hits)


def test_pages_and_anchors_of_two_crawls_become_one_index(tmp_path: Path) -> None:
    one, two = World(tmp_path / "one"), World(tmp_path / "two")
    one.fetch("https://a.example/", "", [("https://t.example/", "zebra")])
    two.fetch(
        "https://b.example/", "", [("https://t.example/", "zebra"), ("https://u.example/", "lion")]
    )
    two.fetch("https://secret.example/", "tiger", is_indexed=False)
    one.fetch("https://c.example/", "", [("https://secret.example/", "tiger")])
    one.settle()
    two.settle()
    folder = tmp_path / "whole"
    pages = [
        page("https://t.example/", "new words", 5.0),
        page("https://t.example/", "old words", 3.0),
        page("https://secret.example/", "tiger"),
    ]
    built = build_index(folder, iter(pages), [one.tables, two.tables])
    assert built == Built(fetched=1, unfetched=1, replaced=1)
    (hit,) = search([folder], "zebra").hits
    assert (hit.url, hit.is_fetched) == ("https://t.example/", True)
    assert (hit.anchors[0].pages, hit.anchors[0].sites) == (2, 2)
    assert found(folder, "new") == ["https://t.example/"]
    assert found(folder, "old") == found(folder, "tiger") == []
    (unfetched,) = search([folder], "lion").hits
    assert (unfetched.url, unfetched.is_fetched) == ("https://u.example/", False)


def test_building_again_replaces_the_index(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    build_index(folder, [page("https://a.example/", "zebra")])
    build_index(folder, [page("https://b.example/", "lion")])
    assert found(folder, "zebra") == []
    assert found(folder, "lion") == ["https://b.example/"]
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


def test_a_build_that_fails_leaves_the_old_index(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    build_index(folder, [page("https://a.example/", "zebra")])

    def broken() -> object:
        yield page("https://b.example/", "lion")
        raise OSError("the archive is broken")

    with pytest.raises(OSError, match="broken"):
        build_index(folder, broken())  # type: ignore[arg-type]
    assert found(folder, "zebra") == ["https://a.example/"]
    build_index(folder, [page("https://c.example/", "tiger")])
    assert found(folder, "tiger") == ["https://c.example/"]


def test_unfetched_pages_can_be_left_out(tmp_path: Path) -> None:
    world = World(tmp_path / "crawl")
    world.fetch("https://a.example/", "", [("https://t.example/", "zebra")])
    world.settle()
    folder = tmp_path / "index"
    assert build_index(folder, [], [world.tables], with_unfetched=False).unfetched == 0
    assert found(folder, "zebra") == []


def test_joined_tables_read_as_one() -> None:
    one, two = MemoryTable(), MemoryTable()
    one.rows = {b"a": b"1", b"c": b"3"}
    two.rows = {b"b": b"2", b"c": b"4"}
    both = JoinedTable([one, two])
    assert both.get_many([b"a", b"b", b"c", b"d"]) == [b"1", b"2", b"3", None]
    assert both.get(b"c") == b"3"
    assert [key for key, _ in both.scan()] == [b"a", b"b", b"c", b"c"]
