"""A limit on the pages of a crawl that many workers share: no page begins without a ticket.

Tickets are taken from a count in Redis, some in advance, so that the crawl does not wait for them;
what a worker does not need it gives back at its next tick. So `max_pages` is exact. Only a worker
that dies makes it less so: its tickets return, and of the pages it committed in its last second, of
which it had not told yet, some may be fetched beyond the limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from webcrawler.frontier.backends.shared.worker import WorkerStore

_LOW = 4
_MOST_SPARE = 16


class Tickets:
    """Of one worker's session. Used by the event loop only."""

    def __init__(self, store: WorkerStore) -> None:
        self._store = store
        self.limit = 0
        self.is_used_up = False  # by all workers together
        # Pages that have begun and not ended: whoever sets the limit can tell.
        self.under_way: Callable[[], int] = lambda: 0
        self._spare = 1
        self.reset()

    def reset(self) -> None:
        """A new session begins without any."""
        self._has = 0  # as of the last answer
        self._unanswered = 0  # pages whose commit was not answered
        self._spent = 0
        self._told = 0  # of the spent, what the last answer knew of
        self._is_asking = False

    def may_begin(self) -> bool:
        """Whether one more page may begin now."""
        free = self._has - (self._spent - self._told) - self._unanswered - self.under_way()
        if free < _LOW and not self.is_used_up:
            self.ask(beginning=int(free > 0))
        return free > 0

    def committing(self) -> None:
        self._unanswered += 1

    def committed(self, *, stands: bool) -> None:
        self._unanswered -= 1
        self._spent += stands

    def ask(self, *, beginning: int = 0, is_leaving: bool = False) -> None:
        """Say what was spent, and take or give back; `beginning` pages are about to."""
        store = self._store
        if not self.limit or self._is_asking:
            return
        self._is_asking = True
        session, spent = store.session, self._spent
        spare = self._spare if store.stock.has_work and not is_leaving else 0
        in_use = 0 if is_leaving else self.under_way() + beginning + self._unanswered
        wanted = in_use + spare
        # What is given back is not used any more, before the answer comes either.
        self._has = min(self._has, wanted + self._spent - self._told)

        def answered(answer: Any) -> None:
            if session != store.session:
                return
            self._is_asking = False
            had_none = not self._has
            self._has, self._told = answer[0], spent
            self._spare = 1 + min(_MOST_SPARE - 1, max(0, self.limit - answer[1] - answer[2]) // 8)
            self.is_used_up = answer[1] >= self.limit
            if self.is_used_up or (had_none and self._has):
                store.wake_engine()

        args = [
            session,
            store.lease_secs,
            self.limit,
            store.last_look.pages_ended,
            spent,
            in_use,
            wanted,
        ]
        store.tell_all("tickets", args, answered)
