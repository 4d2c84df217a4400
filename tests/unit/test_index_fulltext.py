"""The index itself: one document a page, in the part of its language, for every process."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from webcrawler.index import FullTextIndex, IndexedPage, IndexReader, IndexUnusableError, search
from webcrawler.index.anchors import Anchor
from webcrawler.index.schema import host_and_domains

if TYPE_CHECKING:
    from pathlib import Path

A = IndexedPage(2**64 - 1, "https://a.example/x", "Title", "zebra body", "en", 5.0, 3, 0.5)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "index"


def total(folder: Path, query: str) -> int:
    return search([folder], query).total


def test_a_page_comes_back_as_it_was_put(folder: Path) -> None:
    with FullTextIndex(folder) as index:
        index.put(A, [Anchor("nice page", 1.5, 3, 2)])
        assert index.get(A.fingerprint) is None  # not committed
        assert index.pending == 1
        assert index.commit() == 1
        assert index.get(A.fingerprint) == A
        assert index.holds(A.fingerprint)
        assert not index.holds(1)
        assert index.get(1) is None
    (hit,) = search([folder], "nice").hits
    assert hit.anchors == (Anchor("nice page", 1.5, 3, 2),)
    assert (hit.title, hit.url, hit.fetched_at, hit.language) == ("Title", A.url, 5.0, "en")


def test_putting_replaces_in_the_same_commit_and_in_a_later_one(folder: Path) -> None:
    with FullTextIndex(folder) as index:
        for number in range(3):
            index.put(IndexedPage(7, "https://a.example/", body=f"zebra v{number}"))
        index.commit()
        assert index.page_count() == 1
        index.put(IndexedPage(7, "https://a.example/", body="zebra last"))
        index.commit()
        assert index.page_count() == 1
    assert total(folder, "zebra") == 1
    assert total(folder, "last") == 1


def test_removing_works_before_and_after_a_commit(folder: Path) -> None:
    with FullTextIndex(folder) as index:
        index.put(A)
        index.remove(A.fingerprint)
        index.commit()
        assert index.page_count() == 0
        index.put(A)
        index.commit()
        index.remove(A.fingerprint)
        index.remove(12345)
        index.commit()
        assert index.page_count() == 0
        assert not index.holds(A.fingerprint)


def test_a_page_whose_language_changes_is_in_one_part_only(folder: Path) -> None:
    with FullTextIndex(folder) as index:
        for language in ("en", "de", "zh", "pl", "en"):
            index.put(IndexedPage(7, "https://a.example/", body="zebra", language=language))
            index.commit()
            assert index.page_count() == 1
        index.put(IndexedPage(7, "https://a.example/", body="zebra", language="de"))
        index.put(IndexedPage(7, "https://a.example/", body="zebra", language="fr"))
    assert total(folder, "zebra") == 1
    assert {path.name for path in folder.iterdir() if path.is_dir()} == {
        "en",
        "de",
        "fr",
        "characters",
        "words",
    }


def test_each_language_has_its_own_stems(folder: Path) -> None:
    with FullTextIndex(folder) as index:
        index.put(IndexedPage(1, "https://a.example/", body="all the libraries", language="en"))
        index.put(IndexedPage(2, "https://b.example/", body="alle alten Häuser", language="de"))
        index.put(IndexedPage(3, "https://c.example/", body="北京大学的历史", language="zh"))
        index.put(IndexedPage(4, "https://d.example/", body="wszystkie biblioteki", language="pl"))
    assert [hit.fingerprint for hit in search([folder], "library").hits] == [1]
    assert [hit.fingerprint for hit in search([folder], "Haus").hits] == [2]
    assert [hit.fingerprint for hit in search([folder], "大学").hits] == [3]
    assert search([folder], "学大").hits == []
    assert [hit.fingerprint for hit in search([folder], "biblioteki").hits] == [4]


def test_many_languages_do_not_keep_many_writers_open(folder: Path) -> None:
    with FullTextIndex(folder, max_writers=2) as index:
        for number, language in enumerate(("en", "de", "fr", "it", "es", "ru"), 1):
            index.put(IndexedPage(number, "https://a.example/", body="zebra", language=language))
            index.commit()
            assert sum(part.writer is not None for part in index._parts.values()) <= 2
        index.put(IndexedPage(1, "https://a.example/", body="zebra again", language="en"))
    assert total(folder, "zebra") == 6


def test_another_process_reads_while_this_one_writes(folder: Path) -> None:
    code = (
        "import sys, pathlib; from webcrawler.index import search;"
        "print(search([pathlib.Path(sys.argv[1])], 'zebra').total)"
    )

    def count_elsewhere() -> int:
        command = [sys.executable, "-c", code, str(folder)]
        return int(subprocess.run(command, check=True, capture_output=True).stdout)

    with FullTextIndex(folder) as index:
        index.put(A)
        assert count_elsewhere() == 0
        index.commit()
        index.put(IndexedPage(2, "https://b.example/", body="zebra"))
        assert count_elsewhere() == 1
        index.commit()
        assert count_elsewhere() == 2


def test_a_reader_sees_what_was_committed_since_when_it_reloads(folder: Path) -> None:
    with FullTextIndex(folder) as index:
        index.put(A)
        index.commit()
        reader = IndexReader([folder])
        index.put(IndexedPage(2, "https://b.example/", body="zebra"))
        index.commit()
        assert reader.search("zebra").total == 1
        reader.reload()
        assert reader.search("zebra").total == 2
        assert reader.page_count == 2


def test_one_writer_at_a_time(folder: Path) -> None:
    with FullTextIndex(folder) as index:
        index.put(A)
        index.commit()
        other = FullTextIndex(folder)
        with pytest.raises(IndexUnusableError, match="another process is writing"):
            other.put(A)


def test_unusable_folders_are_named(folder: Path) -> None:
    with pytest.raises(IndexUnusableError, match="there is no index"):
        search([folder], "zebra")
    with FullTextIndex(folder) as index:
        index.put(A)
    (folder / "en" / "meta.json").write_text("{broken")
    with pytest.raises(IndexUnusableError, match="cannot be used"):
        search([folder], "zebra")
    (folder / "format.json").write_text('{"format": 99}')
    with pytest.raises(IndexUnusableError, match="build it anew"):
        FullTextIndex(folder)
    (folder / "format.json").write_text("nonsense")
    with pytest.raises(IndexUnusableError):
        search([folder], "zebra")


def test_a_folder_that_is_a_file_is_unusable(folder: Path) -> None:
    folder.write_text("")
    with pytest.raises(IndexUnusableError):
        FullTextIndex(folder)


def test_no_text_breaks_the_index(folder: Path) -> None:
    with FullTextIndex(folder) as index:
        index.put(IndexedPage(1, "", "\ud800", "\x00\udfff zebra " + "a" * 100_000, "??"))
        index.put(IndexedPage(2, "data:,x", "\x00", "zebra " * 100_000, "en", -5, -1))
    assert total(folder, "zebra") == 2


@pytest.mark.parametrize(
    ("host", "found"),
    [
        ("docs.a.example", ["docs.a.example", "a.example", "example"]),
        ("a.example:8080", ["a.example:8080", "a.example", "example"]),
        ("127.0.0.1:80", ["127.0.0.1:80", "127.0.0.1"]),
        ("localhost", ["localhost"]),
        ("[::1]:8080", ["[::1]:8080", "[::1]"]),
        ("", [""]),
    ],
)
def test_hosts_are_found_by_every_domain_above_them(host: str, found: list[str]) -> None:
    assert host_and_domains(host) == found


def test_a_host_of_a_thousand_labels_is_bounded() -> None:
    assert len(host_and_domains(".".join(["a"] * 1000))) <= 12
