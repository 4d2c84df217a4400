"""Many names, one server: a limit for each address beside the one for each host."""

from __future__ import annotations

from collections import deque


class AddressBook:
    """Which addresses are busy, when each may be hit again, and who waits for it.

    At most one fetch an address at a time, and `delay` seconds between two of them. A host whose
    address is not known yet passes: the limit begins with its first answer. In a crawl that goes
    on since `opened_at`, any address may have been hit just before.
    """

    def __init__(self, delay: float, opened_at: float | None = None) -> None:
        self.delay = delay
        self._first = 0.0 if opened_at is None else opened_at + delay
        self._busy: set[str] = set()
        self._next_at: dict[str, float] = {}
        self._waiting: dict[str, deque[int]] = {}

    def wait_until(self, address: str, now: float) -> float | None:
        """None when it may be hit now; else the time when it may; infinity while it is busy."""
        if address in self._busy:
            return float("inf")
        at = self.next_at(address)
        return at if at > now else None

    def start(self, address: str) -> None:
        self._busy.add(address)

    def wait(self, address: str, host_id: int) -> None:
        """Remember a host that found its address busy."""
        self._waiting.setdefault(address, deque()).append(host_id)

    def end(self, address: str, now: float) -> list[int]:
        """A fetch ended: the hosts that waited for this address, to be given its next time."""
        self._busy.discard(address)
        self._next_at[address] = now + self.delay
        if len(self._next_at) > 10_000:
            self._next_at = {a: at for a, at in self._next_at.items() if at > now}
        return list(self._waiting.pop(address, ()))

    def next_at(self, address: str) -> float:
        return self._next_at.get(address, self._first)
