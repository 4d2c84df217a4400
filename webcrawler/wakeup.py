"""The one file that touches the engine's private slot.

Three things a scheduler needs are not public in Scrapy 2.19: to wake the engine at a given time
(after `next_request` gave None it asks again when a download ends, or at a five-second
heartbeat), to know when a request has left the engine altogether, its items processed, and
whether the engine waits for the last of them to end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.utils.asyncio import call_later

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.core.engine import ExecutionEngine
    from scrapy.utils.asyncio import CallLaterResult


class Wakeup:
    """Wakes the engine at the earliest time that was asked for."""

    def __init__(self, engine: ExecutionEngine) -> None:
        self._engine = engine
        self._call: CallLaterResult | None = None
        self._at = float("inf")

    def at(self, when: float, now: float) -> None:
        """Let the engine ask for requests at `when`, if it would not ask sooner anyway."""
        if self._call is not None:
            if self._at <= when:
                return
            self._call.cancel()
        self._at = when
        self._call = call_later(max(0.0, when - now), self._wake)

    def _wake(self) -> None:
        self._call = None
        self._at = float("inf")
        self.now()

    def now(self) -> None:
        """Let the engine ask for requests in its next round."""
        slot = self._engine._slot
        if slot is not None:
            slot.nextcall.schedule()

    def has_left(self, request: Request) -> bool:
        """Whether the engine is through with a request, callbacks and pipelines included."""
        slot = self._engine._slot
        return slot is None or request not in slot.inprogress

    def is_closing(self) -> bool:
        """Whether the engine was told to end, by Ctrl-C for one."""
        slot = self._engine._slot
        return slot is not None and slot.closing is not None

    def cancel(self) -> None:
        if self._call is not None:
            self._call.cancel()
            self._call = None
