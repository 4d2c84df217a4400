"""Locality-sensitive hashing with its buckets in the crawl's store, table `bands`:

    hash of a band → fingerprints of the pages that have it, eight bytes each, oldest first

A band is a part of a sketch. Pages that are alike have some band in common almost surely, pages
that are not almost never.

datasketch's own `MinHashLSH` cannot work on this store. Which storages there are is fixed in
two functions of it, and in two of its asynchronous form. An insertion is one call for each
band, on the storage's own connection, and takes effect at once or when some buffer is full,
while here a page's rows have to join the one batch that ends the page. And its buckets grow
without bound. So datasketch chooses the bands (`parameters`), and the rows are ours.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np
from xxhash import xxh3_64_digest, xxh3_64_intdigest

from webcrawler.dedup.content import pack_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webcrawler.dedup.reading import Values
    from webcrawler.tables import Batch

BANDS: Final = "bands"

_MEMBER: Final = 8  # bytes of a fingerprint


class Bands:
    """The keys of signatures, and the buckets that stand at them.

    A bucket keeps its newest `bucket_size` members, so that what thousands of pages have in
    common (a site's frame, an error page) costs no more than anything else. The hashes are seeded
    with `parameters`: rows that were made with others are never met.
    """

    def __init__(self, count: int, rows: int, *, bucket_size: int, parameters: bytes) -> None:
        self.count = count
        self.rows = rows
        self.bucket_size = bucket_size
        # Room for a seed of its own for every band, below 2**64.
        self._seed = xxh3_64_intdigest(parameters) >> 16 << 16

    def keys(self, sketch: bytes) -> list[bytes]:
        """The keys of a packed sketch, one a band, always in the same order."""
        size, seed = 2 * self.rows, self._seed
        return [
            xxh3_64_digest(sketch[band * size : (band + 1) * size], seed + band)
            for band in range(self.count)
        ]

    def exact_key(self, digest: bytes) -> bytes:
        """The one key of a page that is compared as a whole."""
        return xxh3_64_digest(digest, self._seed + self.count)

    def members(self, buckets: Values, limit: int) -> list[int]:
        """The pages in these buckets, those in most of them first, at most `limit`."""
        filled = [bucket[: len(bucket) // _MEMBER * _MEMBER] for bucket in buckets if bucket]
        if not filled:
            return []
        shared = Counter(np.frombuffer(b"".join(filled), ">u8").tolist())
        return [page for page, _ in shared.most_common(limit)]

    def join(self, batch: Batch, fingerprint: int, keys: Sequence[bytes], buckets: Values) -> None:
        """Append to a batch that a page is a member of these buckets, where it is not yet."""
        member = pack_number(fingerprint)
        for key, bucket in zip(keys, buckets, strict=True):
            members = _split(bucket)
            if member not in members:
                batch.put(BANDS, key, b"".join([*members, member][-self.bucket_size :]))

    def leave(self, batch: Batch, fingerprint: int, keys: Sequence[bytes], buckets: Values) -> None:
        """Append to a batch that a page is no member of these buckets, where it is one."""
        member = pack_number(fingerprint)
        for key, bucket in zip(keys, buckets, strict=True):
            members = _split(bucket)
            if member not in members:
                continue
            if len(members) == 1:
                batch.delete(BANDS, key)
            else:
                batch.put(BANDS, key, b"".join(other for other in members if other != member))


def _split(bucket: bytes | None) -> list[bytes]:
    if not bucket:
        return []
    return [bucket[i : i + _MEMBER] for i in range(0, len(bucket) - _MEMBER + 1, _MEMBER)]
