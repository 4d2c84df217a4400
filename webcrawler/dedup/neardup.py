"""The near-duplicate test: which stored page is this one nearly the same as?

Table `sketches` holds fingerprint → signature, and one row with the parameters they were made
with. Only originals have rows, there and in `bands`. A page that is a near-duplicate of a stored
one is not stored itself: a thousand variants of a page cost as much as one, and two
alike pages are never each called a near-duplicate of the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from webcrawler.dedup.content import pack_number
from webcrawler.dedup.lsh import BANDS, Bands
from webcrawler.dedup.parameters import choose_parameters
from webcrawler.dedup.reading import Reading, run
from webcrawler.dedup.shingles import Shingler
from webcrawler.dedup.signature import Signer
from webcrawler.dedup.sketch import Sketcher, similarities
from webcrawler.tables import Batch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from webcrawler.dedup.reading import Steps, Tables, Values

SKETCHES: Final = "sketches"
PARAMETERS_KEY: Final = b"parameters"  # no fingerprint: those have eight bytes

_SEED: Final = 1
_EXACT: Final = 8  # bytes of the signature of a short page; sketches have 32 or more
_ROUNDING: Final = 1e-9  # so that 160 of 200 are 0.8, whatever floats make of it


class Match(NamedTuple):
    """A stored page that another is a near-duplicate of, and how similar they are."""

    fingerprint: int
    similarity: float


@dataclass(frozen=True, slots=True)
class Finding:
    """What the near-duplicate test found out about a page.

    `match` is the original it is a near-duplicate of, or None. `write` appends what is to be
    remembered to the page's batch; it is called once, near-duplicate or not. Rows hold whole
    buckets, so of two pages examined before either is committed, the later commit may hide
    the earlier page from some bands: a near-duplicate less is found, and nothing else happens.
    """

    fingerprint: int
    signature: bytes | None
    match: Match | None
    rows: Batch = field(default_factory=Batch, repr=False)

    def write(self, batch: Batch) -> None:
        batch.writes.extend(self.rows.writes)


class NearDuplicates:
    """Signatures of texts, and the test of a signature against those stored.

    A signature is what is stored of a page: its packed sketch, or, for a page of fewer than
    `min_shingles` shingles, eight bytes that are the same only for the same words. A page without
    words has none and is nobody's near-duplicate.

    Whatever a crawl holds, `examine` costs a page two readings, of `len(band_keys)` buckets and
    of at most `max_candidates` signatures. A third is made only for a page that was an original
    before and whose bands have changed, to take it out of the buckets it has left.
    """

    def __init__(
        self,
        threshold: float = 0.8,
        permutations: int = 200,
        shingle_size: int = 4,
        *,
        min_shingles: int = 20,
        bucket_size: int = 16,
        max_candidates: int = 32,
        max_characters: int = 500_000,
    ) -> None:
        if not 0.0 < threshold <= 1.0:
            raise ValueError(f"threshold {threshold}: above 0 and at most 1")
        if min(min_shingles, bucket_size, max_candidates) < 1:
            raise ValueError("min_shingles, bucket_size and max_candidates: at least 1")
        self.threshold = threshold
        self.max_candidates = max_candidates
        chosen = choose_parameters(threshold, permutations, _SEED)
        self.signer = Signer(
            Shingler(shingle_size, max_characters),
            Sketcher(chosen.factors, chosen.terms),
            min_shingles,
        )
        count, rows = chosen.bands, chosen.rows
        self.parameters = (
            f"version=1 scheme=affine32 seed={_SEED} permutations={permutations} "
            f"shingle_size={shingle_size} min_shingles={min_shingles} bands={count}x{rows}"
        ).encode()
        self.bands = Bands(count, rows, bucket_size=bucket_size, parameters=self.parameters)

    def signature(self, text: str) -> bytes | None:
        """What is stored and compared of a text; None where it has no words."""
        return self.signer.sign(text)

    def band_keys(self, signature: bytes) -> list[bytes]:
        """The keys of a signature's buckets in table `bands`."""
        if len(signature) == _EXACT:
            return [self.bands.exact_key(signature)]
        return self.bands.keys(signature)

    def candidates(self, fingerprint: int, buckets: Values) -> list[int]:
        """The pages to compare with, read from the buckets; never the page itself."""
        pages = self.bands.members(buckets, self.max_candidates + 1)
        return [page for page in pages if page != fingerprint][: self.max_candidates]

    def matches(self, signature: bytes, candidates: Mapping[int, bytes]) -> list[Match]:
        """All candidates (fingerprint → signature) as similar as asked for, most similar first."""
        if len(signature) == _EXACT:
            return [Match(page, 1.0) for page, other in candidates.items() if other == signature]
        if not candidates:
            return []
        found = similarities(signature, list(candidates.values()))
        least = self.threshold - _ROUNDING
        matches = [Match(*pair) for pair in zip(candidates, found, strict=True) if pair[1] >= least]
        matches.sort(key=lambda match: match.similarity, reverse=True)
        return matches

    def judge(self, signature: bytes, candidates: Mapping[int, bytes]) -> Match | None:
        """The most similar candidate, if one is as similar as asked for."""
        matches = self.matches(signature, candidates)
        return matches[0] if matches else None

    def writes(
        self,
        batch: Batch,
        fingerprint: int,
        signature: bytes,
        keys: Sequence[bytes],
        buckets: Values,
    ) -> None:
        """Append the rows of an original to a batch: its signature and its buckets."""
        batch.put(SKETCHES, pack_number(fingerprint), signature)
        self.bands.join(batch, fingerprint, keys, buckets)

    def examine(self, fingerprint: int, signature: bytes | None) -> Steps[Finding]:
        """Steps to what is known about a page with this signature at this URL.

        A page is never a near-duplicate of its own past: its old rows are not compared but
        replaced, or removed where the page is no original any more or has lost its words.
        """
        keys = self.band_keys(signature) if signature is not None else []
        buckets: Values = (yield Reading(BANDS, keys)) if keys else ()
        pages = self.candidates(fingerprint, buckets)
        own_key = pack_number(fingerprint)
        own, *others = yield Reading(SKETCHES, [own_key, *map(pack_number, pages)])
        match = None
        if signature is not None and pages:
            rows = zip(pages, others, strict=True)
            match = self.judge(signature, {page: row for page, row in rows if row is not None})

        finding = Finding(fingerprint, signature, match)
        kept = signature if match is None else None
        if own is not None and own != kept:
            left = [key for key in self.band_keys(own) if kept is None or key not in keys]
            if left:
                self.bands.leave(finding.rows, fingerprint, left, (yield Reading(BANDS, left)))
        if kept is not None and own == kept:
            self.bands.join(finding.rows, fingerprint, keys, buckets)  # where it had been lost
        elif kept is not None:
            self.writes(finding.rows, fingerprint, kept, keys, buckets)
        elif own is not None:
            finding.rows.delete(SKETCHES, own_key)
        return finding

    def forget(self, fingerprint: int) -> Steps[Finding]:
        """Steps to a finding whose `write` removes a page that is gone."""
        return self.examine(fingerprint, None)

    def find(self, tables: Tables, fingerprint: int, text: str) -> Finding:
        """The whole test of a text on a store that answers at once."""
        return run(tables, self.examine(fingerprint, self.signature(text)))

    def mismatch(self, stored: bytes | None) -> str | None:
        """How the row at `PARAMETERS_KEY` differs from ours, in words; None where it does not.

        A store without that row has no sketches yet: put `parameters` there.
        """
        if stored is None or stored == self.parameters:
            return None
        made, ours = (row.decode("utf-8", "replace").split() for row in (stored, self.parameters))
        return (
            f"the stored sketches were made with {' '.join(p for p in made if p not in ours)}, "
            f"not with {' '.join(p for p in ours if p not in made)}, and cannot be compared"
        )
