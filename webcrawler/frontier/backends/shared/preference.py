"""Which worker is preferred for which partition.

Rendezvous hashing, so that a worker that comes or goes moves about its share of the partitions
and no others; with bounded loads, so that few or lopsided hosts are shared evenly too: a
partition goes to the first worker of its ranking that has room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import xxhash

if TYPE_CHECKING:
    from collections.abc import Sequence

_SLACK = 10  # a worker may have one part in so many more than its even share


def share(workers: Sequence[str], loads: Sequence[int]) -> list[str]:
    """The preferred worker of every partition, by the work each partition has.

    All workers come to the same answer from the same loads. Where they read them at different
    moments two may want a partition, or none: a lease is one worker's all the same.
    """
    total = sum(loads)
    room = dict.fromkeys(workers, -(-total // len(workers)) + total // (_SLACK * len(workers)))
    owners = []
    for partition, load in enumerate(loads):
        ranking = sorted(workers, key=lambda name: _weight(name, partition), reverse=True)
        owner = next((name for name in ranking if room[name] >= load), None)
        if owner is None:
            owner = max(ranking, key=lambda name: room[name])
        room[owner] -= load
        owners.append(owner)
    return owners


def _weight(name: str, partition: int) -> int:
    return xxhash.xxh3_64_intdigest(f"{name} {partition}".encode())
