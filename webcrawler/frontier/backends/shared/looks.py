"""The last look at all partitions: how much there is, where, and whether all is done.

A crawl is done when two looks agree: nothing waits but what is frozen, nothing is in hand, no
outbox is filled. What moves between partitions while they are read is seen by one of the two, and
a look that was made before something was told does not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webcrawler.frontier.ending import PAGE_OUTCOMES
from webcrawler.frontier.store import Counts

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

_FEW_HOSTS = 4


class Looks:
    """See the module. Used by the event loop only."""

    def __init__(self, partitions: int) -> None:
        self.counts = Counts()  # the worker goes on counting its own endings
        self.pages_ended = 0  # of all workers, when it was looked
        self.loads = [0] * partitions  # the work that each partition has
        self.filled: set[int] = set()  # partitions where hosts stand in the front queues
        self.left_over: set[int] = set()  # those that the worker they are meant for leaves alone
        self.moves = 0  # what was told that a look made before it does not show
        self.is_quiet = False
        self._rows: Sequence[Any] = ()
        self._quiet_state: Any = None

    def take(
        self,
        rows: Sequence[Any],
        counts: Counts,
        preferred: Set[int],
        *,
        is_current: bool,
        is_busy: bool,
    ) -> None:
        """Hear a look. `is_current`: nothing was told since it was asked for."""
        self._rows, self.counts = rows, counts
        self.pages_ended = sum(counts.ended[outcome] for outcome in PAGE_OUTCOMES)
        self.loads = [_load(row) for row in rows]
        filled = {partition for partition, row in enumerate(rows) if any(row[3])}
        # What stood there at two looks, the worker it is meant for does not want.
        self.left_over = (filled & self.filled) - preferred
        self.filled = filled
        outbox = sum(row[4] for row in rows)
        is_quiet = (
            is_current and counts.waiting <= counts.frozen and not counts.in_hand and not outbox
        )
        state = (counts.known, tuple(counts.ended.values()))
        self.is_quiet = is_quiet and state == self._quiet_state and not is_busy
        self._quiet_state = state if is_quiet else None

    def move(self) -> None:
        """Something is told that may be work: only looks made after it can say that all is done."""
        self.moves += 1
        self._quiet_state, self.is_quiet = None, False

    @property
    def held(self) -> int:
        return sum(row[1] for row in self._rows)

    def front_sizes(self) -> list[int]:
        return [sum(sizes) for sizes in zip(*(row[3] for row in self._rows), strict=True)]


def _load(row: Any) -> int:
    """The work of a partition: its hosts, if any URL of it waits. Beyond a few, the hash spreads
    them evenly, and preferences do not change whenever a host is found.
    """
    counts = dict(zip(row[0][::2], row[0][1::2], strict=True))
    waiting = int(counts.get(b"waiting", 0)) - int(counts.get(b"frozen", 0))
    return min(_FEW_HOSTS, int(counts.get(b"hosts", 0))) if waiting > 0 else 0
