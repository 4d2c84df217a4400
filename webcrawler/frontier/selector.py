"""The biased selector: which front queue is served next."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence


class BiasedSelector:
    """Draws front queues by weight: higher ones are preferred, none starves.

    Queue k has weight `bias ** -(k - 1)` unless weights are given; the seed makes a crawl's
    choices repeatable. A weight must be positive, or its queue would starve.
    """

    def __init__(
        self,
        queues: int,
        *,
        weights: Sequence[float] = (),
        bias: float = 2.0,
        seed: int = 0,
    ) -> None:
        self.queues = queues
        self.weights = tuple(weights) or tuple(bias ** -(k - 1) for k in range(1, queues + 1))
        if len(self.weights) != queues or min(self.weights) <= 0:
            raise ValueError(f"need {queues} positive weights, got {self.weights}")
        self._bounds = tuple(accumulate(self.weights))
        self._random = Random(seed)  # noqa: S311 (a fair draw, not a secret)

    def order(self) -> Iterator[int]:
        """Every queue once: the drawn one first, then others drawn from what is left.

        Lazy, because most often the first one drawn has something.
        """
        bounds = self._bounds
        first = bisect_right(bounds, self._random.random() * bounds[-1], hi=self.queues - 1) + 1
        yield first
        left = [k for k in range(1, self.queues + 1) if k != first]
        while left:
            k = self._draw(left)
            left.remove(k)
            yield k

    def choose(self, sizes: Mapping[int, int], count: int) -> list[int]:
        """As many queues as that, higher ones first, none more often than its size."""
        left = {k: size for k, size in sorted(sizes.items()) if size > 0}
        if sum(left.values()) <= count:
            return [k for k, size in left.items() for _ in range(size)]
        chosen = []
        for _ in range(count):
            k = self._draw(left)
            chosen.append(k)
            left[k] -= 1
            if not left[k]:
                del left[k]
        chosen.sort()
        return chosen

    def _draw(self, queues: Collection[int]) -> int:
        """One of these by weight."""
        weights = self.weights
        if len(queues) > 1:
            point = self._random.random() * sum([weights[k - 1] for k in queues])
            for k in queues:
                point -= weights[k - 1]
                if point < 0:
                    return k
        *_, last = queues
        return last
