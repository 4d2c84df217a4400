"""Sketches: the same values as datasketch's, and what of them is stored."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from datasketch import MinHash
from hypothesis import given, settings
from hypothesis import strategies as st

from webcrawler.dedup import Sketcher, pack, similarity, unpack
from webcrawler.dedup.parameters import choose_parameters

if TYPE_CHECKING:
    import random


def made(permutations: int = 200) -> Sketcher:
    chosen = choose_parameters(0.8, permutations, 1)
    return Sketcher(chosen.factors, chosen.terms)


SKETCHER = made()
HASHES = st.lists(st.integers(0, (1 << 32) - 1), max_size=60)


def sketch(hashes: list[int]) -> np.ndarray:
    return SKETCHER.sketch(np.array(hashes, np.uint32))


def peer(hashes: list[int], permutations: int = 200) -> np.ndarray:
    minhash = MinHash(permutations, seed=1, scheme="affine32", hashfunc=int)
    minhash.update_batch(hashes)
    return minhash.hashvalues


def test_ctrl_c_on_the_terminal_does_not_reach_the_process_that_chooses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = "import os; print([1, os.getpgid(0), [], []])"
    monkeypatch.setattr("webcrawler.dedup.parameters._PROGRAM", program)
    assert choose_parameters.__wrapped__(0.8, 200, 1).rows != os.getpgid(0)


@settings(deadline=None)
@given(HASHES)
def test_values_are_those_of_datasketch(hashes: list[int]) -> None:
    found = sketch(hashes)
    assert found.dtype == np.uint32
    assert np.array_equal(found, peer(hashes))


@pytest.mark.parametrize("count", [1, 655, 656, 8191, 8192, 8193, 20000])
@pytest.mark.parametrize("permutations", [16, 200, 257])
def test_blocks_of_any_size_fit_together(count: int, permutations: int) -> None:
    hashes = np.random.default_rng(count).integers(0, 1 << 32, count, dtype=np.uint32)
    found = made(permutations).sketch(hashes)
    assert np.array_equal(found, peer(hashes.tolist(), permutations))


@settings(deadline=None)
@given(HASHES, st.randoms())
def test_neither_order_nor_repetition_counts(hashes: list[int], shuffler: random.Random) -> None:
    other = hashes + hashes[::2]
    shuffler.shuffle(other)
    assert np.array_equal(sketch(hashes), sketch(other))


def test_sketching_leaves_numpy_as_it_was() -> None:
    before = np.getbufsize()
    sketch([1, 2, 3])
    assert np.getbufsize() == before


def test_a_stored_sketch_has_two_bytes_a_permutation() -> None:
    found = sketch(list(range(1000)))
    stored = pack(found)
    assert len(stored) == 400
    assert np.array_equal(unpack(stored), found & 0xFFFF)


@settings(deadline=None, max_examples=25)
@given(st.integers(50, 2000), st.floats(0.0, 1.0), st.integers(0, 1000))
def test_similarity_is_that_of_the_sets(size: int, share: float, seed: int) -> None:
    """The estimate is within five standard errors of the exact Jaccard similarity."""
    common = int(size * share)
    hashes = np.random.default_rng(seed).integers(0, 1 << 32, 2 * size, dtype=np.uint32).tolist()
    one, other = hashes[:size], hashes[:common] + hashes[size : 2 * size - common]
    exact = len(set(one) & set(other)) / len(set(one) | set(other))
    found = similarity(pack(sketch(one)), pack(sketch(other)))
    assert abs(found - exact) <= 5 * (max(exact * (1 - exact), 0.01) / 200) ** 0.5


def test_sketches_of_different_lengths_are_not_similar() -> None:
    one = pack(sketch([1, 2, 3]))
    assert similarity(one, one) == 1.0
    assert similarity(one, one[:-2]) == 0.0
    assert similarity(one, b"") == 0.0
    assert similarity(one, b"odd") == 0.0


def test_too_few_permutations_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 16"):
        made(15)


def test_a_crawl_does_not_carry_scipy() -> None:
    program = (
        "import sys; from webcrawler.dedup import NearDuplicates; NearDuplicates();"
        "print([name for name in sys.modules if name in ('scipy', 'datasketch')])"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert answer.stdout.strip() == b"[]"
