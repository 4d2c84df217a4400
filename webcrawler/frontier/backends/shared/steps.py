"""The steps of a crawl in Redis, and how its hosts are told of."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from webcrawler import clock
from webcrawler.frontier.backends.shared.driver import Call, Direct
from webcrawler.frontier.backends.shared.keys import Keys
from webcrawler.frontier.backends.shared.scripts import read_scripts
from webcrawler.frontier.backends.shared.shape import check_shape
from webcrawler.frontier.host import Host, HostQueue, host_id
from webcrawler.frontier.seen import PopularCache

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webcrawler.frontier.backends.shared.scripts import Script

BLOCKED, EXHAUSTED = 1, 2  # why a host is frozen


def time_of(answer: Any) -> float:
    """What Redis's TIME says."""
    seconds, micros = answer
    return int(seconds) + int(micros) / 1e6


class Steps:
    """Makes steps, each at once. `restart` sets the clock of a host that a dead worker had."""

    def __init__(
        self,
        direct: Direct,
        name: str,
        *,
        queues: int = 8,
        partitions: int = 64,
        buckets: int = 1024,
        restart: Callable[[Host], None] = lambda host: None,
        popular: int = 200_000,
    ) -> None:
        self.direct = direct
        self.queues = queues
        self.keys = Keys(name, partitions, buckets)
        self.session = secrets.token_hex(6)
        self.number = 0  # of the worker, from 1; commands and tests have none
        self._restart = restart
        self._popular = PopularCache(popular)
        self._active: dict[int, Host] = {}
        self._scripts = read_scripts(queues)
        self._outbox_number = 0
        check_shape(direct, self.keys, queues)
        clock.now.set_by(self._time)

    def _time(self) -> float:
        return time_of(self.direct.ask(Call(self.keys.whole, self._scripts["time"], ())))

    def ask(self, partition: int, script: str, *args: Any) -> Any:
        return self.direct.ask(Call(self.keys.tag(partition), self._scripts[script], args))

    def tell(
        self,
        partition: int,
        script: str,
        args: Sequence[Any],
        then: Callable[[Any], None] | None = None,
    ) -> None:
        """Make a step; `then` hears the answer. A worker's store does it in the background."""
        answer = self.ask(partition, script, *args)
        if then is not None:
            then(answer)

    def script(self, name: str) -> Script:
        return self._scripts[name]

    def _host(self, told: Sequence[Any]) -> Host:
        """The host that a step tells of; the same object while anything of it is in hand."""
        name, row, fetched, in_hand, flags, at, sizes = told[:7]
        text = name.decode()
        identity = host_id(text)
        known = self._active.get(identity)
        host = Host.unpack(row, identity) if row else Host(text, identity)
        if known is not None:
            for field in ("last_at", "delay", "crawl_delay", "failures", "parkings", "cause"):
                setattr(known, field, getattr(host, field))
            host = known
        host.next_at = float(at)
        host.fetched, host.in_hand = int(fetched), int(in_hand)
        host.is_blocked = bool(int(flags) & BLOCKED)
        host.is_exhausted = bool(int(flags) & EXHAUSTED)
        host.queues = {k: HostQueue(0, size, size) for k, size in enumerate(sizes, 1) if size}
        if host.in_hand:
            queue = host.queues.setdefault(min(host.queues, default=1), HostQueue())
            queue.stored += host.in_hand
        return host

    def _row(self, host: Host) -> tuple[bytes, str]:
        queues, host.queues = host.queues, {}
        try:
            return host.pack(), f"{host.next_at:.6f}"
        finally:
            host.queues = queues
