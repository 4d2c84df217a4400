"""What the workers of a crawl say of themselves, and what follows from who is there."""

from __future__ import annotations

import json
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from webcrawler.frontier.backends.shared.driver import Call
from webcrawler.frontier.backends.shared.preference import share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webcrawler.frontier.backends.shared.keys import Keys

_RATE_SECS = 60.0


class Fellows:
    """One worker's own entry, and those of the others as last heard."""

    def __init__(self, keys: Keys, worker: str, number: int, lease_secs: float) -> None:
        self._keys = keys
        self._worker = worker
        self._number = number
        self._lease_secs = lease_secs
        self._rates: deque[tuple[float, int]] = deque()
        self.pages = 0
        self.refused = 0
        self.exchanged = 0
        self.entries: dict[str, Any] = {}
        self.preferred: set[int] = set()  # the partitions whose hosts are meant for this worker

    def entry(self, session: str, now: float, **state: Any) -> Call:
        """What is told to the others."""
        entry = {
            "worker": self._worker,
            "number": self._number,
            "at": now,
            "lease_secs": self._lease_secs,
            "pages": self.pages,
            "refused": self.refused,
            "exchanged": self.exchanged,
            "rate": self._rate(),
            **state,
        }
        return Call("", None, ("HSET", self._keys.workers, session, json.dumps(entry)))

    def _rate(self) -> float:
        """Pages a second over the last minute."""
        now = time.monotonic()
        self._rates.append((now, self.pages))
        while now - self._rates[0][0] > _RATE_SECS:
            self._rates.popleft()
        began_at, pages = self._rates[0]
        return round((self.pages - pages) / max(1.0, now - began_at), 2)

    def take(self, answer: Any, session: str, alive_since: float, loads: Sequence[int]) -> None:
        """Hear the others. Each partition is meant for one that is alive, by the work it has."""
        is_list = isinstance(answer, list)
        pairs = dict(zip(answer[::2], answer[1::2], strict=True)) if is_list else answer
        self.entries = {key.decode(): json.loads(value) for key, value in pairs.items()}
        alive = {name for name, entry in self.entries.items() if entry["at"] > alive_since}
        owners = share(sorted({session, *alive}), loads)
        self.preferred = {p for p, owner in enumerate(owners) if owner == session}
