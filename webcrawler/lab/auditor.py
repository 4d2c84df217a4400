"""The lab's own judge of politeness: it knows the web, and nothing of the frontier."""

from __future__ import annotations


class Auditor:
    """Counts fetches that overlap another of their host, or come sooner than its delay."""

    def __init__(self, minimum: float, factor: float, maximum: float = 60.0) -> None:
        self._minimum, self._factor, self._maximum = minimum, factor, maximum
        self._flying: set[int] = set()
        self._may_at: dict[int, float] = {}
        self.violations = 0
        self.smallest_spare = float("inf")  # of all gaps, by how much the closest was kept

    def start(self, host: int, now: float) -> None:
        if host in self._flying:
            self.violations += 1
        self._flying.add(host)
        may_at = self._may_at.get(host)
        if may_at is not None:
            spare = now - may_at
            self.smallest_spare = min(self.smallest_spare, spare)
            if spare < -1e-6:
                self.violations += 1

    def end(self, host: int, took: float, crawl_delay: float, now: float) -> None:
        self._flying.discard(host)
        by_time = min(self._factor * took, self._maximum)
        self._may_at[host] = now + max(self._minimum, crawl_delay, by_time)
