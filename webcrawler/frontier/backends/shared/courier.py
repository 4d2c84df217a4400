"""What carries steps to Redis while the crawl goes on, in the order they were told in.

While Redis is gone everything that was not answered is kept and said again: every step may be said
twice. A connection that was lost is made anew at once; Redis is gone if that did not help.
"""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections import deque
from typing import TYPE_CHECKING, Any

import redis

from webcrawler.exceptions import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from webcrawler.frontier.backends.shared.driver import Call, Direct

logger = logging.getLogger(__name__)
RETRY_SECS = 0.5
_AT_ONCE_AGAIN = 2  # how often a connection is made anew without waiting


class Courier(ABC):
    """See the module. Answers are heard when `hear` is called, which `on_answers` asks for.

    What is told is collected until `flush`, which `soon` is asked to call: a round trip has its
    cost, and many steps share it.
    """

    def __init__(
        self,
        direct: Direct,
        on_answers: Callable[[], None] = lambda: None,
        soon: Callable[[Callable[[], None]], object] = lambda flush: flush(),
    ) -> None:
        self._direct = direct
        self._soon = soon
        self._told: list[Call] = []
        self._answers: deque[tuple[Call, Any]] = deque()
        self.on_answers = on_answers
        self.waiting = 0  # told, and not heard
        self.failure: Exception | None = None
        self.is_gone = False
        self._failures = 0  # in a row, without any answer

    def tell(self, call: Call) -> None:
        self.waiting += 1
        self._told.append(call)
        if len(self._told) == 1:
            self._soon(self.flush)

    @abstractmethod
    def flush(self) -> None:
        """Let go out what was told."""

    def hear(self) -> None:
        """Give the answers that have come to those who wait for them."""
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        while self._answers:
            call, answer = self._answers.popleft()
            self.waiting -= 1
            if call.then is not None:
                call.then(answer)

    def settle(self, secs: float) -> bool:
        """Wait until all was answered: at the end of a crawl. False if that will not be."""
        deadline = time.monotonic() + secs
        while True:
            self.flush()
            self.hear()
            if not self.waiting:
                return True
            is_late = time.monotonic() > (deadline if not self.is_gone else deadline - 0.9 * secs)
            has_more = self._answers or self.failure is not None
            if is_late or (not self._is_running() and not has_more):
                return False
            self._turn()

    @abstractmethod
    def _is_running(self) -> bool:
        """Whether answers may still come."""

    @abstractmethod
    def _turn(self) -> None:
        """Wait a moment for answers, in `settle`."""

    @abstractmethod
    def close(self) -> None:
        """Send and hear no more."""

    # -- what becomes of a round trip

    def _heard(self, calls: list[Call], answers: list[Any]) -> list[Call]:
        """Hand on what was answered; the rest of the calls."""
        if not answers:
            return calls
        self._failures = 0
        if self.is_gone:
            self.is_gone = False
            logger.warning("Redis is back, the crawl goes on")
        self._answers.extend(zip(calls, answers, strict=False))
        self.on_answers()
        return calls[len(answers) :]

    def _pause_after(self, error: Exception, answers: list[Any]) -> float:
        """How long to wait after a loss, before which so much was answered."""
        self._failures = 0 if answers else self._failures + 1
        # One that keeps silent until the time is over is not asked again at once.
        if self._failures <= _AT_ONCE_AGAIN and not isinstance(error, redis.TimeoutError):
            return 0.0
        if not self.is_gone:
            self.is_gone = True
            logger.warning(f"Redis is gone, the crawl waits for it: {error}")
        return RETRY_SECS

    def _fail(self, error: Exception) -> None:
        """It cannot go on: whoever hears is told."""
        self.failure = (
            error
            if isinstance(error, StoreError)
            else StoreError(f"Redis cannot be used: {type(error).__name__}: {error}")
        )
        self.on_answers()
