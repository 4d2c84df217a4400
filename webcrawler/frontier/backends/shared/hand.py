"""A session's hand: the URLs that are a worker's to end, as Redis keeps them too."""

from __future__ import annotations

from typing import NamedTuple


class InHand(NamedTuple):
    """How a URL came in hand: the partition where its referrer ended, and by which lease."""

    via: int
    lease: int


class Hand:
    """What one worker has in hand, by partition. Used by the event loop only."""

    def __init__(self, partitions: int) -> None:
        self.parts: list[dict[int, InHand]] = [{} for _ in range(partitions)]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def take(self, partition: int, fingerprint: int, via: int, lease: int) -> None:
        self.parts[partition][fingerprint] = InHand(via, lease)

    def let_go(self, partition: int, fingerprint: int) -> InHand | None:
        """How it came in hand; None if it is not, or not any more."""
        return self.parts[partition].pop(fingerprint, None)

    def clear(self) -> None:
        for part in self.parts:
            part.clear()
