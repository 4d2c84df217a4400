"""The lab's own judge of politeness: it knows the web, and nothing of the frontier."""

from __future__ import annotations

from array import array


class Auditor:
    """Counts fetches that overlap another of their host, or come sooner than its delay.

    Nine bytes a host, so that a million of them can be watched.
    """

    def __init__(self, hosts: int, minimum: float, factor: float, maximum: float = 60.0) -> None:
        self._minimum, self._factor, self._maximum = minimum, factor, maximum
        self._flying = bytearray(hosts)
        self._may_at = array("d", [-1.0]) * hosts  # below 0: never fetched from
        self.violations = 0
        self.smallest_spare = float("inf")  # of all gaps, by how much the closest was kept

    def start(self, host: int, now: float) -> None:
        if self._flying[host]:
            self.violations += 1
        self._flying[host] = 1
        may_at = self._may_at[host]
        if may_at >= 0:
            spare = now - may_at
            if spare < self.smallest_spare:
                self.smallest_spare = spare
            if spare < -1e-6:
                self.violations += 1

    def end(self, host: int, took: float, crawl_delay: float, now: float) -> None:
        self._flying[host] = 0
        by_time = min(self._factor * took, self._maximum)
        self._may_at[host] = now + max(self._minimum, crawl_delay, by_time)
