"""The thread that keeps the index: the event loop only hands it notes.

Work is grouped: after so many characters of text or so many seconds, whichever is first, the links
that were recorded meanwhile are folded, and then the pages that ended meanwhile are put, with all
anchors that are known of them by now, and committed. Pages that are put as soon as they end would
have to be put again for most of their anchors. Now and then the targets are refreshed.
"""

from __future__ import annotations

import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from webcrawler.exceptions import StoreError
from webcrawler.index.indexer import MAX_PENDING
from webcrawler.index.journal import IndexedPage

if TYPE_CHECKING:
    from collections.abc import Callable

    from webcrawler.index.indexer import Indexer
    from webcrawler.index.journal import Note

MAX_CHARS = 16_000_000  # of the pages that are put together: what memory holds of them


class IndexThread:
    """Runs an indexer. `add` never waits; `backlog` says when the crawl should.

    What goes wrong in the thread ends it, and is raised by the next `add`, `backlog` or `close`.
    Nothing is lost then: the journal has it. What is noted from the number `replay_before` on is
    not replayed: it may not stand yet, and is handed over when it does.
    """

    def __init__(
        self,
        indexer: Indexer,
        *,
        commit_chars: int = MAX_CHARS,
        commit_secs: float = 5.0,
        refresh_secs: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
        replay_before: int | None = None,
    ) -> None:
        self._indexer = indexer
        self._replay_before = replay_before
        self._commit_chars = commit_chars
        self._commit_secs = commit_secs
        self._refresh_secs = refresh_secs
        self._clock = clock
        self._notes: SimpleQueue[Note | None] = SimpleQueue()
        self._group: list[Note] = []
        self._chars = 0
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="index", daemon=True)

    @property
    def backlog(self) -> int:
        """How many pages wait to be indexed, in memory."""
        self._check()
        return self._notes.qsize() + len(self._group)

    def start(self) -> None:
        """Begin, with what a crash left undone."""
        self._thread.start()

    def add(self, note: Note) -> None:
        """Hand over a note whose batch is committed."""
        self._check()
        self._notes.put(note)

    def close(self, final_secs: float = 30.0) -> bool:
        """Index, fold and commit all that waits, and refresh as much as the time allows.

        Whether everything was refreshed; what was not goes on at the next start. Blocks.
        """
        self._indexer.leave()
        self._notes.put(None)
        self._thread.join()
        self._check()
        deadline = self._clock() + final_secs
        while True:
            has_worked = self._indexer.receive() + self._indexer.refresh(is_final=True) > 0
            self._indexer.leave(is_idle=not has_worked)
            if not has_worked and self._indexer.is_over():
                return True
            if self._clock() >= deadline:
                return False

    def _check(self) -> None:
        if self._error is not None:
            raise StoreError.of(
                self._error, self._indexer.folder, f"the index cannot go on: {self._error}"
            ) from self._error

    def _run(self) -> None:
        try:
            self._indexer.replay(self._replay_before)
            self._work()
        except BaseException as error:
            self._error = error

    def _work(self) -> None:
        committed_at = refreshed_at = self._clock()
        is_open = True
        while is_open:
            wait = max(0.0, committed_at + self._commit_secs - self._clock())
            try:
                note = self._notes.get(timeout=wait)
                if note is None:
                    is_open = False
                else:
                    self._group.append(note)
                    self._chars += len(note.work.body) if isinstance(note.work, IndexedPage) else 0
            except Empty:
                pass
            now = self._clock()
            is_due = now >= committed_at + self._commit_secs or len(self._group) >= MAX_PENDING
            if is_open and not is_due and self._chars < self._commit_chars:
                continue
            while self._indexer.receive():
                pass
            while self._indexer.fold():
                pass
            self._indexer.index(self._group)
            self._indexer.commit()
            self._group, self._chars = [], 0
            if is_open and now >= refreshed_at + self._refresh_secs:
                self._indexer.refresh()
                refreshed_at = self._clock()
            committed_at = self._clock()
