"""How many near-duplicates are found, and how many reported that are none."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lxml.html
import pytest

from tests.programs import missing
from tests.suites import suite_path
from webcrawler.dedup import BANDS, NearDuplicates
from webcrawler.tables import Batch, MemoryTables

if TYPE_CHECKING:
    from collections.abc import Sequence

Pair = tuple[int, int]


def reported(near: NearDuplicates, texts: Sequence[str]) -> set[Pair]:
    """All pairs of texts that the test calls near-duplicates, with every text stored."""
    tables = MemoryTables()
    signatures = [near.signature(text) or b"" for text in texts]
    pairs = set()
    for page, signature in enumerate(signatures):
        keys = near.band_keys(signature)
        buckets = tables.table(BANDS).get_many(keys)
        candidates = near.candidates(page, buckets)
        for match in near.matches(signature, {other: signatures[other] for other in candidates}):
            pairs.add((match.fingerprint, page))
        batch = Batch()
        near.writes(batch, page, signature, keys, buckets)
        tables.commit(batch)
    return pairs


def page_text(path: Path) -> str:
    """The text as the suite defines it."""
    root = lxml.html.fromstring(path.read_bytes())
    for element in root.xpath("//script|//style"):
        element.drop_tree()
    return str(root.text_content())


@pytest.fixture(scope="module")
def guide() -> dict[str, Any]:
    path = suite_path("neardup/jaccard_installation-guide-en.json.gz")
    suite: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    for page in suite["pages"]:
        file = Path(page["path"])
        if not file.exists():
            missing(f"{file} of Debian's installation-guide packages")
        if hashlib.sha1(file.read_bytes()).hexdigest() != page["sha1"]:
            pytest.skip(f"{file} is of another version than the suite")
    return suite


def test_installation_guide(guide: dict[str, Any]) -> None:
    """Of pairs at 0.9 and above 98 % are found, of pairs at 0.7 and below 2 % reported."""
    found = reported(NearDuplicates(), [page_text(Path(page["path"])) for page in guide["pages"]])
    exact = {(min(i, j), max(i, j)): jaccard for i, j, jaccard in guide["pairs"]}
    alike = {pair for pair, jaccard in exact.items() if jaccard >= 0.9}
    unlike = {pair for pair, jaccard in exact.items() if jaccard <= 0.7}
    assert len(alike) > 100
    assert len(unlike) > 10
    assert len(found & alike) >= 0.98 * len(alike)
    assert len(found & unlike) <= 0.02 * len(unlike)
    assert {pair for pair in found if exact.get(pair, 0.0) <= 0.7} == set()


def exact_jaccard(one: str, other: str, size: int = 4) -> float:
    sets = []
    for text in (one, other):
        words = text.split()
        sets.append({tuple(words[i : i + size]) for i in range(len(words) - size + 1)})
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def variants(count: int) -> list[str]:
    """Pairs of texts of 40 to 1,500 words, the second with single words replaced at random."""
    generator = random.Random(11)
    texts = []
    for _ in range(count):
        length = generator.randint(40, 1500)
        words = [f"w{int(generator.paretovariate(0.6)) % 20000}" for _ in range(length)]
        rate = generator.uniform(0.0, 0.15)
        changed = [
            f"x{generator.randrange(9999)}" if generator.random() < rate else word for word in words
        ]
        texts += [" ".join(words), " ".join(changed)]
    return texts


def test_made_up_pages() -> None:
    """The same promise on pages that need no package, against the exact similarity."""
    texts = variants(600)
    found = reported(NearDuplicates(), texts)
    exact = {(i, i + 1): exact_jaccard(texts[i], texts[i + 1]) for i in range(0, len(texts), 2)}
    alike = {pair for pair, jaccard in exact.items() if jaccard >= 0.9}
    unlike = {pair for pair, jaccard in exact.items() if jaccard <= 0.7}
    assert min(len(alike), len(unlike)) > 50
    assert len(found & alike) >= 0.98 * len(alike)
    assert len(found & unlike) <= 0.02 * len(unlike)
    assert found <= exact.keys()  # nothing is reported between unrelated texts


def test_scripts_without_spaces() -> None:
    generator = random.Random(12)
    letters = [chr(0x4E00 + i) for i in range(800)]
    texts = []
    for i in range(100):
        text = generator.choices(letters, k=600)
        changed = list(text)
        if i % 2:  # every tenth character another one: far below the threshold
            changed[::10] = generator.choices(letters, k=60)
        else:  # one sentence another one
            changed[100:110] = generator.choices(letters, k=10)
        texts += ["".join(text), "".join(changed)]
    assert reported(NearDuplicates(), texts) == {(i, i + 1) for i in range(0, 200, 4)}
