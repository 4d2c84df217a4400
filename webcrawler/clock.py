"""The time that a crawl goes by: seconds since the epoch, without jumps.

The system's clock is asked once. From then on time passes as it does for the machine, asleep or
not, whatever the system's clock is set to meanwhile: a host's delay is neither cut short by an hour
that was put forward nor an hour longer for one that was put back.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def _passed() -> float:
    """Seconds since some moment, the machine's sleep included where the system counts that."""
    return time.clock_gettime(_STEADY)


class SteadyClock:
    """Calling it gives the time."""

    def __init__(
        self,
        set_by_people: Callable[[], float] = time.time,
        passed: Callable[[], float] = _passed,
    ) -> None:
        self._passed = passed
        self._began_at = set_by_people() - passed()

    def __call__(self) -> float:
        return self._began_at + self._passed()


now = SteadyClock()  # one for the whole process
