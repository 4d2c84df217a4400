"""The prioritizer: which front queue a URL waits in."""

from __future__ import annotations

from typing import Literal

Order = Literal["breadth", "depth"]


class Prioritizer:
    """A front queue by depth, moved up or down by a priority of one's own.

    Breadth-first: the seeds in queue 1, their links in queue 2, and so on. Depth-first: the
    other way round. A priority of +1 moves a URL one queue up, -1 one down; Scrapy users know
    that higher means sooner.
    """

    def __init__(self, queues: int, order: Order = "breadth") -> None:
        self.queues = queues
        self.order = order

    def queue(self, depth: int, priority: int = 0) -> int:
        base = 1 + depth if self.order == "breadth" else self.queues - depth
        return max(1, min(self.queues, base - priority))
