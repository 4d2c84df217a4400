"""Numbers that only grow: the order in which pages ended, over restarts as well."""

from __future__ import annotations

import time
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Sequence:
    """Nanoseconds of the clock, and more than the last where the clock has not moved on.

    The last bits are the worker's number, so that no two workers ever give the same. Threads may
    share one.
    """

    __slots__ = ("_clock", "_last", "_lock", "_worker")

    WORKERS = 1024

    def __init__(self, worker: int = 0, clock: Callable[[], int] = time.time_ns) -> None:
        self._worker = worker % self.WORKERS
        self._clock = clock
        self._last = 0
        self._lock = Lock()

    def next(self) -> int:
        with self._lock:
            self._last = max(self._last + 1, self._clock() // self.WORKERS)
            return self._last * self.WORKERS + self._worker
