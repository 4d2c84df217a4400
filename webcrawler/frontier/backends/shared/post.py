"""The post between workers: a box for each, in Redis, for anchors of the pages that it holds.

Used by the index's thread, and at the end of a crawl by whoever closes it: it waits for Redis, and
takes a Redis that is gone for one that knows nothing now.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import xxhash

from webcrawler import clock
from webcrawler.frontier.backends.shared.connection import GONE
from webcrawler.frontier.backends.shared.driver import Call
from webcrawler.frontier.backends.shared.keys import FINGERPRINT
from webcrawler.urls import host_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from webcrawler.frontier.backends.shared.worker import WorkerStore

_ASKED_AT_ONCE = 1000
_MOST_PARCELS = 256  # in a box: what is beyond waits with its sender
_PARCELS_A_TIME = 8
_LEAVING_SECS = 60.0  # how long a worker may be silent while it writes its index
_LOOK_SECS = 0.05


class RedisPost:
    """See the module. The contract is that of `webcrawler.index.post.Post`."""

    def __init__(self, store: WorkerStore) -> None:
        self._store = store
        self._direct = store.direct
        self._keys = store.keys
        self._sent = 0
        self._found: list[bytes] = []
        self._state: dict[str, Any] = {}
        self._last_look: Any = None

    @property
    def number(self) -> int:
        return self._store.number

    def holders(self, targets: Sequence[tuple[int, str]]) -> list[int]:
        by_partition: dict[int, list[int]] = {}
        for at, (_, url) in enumerate(targets):
            # Where a copy or a redirect led here, its own URL is not known.
            asked = [self._keys.of_host(host_key(url))] if url else range(self._keys.partitions)
            for partition in asked:
                by_partition.setdefault(partition, []).append(at)
        holders = [0] * len(targets)
        calls, places = [], []
        script = self._store.script("holders")
        for partition, members in by_partition.items():
            for start in range(0, len(members), _ASKED_AT_ONCE):
                part = members[start : start + _ASKED_AT_ONCE]
                fields = [FINGERPRINT.pack(targets[at][0]) for at in part]
                calls.append(Call(self._keys.tag(partition), script, fields))
                places.append(part)
        for part, answer in zip(places, self._ask(calls) or [], strict=False):
            for at, holder in zip(part, answer, strict=True):
                holders[at] = holder or holders[at]
        return holders

    def heirs(self, targets: Sequence[int]) -> list[int]:
        workers = self._workers()
        if workers is None:
            return [0] * len(targets)
        staying = {w["number"] for w in workers if not w.get("is_leaving")}
        leaving = {w["number"] for w in workers if w.get("is_leaving")} | {self.number}
        # Who goes while others stay leaves everything to them.
        others = staying - {self.number}
        is_common_end = self._store.is_common_end or not others
        numbers = sorted(staying | leaving if is_common_end else others)
        return [max(numbers, key=lambda n: _weight(n, target)) for target in targets]

    def send(self, worker: int, parcel: bytes) -> bool:
        box = self._box(worker)
        length = self._ask([Call("", None, ("LLEN", box))])
        if length is None or length[0] >= _MOST_PARCELS:
            return False
        self._sent += 1
        return self._ask([Call("", None, ("RPUSH", box, parcel))]) is not None

    def take(self) -> list[bytes]:
        words = ("LRANGE", self._box(self.number), 0, _PARCELS_A_TIME - 1)
        answers = self._ask([Call("", None, words)])
        self._found = list(answers[0]) if answers else []
        return self._found

    def taken(self, count: int) -> None:
        if self._state.get("is_idle"):
            self.leave(is_idle=False)  # before the box is empty: what has come may go on from here
        # By value: said twice, where an answer was lost, it takes no other parcel away.
        box = self._box(self.number)
        self._ask([Call("", None, ("LREM", box, 1, parcel)) for parcel in self._found[:count]])

    def leave(self, *, is_idle: bool) -> None:
        self._state = {"is_leaving": True, "is_idle": is_idle, "sent": self._sent}
        self._store.say(self._state, lambda call: self._ask([call]))

    def is_over(self) -> bool:
        workers = self._workers()
        if workers is None:
            return True  # no Redis: what comes later is read at the next start
        if not self._store.is_common_end:
            workers = [w for w in workers if w.get("is_leaving")]
        boxes = [Call("", None, ("LLEN", self._box(w["number"]))) for w in workers]
        lengths = self._ask(boxes) or []
        look = sorted((w["number"], w.get("is_idle", False), w.get("sent", 0)) for w in workers)
        is_calm = not any(lengths) and all(is_idle for _, is_idle, _ in look)
        # Two looks that agree: what is under way between two looks changes a count.
        is_over = is_calm and look == self._last_look
        self._last_look = look if is_calm else None
        if not is_over:
            time.sleep(_LOOK_SECS)
        return is_over

    def _workers(self) -> list[dict[str, Any]] | None:
        """The workers that are alive, this one included; None where Redis does not say."""
        answers = self._ask([Call("", None, ("HGETALL", self._keys.workers))])
        if answers is None:
            return None
        now = clock.now()
        found: dict[int, dict[str, Any]] = {}  # of a worker that was started again, the newest
        for entry in sorted(map(json.loads, _values(answers[0])), key=lambda e: float(e["at"])):
            secs = _LEAVING_SECS if entry.get("is_leaving") else self._store.lease_secs
            if entry["at"] > now - secs and entry.get("number"):
                found[entry["number"]] = entry
        return list(found.values())

    def _box(self, worker: int) -> str:
        return f"{{{self._keys.name}:post:{worker}}}"

    def _ask(self, calls: list[Call]) -> list[Any] | None:
        try:
            return self._direct.ask_all(calls) if calls else []
        except GONE:
            return None


def _values(answer: Any) -> Iterable[bytes]:
    values: Iterable[bytes] = answer[1::2] if isinstance(answer, list) else answer.values()
    return values


def _weight(number: int, target: int) -> int:
    return xxhash.xxh3_64_intdigest(target.to_bytes(8, "little"), seed=number)
