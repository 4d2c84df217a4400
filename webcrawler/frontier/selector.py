"""The biased selector: which front queue is served next."""

from __future__ import annotations

from itertools import accumulate
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


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
        point = self._random.random() * self._bounds[-1]
        first = next(k for k, bound in enumerate(self._bounds, 1) if point < bound)
        yield first
        left = [k for k in range(1, self.queues + 1) if k != first]
        while left:
            total = sum(self.weights[k - 1] for k in left)
            point = self._random.random() * total
            for k in left:
                point -= self.weights[k - 1]
                if point < 0:
                    break
            left.remove(k)
            yield k

    def choose(self, sizes: Sequence[int]) -> int:
        """A queue among those with a positive size (index 0 is queue 1), or 0 for none."""
        filled = [k for k, size in enumerate(sizes, 1) if size > 0]
        if len(filled) <= 1:
            return filled[0] if filled else 0
        point = self._random.random() * sum(self.weights[k - 1] for k in filled)
        for k in filled:
            point -= self.weights[k - 1]
            if point < 0:
                return k
        return filled[-1]
