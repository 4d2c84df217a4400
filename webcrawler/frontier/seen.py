"""The URL-seen test's memory: a bounded cache of popular URLs, and the optional Bloom filter."""

from __future__ import annotations

import math
import mmap
import os
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class PopularCache:
    """Fingerprints met lately, in two generations: O(1), bounded, popular ones stay.

    When the young generation is full, it becomes the old one and the old one is forgotten; a
    hit in the old generation is carried over. So what is met again and again is always here.
    """

    __slots__ = ("_half", "_old", "_young")

    def __init__(self, size: int) -> None:
        self._half = max(1, size // 2)
        self._young: set[int] = set()
        self._old: set[int] = set()

    def __contains__(self, fingerprint: int) -> bool:
        if fingerprint in self._young:
            return True
        if fingerprint in self._old:
            self.add(fingerprint)
            return True
        return False

    def missing(self, fingerprints: Iterable[int]) -> list[int]:
        """Those that are not here, in their order."""
        young, old = self._young, self._old
        strangers = [fingerprint for fingerprint in fingerprints if fingerprint not in young]
        met = old.intersection(strangers)
        if not met:
            return strangers
        self.add_all(met)
        return [fingerprint for fingerprint in strangers if fingerprint not in met]

    def add(self, fingerprint: int) -> None:
        self.add_all((fingerprint,))

    def add_all(self, fingerprints: Iterable[int]) -> None:
        self._young.update(fingerprints)
        if len(self._young) >= self._half:
            self._old = self._young
            self._young = set()

    def discard(self, fingerprint: int) -> None:
        self._young.discard(fingerprint)
        self._old.discard(fingerprint)

    def __len__(self) -> int:
        return len(self._young) + len(self._old)


class BloomFilter:
    """A Bloom filter in a mapped file: constant memory, and a stated rate of false positives.

    A false positive means that a URL which was never met is taken for known and not crawled;
    that is the price. The file belongs to the operating system's cache, so it survives kill -9;
    bits are set after the store's commit, so that a crash can only forget, never invent.
    """

    _HEAD = struct.Struct("<8sQQI")
    _MAGIC = b"wcbloom1"

    def __init__(self, path: Path, capacity: int, error_rate: float) -> None:
        self.capacity = capacity
        self.error_rate = error_rate
        self._hashes = max(1, round(-math.log2(error_rate)))
        bits = math.ceil(-capacity * math.log(error_rate) / math.log(2) ** 2)
        self._bits = 1 << max(10, (bits - 1).bit_length())
        size = self._HEAD.size + self._bits // 8
        fresh = not path.exists() or path.stat().st_size != size
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            if fresh:
                os.ftruncate(descriptor, 0)
                os.ftruncate(descriptor, size)
            self._map = mmap.mmap(descriptor, size)
        finally:
            os.close(descriptor)
        if fresh:
            self._map[: self._HEAD.size] = self._HEAD.pack(
                self._MAGIC, self._bits, capacity, self._hashes
            )
        self.is_fresh = fresh

    def _positions(self, fingerprint: int) -> list[int]:
        # Double hashing on the two halves of the fingerprint (Kirsch and Mitzenmacher).
        mask = self._bits - 1
        first = fingerprint & 0xFFFFFFFF
        step = (fingerprint >> 32) | 1
        # A second mix, because a table of 2**k bits would otherwise see only the low bits.
        first = (first * 0x9E3779B97F4A7C15) >> 7
        return [(first + i * step * 0x2545F4914F6CDD1D) & mask for i in range(self._hashes)]

    def __contains__(self, fingerprint: int) -> bool:
        data, offset = self._map, self._HEAD.size
        return all(
            data[offset + (position >> 3)] >> (position & 7) & 1
            for position in self._positions(fingerprint)
        )

    def add_all(self, fingerprints: Iterable[int]) -> None:
        data, offset = self._map, self._HEAD.size
        for fingerprint in fingerprints:
            for position in self._positions(fingerprint):
                data[offset + (position >> 3)] |= 1 << (position & 7)

    def sync(self) -> None:
        self._map.flush()

    def close(self) -> None:
        self._map.flush()
        self._map.close()
