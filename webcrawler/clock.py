"""The time that a crawl goes by: seconds since the epoch, without jumps.

The system's clock is asked once. From then on time passes as it does for the machine, asleep or
not, whatever the system's clock is set to meanwhile: a host's delay is neither cut short by an hour
that was put forward nor an hour longer for one that was put back. Workers of one crawl go by the
clock of their Redis, so that what one writes down another may read.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_TIMES = 5
_STEP = 0.001


def steady() -> float:
    """Seconds since some moment, the machine's sleep included where the system counts that."""
    return time.clock_gettime(_STEADY)


class SteadyClock:
    """Calling it gives the time."""

    def __init__(
        self,
        set_by_people: Callable[[], float] = time.time,
        passed: Callable[[], float] = steady,
    ) -> None:
        self._passed = passed
        self._began_at = set_by_people() - passed()

    def __call__(self) -> float:
        return self._began_at + self._passed()

    def set_by(self, other: Callable[[], float]) -> None:
        """Go by another clock. It is asked a few times: the quickest answer is the most exact."""
        quickest = float("inf")
        for _ in range(_TIMES):
            asked_at = self._passed()
            told = other()
            heard_at = self._passed()
            if heard_at - asked_at < quickest:
                quickest = heard_at - asked_at
                self._began_at = told - (asked_at + heard_at) / 2

    def follow(self, told: float, asked_at: float) -> None:
        """Hear again what the other clock says, asked at that steady time: no two are equally fast.

        A millisecond at most is made good at a time, so that no delay becomes noticeably shorter
        or longer, not even if somebody sets the other clock.
        """
        earliest, latest = told - self._passed(), told - asked_at  # that it can have begun
        wanted = max(earliest, min(latest, self._began_at))
        self._began_at += max(-_STEP, min(_STEP, wanted - self._began_at))


now = SteadyClock()  # one for the whole process
