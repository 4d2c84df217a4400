"""The URL-seen test of an embedded store: what is popular, then the table or the Bloom filter."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from webcrawler.exceptions import JobError
from webcrawler.frontier.backends.layout import ID
from webcrawler.frontier.seen import BloomFilter, PopularCache

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from webcrawler.frontier.backends.kv import KV


class SeenTest:
    """Which fingerprints were ever put.

    The exact test has a row for each in `seen`, which whoever puts a URL writes; the Bloom filter
    is told after the commit (`confirm`), so that a crash can only forget, never invent.
    """

    def __init__(self, kv: KV, popular: int, bloom: BloomFilter | None) -> None:
        self._popular = PopularCache(popular)
        self._table = kv.table("seen")
        self._bloom = bloom
        self._check(kv)

    def _check(self, kv: KV) -> None:
        """One test for the whole crawl: the exact one knows nothing of the other's URLs."""
        is_marked = kv.table("meta").get(b"bloom") is not None
        if self._bloom is None:
            if is_marked:
                raise JobError(
                    "this crawl was started with FRONTIER_BLOOM_URLS: use that, or another "
                    "job folder"
                )
        elif not is_marked:
            batch = kv.batch()
            batch.put(b"bloom", b"", kv.handle("meta"))
            kv.write(batch)

    @property
    def is_exact(self) -> bool:
        return self._bloom is None

    @property
    def has_to_learn(self) -> bool:
        """Whether the Bloom filter is new here, as a checkpoint has none."""
        return self._bloom is not None and self._bloom.is_fresh

    def learn(self, fingerprints: Iterable[int]) -> None:
        assert self._bloom is not None
        them = iter(fingerprints)
        while chunk := list(islice(them, 1000)):
            self._bloom.add_all(chunk)

    def unknown(self, fingerprints: Sequence[int]) -> set[int]:
        """Those that were never put."""
        asked = self._popular.missing(fingerprints)
        if not asked:
            return set()
        if self._bloom is not None:
            bloom = self._bloom
            return {fingerprint for fingerprint in asked if fingerprint not in bloom}
        pack = ID.pack
        rows = self._table.get_many([pack(fingerprint) for fingerprint in asked])
        if not any(rows):
            return set(asked)
        known = [fingerprint for fingerprint, row in zip(asked, rows, strict=True) if row]
        self._popular.add_all(known)
        return set(asked).difference(known)

    def place(self, fingerprint: int) -> bytes | None:
        """Where it was put; None where that is not known."""
        return self._table.get(ID.pack(fingerprint))

    def note(self, fingerprints: Collection[int]) -> None:
        """These are being put."""
        self._popular.add_all(fingerprints)

    def confirm(self, fingerprints: Collection[int]) -> None:
        """These were put."""
        if self._bloom is not None and fingerprints:
            self._bloom.add_all(fingerprints)

    def close(self) -> None:
        if self._bloom is not None:
            self._bloom.close()
