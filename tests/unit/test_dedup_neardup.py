"""The near-duplicate test on its tables: what is found, what is kept, what is taken back."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webcrawler.dedup import (
    BANDS,
    PARAMETERS_KEY,
    SKETCHES,
    Finding,
    Match,
    NearDuplicates,
    Reading,
    run,
    run_async,
)
from webcrawler.tables import Batch, MemoryTables

if TYPE_CHECKING:
    from collections.abc import Sequence

NEAR = NearDuplicates()


def prose(seed: int, words: int = 400) -> str:
    generator = random.Random(seed)
    return " ".join(f"w{generator.randrange(5000)}" for _ in range(words))


def edited(text: str, share: float, seed: int = 0) -> str:
    """The text with this share of its words replaced, in one place."""
    words = text.split()
    count = round(len(words) * share)
    start = random.Random(seed).randrange(len(words) - count + 1)
    return " ".join(words[:start] + [f"n{seed}x{i}" for i in range(count)] + words[start + count :])


class Crawl:
    """Pages fetched one after the other, each committed before the next."""

    def __init__(self, near: NearDuplicates = NEAR) -> None:
        self.near = near
        self.tables = MemoryTables()

    def fetch(self, fingerprint: int, text: str) -> Match | None:
        return self.commit(self.near.find(self.tables, fingerprint, text)).match

    def gone(self, fingerprint: int) -> None:
        self.commit(run(self.tables, self.near.forget(fingerprint)))

    def commit(self, finding: Finding) -> Finding:
        batch = Batch()
        finding.write(batch)
        self.tables.commit(batch)
        return finding

    @property
    def members(self) -> set[int]:
        rows = self.tables.table(BANDS).rows.values()
        return {
            int.from_bytes(row[i : i + 8], "big") for row in rows for i in range(0, len(row), 8)
        }

    @property
    def stored(self) -> set[int]:
        return {int.from_bytes(key, "big") for key in self.tables.table(SKETCHES).rows}


def test_a_near_duplicate_is_found_with_its_original_and_similarity() -> None:
    crawl = Crawl()
    assert crawl.fetch(1, prose(1)) is None
    assert crawl.fetch(2, prose(2)) is None
    match = crawl.fetch(3, edited(prose(2), 0.03))
    assert match is not None
    assert match.fingerprint == 2
    assert 0.85 < match.similarity < 1.0


def test_the_most_similar_original_is_chosen() -> None:
    crawl = Crawl()
    base = prose(1, 1000)
    assert crawl.fetch(1, edited(base, 0.13, seed=1)) is None
    assert crawl.fetch(2, edited(base, 0.13, seed=2)) is None
    match = crawl.fetch(3, edited(edited(base, 0.13, seed=2), 0.01, seed=3))
    assert match is not None
    assert match.fingerprint == 2


def test_a_near_duplicate_is_not_stored() -> None:
    crawl = Crawl()
    crawl.fetch(1, prose(1))
    rows = len(crawl.tables.table(BANDS).rows)
    for page in range(2, 50):
        match = crawl.fetch(page, edited(prose(1), 0.02, seed=page))
        assert match is not None
        assert match.fingerprint == 1
    assert crawl.stored == {1}
    assert len(crawl.tables.table(BANDS).rows) == rows == NEAR.bands.count


def test_a_page_is_no_near_duplicate_of_its_own_past() -> None:
    crawl = Crawl()
    for text in (prose(1), prose(1), edited(prose(1), 0.02), prose(9), prose(1)):
        assert crawl.fetch(1, text) is None
    assert crawl.stored == {1}


def test_a_page_fetched_again_stays_the_original_of_its_near_duplicates() -> None:
    crawl = Crawl()
    crawl.fetch(1, prose(1))
    assert crawl.fetch(2, edited(prose(1), 0.02)) is not None
    assert crawl.fetch(1, prose(1)) is None
    assert crawl.fetch(2, edited(prose(1), 0.02)) is not None


def test_an_unchanged_page_writes_nothing() -> None:
    crawl = Crawl()
    crawl.fetch(1, prose(1))
    finding = crawl.near.find(crawl.tables, 1, prose(1))
    assert not finding.rows


def test_an_updated_page_is_found_by_its_new_text_only() -> None:
    crawl = Crawl()
    crawl.fetch(1, prose(1))
    crawl.fetch(1, prose(2))
    assert len(crawl.tables.table(BANDS).rows) == NEAR.bands.count
    assert crawl.fetch(2, prose(1)) is None
    match = crawl.fetch(3, prose(2))
    assert match == Match(1, 1.0)


def test_a_page_that_became_a_near_duplicate_gives_up_its_rows() -> None:
    crawl = Crawl()
    crawl.fetch(1, prose(1))
    crawl.fetch(2, prose(2))
    match = crawl.fetch(2, prose(1))
    assert match == Match(1, 1.0)
    assert crawl.stored == crawl.members == {1}
    assert crawl.fetch(3, prose(2)) is None


@pytest.mark.parametrize("text", [prose(1), "short page"])
def test_a_page_that_is_gone_leaves_no_trace(text: str) -> None:
    crawl = Crawl()
    crawl.fetch(1, text)
    crawl.fetch(2, prose(2))
    crawl.gone(1)
    crawl.gone(3)
    assert crawl.stored == crawl.members == {2}
    assert crawl.fetch(4, text) is None


def test_a_page_that_lost_its_words_leaves_no_trace() -> None:
    crawl = Crawl()
    crawl.fetch(1, prose(1))
    assert crawl.fetch(1, " ... ") is None
    assert crawl.stored == crawl.members == set()


def test_pages_without_words_are_nobodys_near_duplicates() -> None:
    crawl = Crawl()
    assert [crawl.fetch(page, "\u2014") for page in (1, 2)] == [None, None]
    assert crawl.stored == set()


def test_short_pages_are_compared_exactly() -> None:
    crawl = Crawl()
    text = "page not found the page you asked for is not here any more sorry"
    assert crawl.fetch(1, text) is None
    assert crawl.fetch(2, text.upper() + "!") == Match(1, 1.0)
    assert crawl.fetch(3, text + " indeed") is None
    assert crawl.stored == {1, 3}
    assert len(crawl.tables.table(BANDS).rows) == 2


def test_how_short_is_short_can_be_set() -> None:
    text = prose(1, 60)
    assert len(NearDuplicates(min_shingles=58).signature(text) or b"") == 8
    assert len(NearDuplicates(min_shingles=57).signature(text) or b"") == 400


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.9, 1.0])
def test_the_threshold_can_be_set(threshold: float) -> None:
    crawl = Crawl(NearDuplicates(threshold))
    base = prose(1, 2000)
    crawl.fetch(1, base)
    assert crawl.fetch(2, base) == Match(1, 1.0)
    reported = [
        crawl.fetch(page, edited(base, share, seed=page)) is not None
        for page, share in enumerate((0.02, 0.2, 0.4, 0.7), start=3)  # 0.96, 0.67, 0.43, 0.18
    ]
    expected = {0.3: [1, 1, 1, 0], 0.5: [1, 1, 0, 0], 0.9: [1, 0, 0, 0], 1.0: [0, 0, 0, 0]}
    assert reported == [bool(found) for found in expected[threshold]]


def test_agreement_on_exactly_the_threshold_is_enough() -> None:
    signature = NEAR.signature(prose(1)) or b""
    for differing, found in ((40, True), (41, False)):
        changed = bytes(b ^ 0xFF for b in signature[: 2 * differing]) + signature[2 * differing :]
        match = NEAR.judge(signature, {7: changed})
        assert (match is not None) == found
        if match is not None:
            assert match == Match(7, 0.8)


def test_one_page_costs_two_readings_and_an_update_three() -> None:
    crawl = Crawl()

    def readings(fingerprint: int, text: str) -> list[Reading]:
        steps, found, values = crawl.near.examine(fingerprint, crawl.near.signature(text)), [], None
        try:
            while True:
                found.append(steps.send(values) if found else next(steps))
                values = crawl.tables.table(found[-1].table).get_many(found[-1].keys)
        except StopIteration as end:
            crawl.commit(end.value)
        return found

    assert [reading.table for reading in readings(1, prose(1))] == [BANDS, SKETCHES]
    near_duplicate = readings(2, edited(prose(1), 0.01))
    assert [reading.table for reading in near_duplicate] == [BANDS, SKETCHES]
    assert [len(reading.keys) for reading in near_duplicate] == [NEAR.bands.count, 2]
    assert [reading.table for reading in readings(1, prose(1))] == [BANDS, SKETCHES]
    assert [reading.table for reading in readings(1, prose(3))] == [BANDS, SKETCHES, BANDS]


def test_reading_can_be_awaited() -> None:
    crawl = Crawl()
    crawl.fetch(1, prose(1))

    async def read(table: str, keys: Sequence[bytes]) -> list[bytes | None]:
        await asyncio.sleep(0)
        return crawl.tables.table(table).get_many(keys)

    signature = NEAR.signature(prose(1))
    finding = asyncio.run(run_async(read, NEAR.examine(2, signature)))
    assert finding.match == Match(1, 1.0)


def test_a_restart_loses_nothing() -> None:
    crawl = Crawl()
    crawl.fetch(1, prose(1))
    crawl.near = NearDuplicates()
    assert crawl.fetch(2, prose(1)) == Match(1, 1.0)


def test_a_page_whose_ending_was_not_committed_was_never_seen() -> None:
    crawl = Crawl()
    crawl.near.find(crawl.tables, 1, prose(1))
    assert crawl.fetch(2, prose(1)) is None


def test_buckets_and_candidates_stay_bounded() -> None:
    """Thousands of pages that share bands without being near-duplicates: a site's frame."""
    near = NearDuplicates(bucket_size=4, max_candidates=5)
    tables = MemoryTables()
    signature = near.signature(prose(1)) or b""
    shared = 2 * near.bands.rows
    for page in range(1, 500):
        rest = np.random.default_rng(page).bytes(len(signature) - shared)
        keys = near.band_keys(signature[:shared] + rest)
        batch = Batch()
        buckets = tables.table(BANDS).get_many(keys)
        near.writes(batch, page, signature[:shared] + rest, keys, buckets)
        tables.commit(batch)
        assert len(near.candidates(page, buckets)) <= 4
    assert max(len(row) for row in tables.table(BANDS).rows.values()) == 4 * 8
    first = tables.table(BANDS).get(near.band_keys(signature)[0])
    assert first == b"".join(page.to_bytes(8, "big") for page in (496, 497, 498, 499))
    full = [np.random.default_rng(i).bytes(4 * 8) for i in range(near.bands.count)]
    assert len(near.candidates(1, full)) == 5


def test_candidates_that_share_most_bands_go_first() -> None:
    near = NearDuplicates(max_candidates=2)
    a, b, c, d = (page.to_bytes(8, "big") for page in (1, 2, 3, 4))
    assert near.candidates(4, [a + b + d, b + c + d, None, c + b + d]) == [2, 3]


def test_a_page_dropped_from_its_buckets_comes_back_when_fetched_again() -> None:
    crawl = Crawl()
    crawl.fetch(1, prose(1))
    crawl.tables.table(BANDS).rows.clear()
    assert crawl.fetch(1, prose(1)) is None
    assert crawl.fetch(2, prose(1)) == Match(1, 1.0)


@settings(deadline=None)
@given(st.binary(max_size=50), st.binary(max_size=500))
def test_broken_rows_are_never_an_exception(bucket: bytes, row: bytes) -> None:
    crawl = Crawl()
    signature = NEAR.signature(prose(1)) or b""
    keys = NEAR.band_keys(signature)
    crawl.tables.table(BANDS).rows.update(dict.fromkeys(keys, bucket))
    for page in NEAR.candidates(2, [bucket]):
        crawl.tables.table(SKETCHES).rows[page.to_bytes(8, "big")] = row
    crawl.tables.table(SKETCHES).rows[(2).to_bytes(8, "big")] = row
    match = crawl.fetch(2, prose(1))
    assert match is None or row == signature


def test_sketches_made_with_other_parameters_are_never_met() -> None:
    text = prose(1)
    crawl = Crawl()
    crawl.fetch(1, text)
    others = (
        NearDuplicates(permutations=128),
        NearDuplicates(shingle_size=5),
        NearDuplicates(threshold=0.6),
        NearDuplicates(min_shingles=30),
    )
    keys = set(NEAR.band_keys(NEAR.signature(text) or b""))
    for near in others:
        assert keys.isdisjoint(near.band_keys(near.signature(text) or b""))
        crawl.near = near
        assert crawl.fetch(2, text) is None
        crawl.gone(2)


def test_other_parameters_are_told_in_words() -> None:
    assert NEAR.mismatch(None) is None
    assert NEAR.mismatch(NEAR.parameters) is None
    told = NEAR.mismatch(NearDuplicates(shingle_size=5).parameters)
    assert told is not None
    assert "shingle_size=5, not with shingle_size=4" in told
    assert NEAR.mismatch(b"\xff\x00") is not None
    assert len(PARAMETERS_KEY) != 8


@pytest.mark.parametrize(
    "arguments",
    [
        {"threshold": 0.0},
        {"threshold": 1.1},
        {"permutations": 8},
        {"shingle_size": 0},
        {"min_shingles": 0},
        {"bucket_size": 0},
        {"max_candidates": 0},
    ],
)
def test_impossible_parameters_are_refused(arguments: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"above 0|at least"):
        NearDuplicates(**arguments)


PAGES = st.lists(st.tuples(st.integers(1, 5), st.sampled_from([*range(6), None])), max_size=25)


@settings(deadline=None)
@given(PAGES)
def test_rows_say_what_the_pages_hold_now(history: list[tuple[int, int | None]]) -> None:
    """Texts 0 to 2 and 3 to 5 are two families of near-duplicates; None is a page gone."""
    texts = [prose(1)] + [edited(prose(1), 0.01, seed=i) for i in (1, 2)]
    texts += [prose(2)] + [edited(prose(2), 0.01, seed=i) for i in (4, 5)]
    crawl = Crawl()
    owner: dict[int, int] = {}  # family → the page that is its original
    for page, text in history:
        family = None if text is None else text // 3
        owner = {held: by for held, by in owner.items() if by != page or held == family}
        if text is None or family is None:
            crawl.gone(page)
        else:
            match = crawl.fetch(page, texts[text])
            expected = owner.setdefault(family, page)
            assert (match.fingerprint if match else page) == expected
        assert crawl.stored == crawl.members == set(owner.values())
        assert len(crawl.tables.table(BANDS).rows) == NEAR.bands.count * len(owner)
