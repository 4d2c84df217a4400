"""A way to Redis on which answers are lost, and a small crawl that goes over it."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import redis

from webcrawler.frontier.backends.shared.driver import Direct
from webcrawler.frontier.ending import Ending
from webcrawler.frontier.mercator import Mercator
from webcrawler.frontier.selector import BiasedSelector
from webcrawler.politeness import DelayPolicy, Fetch, Policies

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webcrawler.frontier.backends.shared.driver import Call
    from webcrawler.frontier.backends.shared.scripts import Script
    from webcrawler.frontier.backends.shared.worker import WorkerStore
    from webcrawler.frontier.record import Record

Fate = str  # "pass", "unsent" (lost on the way there), "unheard" (on the way back), "half", "late"


class LossyDirect(Direct):
    """Every round trip has a fate, which `decide` gives it by the names of its steps.

    Of "half" Redis makes the first half of the steps, and none is answered. Of "late" none is
    answered, and all are made once more, as an old connection does, when `deliver_late` is called.
    """

    def __init__(
        self,
        client: Any,
        decide: Callable[[list[str]], Fate] | None = None,
        *,
        by_thread: bool = False,
    ) -> None:
        super().__init__(client)
        self._by_thread = by_thread
        self.decide = decide or (lambda names: "pass")
        self.losses = 0
        self._late: list[Call] = []

    @property
    def is_plain(self) -> bool:
        return not self._by_thread and super().is_plain

    def words(self, calls: Sequence[Call]) -> tuple[list[Script], list[tuple[Any, ...]]]:
        names = [call.script.name if call.script else str(call.args[0]) for call in calls]
        fate = self.decide(names)
        if fate == "pass":
            return super().words(calls)
        self.losses += 1
        if fate in ("unheard", "late"):
            self._made_aside(calls)
        elif fate == "half":
            self._made_aside(calls[: (len(calls) + 1) // 2])
        if fate == "late":
            self._late += calls
        raise redis.ConnectionError(f"lost: {fate}")

    def _made_aside(self, calls: Sequence[Call]) -> None:
        Direct(self.client).ask_all(calls)

    def deliver_late(self) -> None:
        late, self._late = self._late, []
        if late:
            self._made_aside(late)


class SmallCrawl:
    """A worker without Scrapy: fetches take no time, endings come a little later."""

    DELAY = 0.02
    WORK_SECS = 0.05
    POLICY = DelayPolicy(minimum=DELAY, factor=0.0)

    def __init__(self, store: WorkerStore, links: Callable[[str], list[Record]]) -> None:
        self.store = store
        self.links = links
        self.frontier = Mercator(store, BiasedSelector(2, seed=1), Policies(self.POLICY), batch=3)
        self.fetches: list[tuple[float, str, str]] = []
        self.ended: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.retried: set[str] = set()
        self.under_work = 0

    async def run(self, until: Callable[[], bool], secs: float) -> bool:
        """Whether it came to that within so many seconds."""
        deadline = time.monotonic() + secs
        while not until():
            if time.monotonic() > deadline:
                return False
            self.turn()
            await asyncio.sleep(0.002)
        return True

    def turn(self) -> None:
        while (record := self.frontier.next(time.time())) is not None:
            now = time.time()
            self.fetches.append((now, record.host, record.url))
            self.frontier.release(record, Fetch(), now)
            self.under_work += 1
            asyncio.get_running_loop().call_later(self.WORK_SECS, self._end, record)

    def _end(self, record: Record) -> None:
        if record.url.endswith("3") and record.url not in self.retried:
            self.retried.add(record.url)
            self.under_work -= 1
            self.frontier.retry(record)
            return
        ending = Ending(record, "stored", time.time(), 200, links=self.links(record.url))
        self.frontier.done(ending, lambda stands: self._heard(record, stands))

    def _heard(self, record: Record, stands: bool) -> None:
        self.under_work -= 1
        (self.ended if stands else self.refused)[record.url] += 1
