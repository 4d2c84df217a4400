"""The archive as a crawl sees it: append a page now, be told when it is written.

    append ──▶ queue ──▶ thread: digests, compression, one write ──▶ awaiting page goes on

`append` only puts the exchange into a queue. A thread of its own does the rest, nearly all of it
in calls that let the event loop's thread run. The future that `append` returns is done when the
operating system has the bytes: only then may the page be committed as done, so that after a
kill every page that is done is in the archive. Power failures are another matter: a file is
forced to the disk when it is closed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING

from webcrawler.exceptions import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from webcrawler.archive.exchange import Exchange, Stored
    from webcrawler.archive.files import WarcFiles

DEFAULT_QUEUE_BYTES = 64 << 20
# What an exchange weighs in the queue besides its body.
_OVERHEAD = 4096


class ArchiveWriter:
    """Appends exchanges from one event loop, through a thread of its own.

    After the first failure (a full disk, say) nothing more is written: every page that waits and
    every later `append` gets the same StoreError. Nothing waits for ever.
    """

    def __init__(self, files: WarcFiles, *, queue_bytes: int = DEFAULT_QUEUE_BYTES) -> None:
        self._files = files
        self._queue_bytes = queue_bytes
        self._queue: SimpleQueue[tuple[Exchange, asyncio.Future[Stored]] | None] = SimpleQueue()
        self._settled: deque[tuple[int, asyncio.Future[Stored], Stored | StoreError]] = deque()
        self._is_waking = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._closed: asyncio.Future[None] | None = None
        self._failure: StoreError | None = None
        self._waiting: deque[asyncio.Future[None]] = deque()
        self.pending_bytes = 0
        self.pending = 0

    @property
    def full(self) -> bool:
        """Whether more waits to be written than should: time to fetch less, or to await `room`."""
        return self.pending_bytes >= self._queue_bytes

    def append(self, exchange: Exchange) -> asyncio.Future[Stored]:
        """Hand over an exchange; the future says where its record lies, once it is written.

        Never blocks, and takes the exchange even when the queue is `full`: who awaits the future
        (or `room`) before going on keeps the queue bounded. Raises StoreError when the archive
        has failed or was closed.
        """
        if self._failure is not None:
            raise StoreError(*self._failure.args)
        if self._closed is not None:
            raise StoreError("the archive is closed")
        loop = self._loop
        if loop is None:
            loop = self._start()
        future: asyncio.Future[Stored] = loop.create_future()
        self.pending += 1
        self.pending_bytes += len(exchange.response.body) + _OVERHEAD
        self._queue.put((exchange, future))
        return future

    async def room(self) -> None:
        """Wait until the queue is not full any more; returns at once when it is not."""
        while self.full and self._failure is None:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            await waiter

    async def close(self) -> None:
        """Write what is queued and finish the file. Raises StoreError when that cannot be done.

        May be called twice, and when nothing was ever appended.
        """
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        if self._closed is None:
            self._closed = self._loop.create_future()
            if self._thread is None:
                self._closed.set_result(None)
            else:
                self._queue.put(None)
        await asyncio.shield(self._closed)

    def _start(self) -> asyncio.AbstractEventLoop:
        self._loop = asyncio.get_running_loop()
        # A daemon: a crawl that ends without closing must end; its file is mended at the restart.
        self._thread = Thread(target=self._run, name="archive", daemon=True)
        self._thread.start()
        return self._loop

    def _run(self) -> None:
        """The thread: write until told to stop, whatever happens."""
        failure: StoreError | None = None
        while (job := self._queue.get()) is not None:
            exchange, future = job
            outcome: Stored | StoreError
            if failure is not None:
                outcome = failure
            else:
                try:
                    outcome = self._files.write(exchange)
                except StoreError as error:
                    outcome = failure = error
                except Exception as error:  # a fault of ours must not leave pages waiting
                    outcome = failure = StoreError(f"cannot archive {exchange.url}: {error!r}")
                    failure.__cause__ = error
            size = len(exchange.response.body) + _OVERHEAD
            # Not to be kept alive while the thread waits for the next one.
            del exchange, job
            self._settled.append((size, future, outcome))
            if not self._is_waking:
                self._is_waking = True
                self._call(self._settle)
        failure = None
        try:
            self._files.close()
        except StoreError as error:
            failure = error
        except Exception as error:
            failure = StoreError(f"cannot close the archive: {error!r}")
        self._call(self._finish, failure)

    def _call(self, function: Callable[..., None], *arguments: object) -> None:
        assert self._loop is not None  # set before the thread is started
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            # The loop was closed under us: nobody is left to be told.
            self._is_waking = False

    def _settle(self) -> None:
        """On the loop: tell every page whose record was written meanwhile."""
        # First, so that what is appended from here on wakes the loop again.
        self._is_waking = False
        settled = self._settled
        while settled:
            size, future, outcome = settled.popleft()
            self.pending -= 1
            self.pending_bytes -= size
            if isinstance(outcome, StoreError):
                self._failure = outcome
                if not future.done():
                    # Each its own: a shared one would collect the traces of all who raise it.
                    future.set_exception(StoreError(*outcome.args))
            elif not future.done():
                future.set_result(outcome)
        waiting = self._waiting
        while waiting and (not self.full or self._failure is not None):
            waiter = waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)

    def _finish(self, failure: StoreError | None) -> None:
        self._settle()
        assert self._closed is not None  # the thread only ends when told to
        if failure is not None:
            self._closed.set_exception(failure)
        else:
            self._closed.set_result(None)
