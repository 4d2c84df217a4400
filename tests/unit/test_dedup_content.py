"""The content-seen test: checksums, and what the table remembers of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webcrawler.dedup import CONTENT, EMPTY, ContentSeen, content_digest, run, run_async
from webcrawler.tables import Batch, MemoryTables

if TYPE_CHECKING:
    from collections.abc import Sequence

PAGE = b"<html>\n<p>one</p>\n  <p>two</p>\n</html>"


@pytest.mark.parametrize(
    "other",
    [
        PAGE.replace(b"\n", b"\r\n"),
        PAGE.replace(b"\n", b"\r\r\n"),
        PAGE + b"\n\n",
        b"\xef\xbb\xbf" + PAGE,
        b"\xef\xbb\xbf\r\n" + PAGE + b" \t\r\n",
    ],
)
@pytest.mark.parametrize("mime", ["text/html", "text/plain", "application/atom+xml", "text/csv"])
def test_what_transfers_change_does_not_count_in_text(other: bytes, mime: str) -> None:
    assert content_digest(other, mime) == content_digest(PAGE, mime)


@pytest.mark.parametrize("other", [PAGE + b"\n", PAGE.replace(b"\n", b"\r\n"), b"\n" + PAGE])
@pytest.mark.parametrize("mime", ["application/pdf", "image/png", "", "nonsense"])
def test_every_byte_counts_in_what_is_not_text(other: bytes, mime: str) -> None:
    assert content_digest(other, mime) != content_digest(PAGE, mime)


@pytest.mark.parametrize(
    "other", [PAGE.replace(b"two", b"three"), PAGE.replace(b"  ", b" "), PAGE[:-1]]
)
def test_every_other_difference_counts(other: bytes) -> None:
    assert content_digest(other, "text/html") != content_digest(PAGE, "text/html")


def test_the_same_bytes_of_another_family_are_another_document() -> None:
    digests = {content_digest(PAGE, mime) for mime in ("text/html", "text/plain", "font/woff")}
    assert len(digests) == 3


def test_parameters_case_and_kinds_of_html_do_not_matter() -> None:
    digests = {
        content_digest(PAGE, mime)
        for mime in ("text/html", "Text/HTML; charset=utf-8", "application/xhtml+xml")
    }
    assert len(digests) == 1


@pytest.mark.parametrize("body", [b"", b" \r\n\t", b"\xef\xbb\xbf"])
def test_an_empty_text_has_the_empty_checksum(body: bytes) -> None:
    assert content_digest(body, "text/html") == EMPTY


@settings(deadline=None)
@given(st.binary(max_size=300), st.text(max_size=30))
def test_any_bytes_have_a_checksum_of_64_bits(body: bytes, mime: str) -> None:
    assert 0 <= content_digest(body, mime) < 1 << 64


class Crawl:
    """Pages fetched one after the other, each committed before the next."""

    def __init__(self) -> None:
        self.tables = MemoryTables()
        self.test = ContentSeen()

    def fetch(self, fingerprint: int, digest: int) -> int | None:
        seen = run(self.tables, self.test.examine(fingerprint, digest))
        batch = Batch()
        seen.write(batch)
        self.tables.commit(batch)
        return seen.original

    def gone(self, fingerprint: int) -> None:
        batch = Batch()
        run(self.tables, self.test.forget(fingerprint)).write(batch)
        self.tables.commit(batch)

    @property
    def rows(self) -> dict[bytes, bytes]:
        return self.tables.table(CONTENT).rows


def test_the_first_url_is_the_original_of_all_later_ones() -> None:
    crawl = Crawl()
    assert [crawl.fetch(page, 77) for page in (1, 2, 3)] == [None, 1, 1]
    assert crawl.fetch(4, 78) is None


def test_a_page_is_no_duplicate_of_its_own_past() -> None:
    crawl = Crawl()
    assert [crawl.fetch(1, digest) for digest in (77, 77, 78, 77)] == [None] * 4


def test_content_that_has_moved_away_belongs_to_who_has_it_now() -> None:
    crawl = Crawl()
    assert crawl.fetch(1, 77) is None
    assert crawl.fetch(1, 78) is None
    assert crawl.fetch(2, 77) is None
    assert crawl.fetch(1, 77) == 2


def test_a_page_that_became_a_copy_gives_up_what_it_had() -> None:
    crawl = Crawl()
    crawl.fetch(1, 77)
    crawl.fetch(2, 78)
    assert crawl.fetch(2, 77) == 1
    assert crawl.fetch(3, 78) is None


def test_an_unchanged_page_writes_nothing() -> None:
    crawl = Crawl()
    crawl.fetch(1, 77)
    batch = Batch()
    run(crawl.tables, crawl.test.examine(1, 77)).write(batch)
    assert not batch


def test_a_copy_writes_nothing() -> None:
    crawl = Crawl()
    crawl.fetch(1, 77)
    batch = Batch()
    run(crawl.tables, crawl.test.examine(2, 77)).write(batch)
    assert not batch


def test_empty_documents_are_nobodys_copies_and_leave_no_trace() -> None:
    crawl = Crawl()
    assert [crawl.fetch(page, EMPTY) for page in (1, 2)] == [None, None]
    assert crawl.rows == {}


def test_a_page_that_is_gone_leaves_no_trace() -> None:
    crawl = Crawl()
    crawl.fetch(1, 77)
    crawl.gone(1)
    assert crawl.rows == {}


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 4))))
def test_rows_say_what_the_pages_hold_now(history: list[tuple[int, int]]) -> None:
    crawl = Crawl()
    holds: dict[int, int] = {}
    owner: dict[int, int] = {}  # content → page, in a few lines of the obvious
    for page, digest in history:
        owner = {held: by for held, by in owner.items() if by != page or held == digest}
        expected = owner.get(digest) if digest != EMPTY else None
        if expected is None and digest != EMPTY:
            owner[digest] = page
        assert crawl.fetch(page, digest) == (None if expected == page else expected)
        holds[page] = digest
    assert len(crawl.rows) == 2 * len(owner)
    for digest, page in owner.items():
        assert holds[page] == digest
        assert crawl.rows[b"d" + digest.to_bytes(8, "big")] == page.to_bytes(8, "big")


def test_rows_of_somebody_else_are_no_originals() -> None:
    crawl = Crawl()
    crawl.rows[b"d" + (77).to_bytes(8, "big")] = b"what is this"
    assert crawl.fetch(1, 77) is None


def test_reading_can_be_awaited() -> None:
    crawl = Crawl()
    crawl.fetch(1, 77)

    async def read(table: str, keys: Sequence[bytes]) -> list[bytes | None]:
        await asyncio.sleep(0)
        return crawl.tables.table(table).get_many(keys)

    seen = asyncio.run(run_async(read, crawl.test.examine(2, 77)))
    assert seen.original == 1
