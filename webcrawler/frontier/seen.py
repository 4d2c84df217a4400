"""The URL-seen test's memory: a bounded cache of popular URLs, and the optional Bloom filter."""

from __future__ import annotations

import math
import mmap
import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from numpy.typing import NDArray


_WAYS = 8  # fingerprints a bucket: one line of the processor's cache
_COLUMNS = np.arange(_WAYS)


class PopularCache:
    """Fingerprints met lately, in buckets of eight: O(1), bounded, popular ones stay.

    A bucket is a FIFO; a hit in its older half moves the fingerprint to the front. So what is
    met again and again is always here. Eight bytes each, where a set takes seventy, and a whole
    list is asked for at once.
    """

    __slots__ = ("_buckets", "_mask")

    def __init__(self, size: int) -> None:
        number = 1 << max(1, (size // _WAYS - 1).bit_length())  # so that a mask finds the bucket
        self._buckets = np.zeros((number, _WAYS), dtype=np.uint64)
        self._mask = np.uint64(number - 1)

    def __contains__(self, fingerprint: int) -> bool:
        return not self.missing((fingerprint,))

    def missing(self, fingerprints: Sequence[int]) -> list[int]:
        """Those that are not here, in their order."""
        if not fingerprints:
            return []
        places, values = self._places(fingerprints)
        is_hit = self._buckets.take(places, axis=0) == values[:, None]
        is_young = is_hit[:, : _WAYS // 2].any(axis=1)
        if is_young.all():
            return []
        is_old = is_hit[:, _WAYS // 2 :].any(axis=1) & ~is_young
        if is_old.any():
            self._move(places[is_old], values[is_old], is_hit[is_old].argmax(axis=1))
        is_here = is_young | is_old
        return [f for f, here in zip(fingerprints, is_here.tolist(), strict=True) if not here]

    def add(self, fingerprint: int) -> None:
        self.add_all((fingerprint,))

    def add_all(self, fingerprints: Collection[int]) -> None:
        """Of several that fall into one bucket together, the last is kept."""
        if fingerprints:
            places, values = self._places(list(fingerprints))
            rows = np.empty((len(places), _WAYS), dtype=np.uint64)
            rows[:, 1:] = self._buckets.take(places, axis=0)[:, :-1]
            rows[:, 0] = values
            self._buckets[places] = rows

    def forget(self, fingerprints: Sequence[int]) -> None:
        """They are not here any more."""
        if fingerprints:
            for place, value in zip(*self._places(fingerprints), strict=True):
                row = self._buckets[place]
                row[row == value] = 0

    def _places(self, fingerprints: Sequence[int]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Their buckets, and what is kept of them there: never 0, which is an empty place."""
        numbers = np.array(fingerprints, dtype=np.uint64)
        return (numbers & self._mask).astype(np.intp), numbers | self._mask

    def _move(self, places: NDArray[Any], values: NDArray[Any], last: NDArray[Any]) -> None:
        """Move values from the columns `last` to the front."""
        rows = self._buckets.take(places, axis=0)
        rows[:, 1:] = np.where(last[:, None] >= _COLUMNS[1:], rows[:, :-1], rows[:, 1:])
        rows[:, 0] = values
        self._buckets[places] = rows


class BloomFilter:
    """A Bloom filter in a mapped file: constant memory, and a stated rate of false positives.

    A false positive means that a URL which was never met is taken for known and not crawled;
    that is the price. The file belongs to the operating system's cache, so it survives kill -9;
    bits are set after the store's commit, so that a crash can only forget, never invent. What
    the system had not written when the power went is gone: a filter that was open then is begun
    anew (`is_fresh`), as is one for another rate, and learns again what the store knows.
    """

    _HEAD = struct.Struct("<8sQQI36s")
    _MAGIC = b"wcbloom2"
    _CLOSED = bytes(36)

    def __init__(self, path: Path, capacity: int, error_rate: float) -> None:
        self.capacity = capacity
        self.error_rate = error_rate
        self._hashes = max(1, round(-math.log2(error_rate)))
        bits = math.ceil(-capacity * math.log(error_rate) / math.log(2) ** 2)
        self._bits = 1 << max(10, (bits - 1).bit_length())
        size = self._HEAD.size + self._bits // 8
        shape = (self._MAGIC, self._bits, capacity, self._hashes)
        started = _system_start()
        good = {self._HEAD.pack(*shape, state) for state in (self._CLOSED, started)}
        fresh = not path.exists() or path.stat().st_size != size or _head(path) not in good
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            if fresh:
                os.ftruncate(descriptor, 0)
                os.ftruncate(descriptor, size)
            self._map = mmap.mmap(descriptor, size)
        finally:
            os.close(descriptor)
        self._closed = self._HEAD.pack(*shape, self._CLOSED)
        self._map[: self._HEAD.size] = self._HEAD.pack(*shape, started)
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

    def close(self) -> None:
        self._map.flush()
        self._map[: self._HEAD.size] = self._closed
        self._map.close()


def _system_start() -> bytes:
    """What differs from one start of the operating system to the next, if it says so."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_bytes()[:36].ljust(36, b"?")
    except OSError:
        return b"?" * 36


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(BloomFilter._HEAD.size)
