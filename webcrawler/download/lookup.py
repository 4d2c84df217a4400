"""Name look-ups by the operating system, in threads of their own.

`getaddrinfo` is the one resolver that gives the answers every other program on the machine gets
(hosts file, nsswitch, search domains, whatever the name service is), but it blocks, up to ten
seconds where a name server is dead, and cannot be cancelled. Hence:

- threads of our own: the event loop's default executor has a handful, shared with everybody;
- started on demand up to a high bound, so that dozens of dead names leave room for the others
  (100 fast names took 0.02 s while 90 look-ups hung in 100 threads);
- daemons: a look-up that hangs never delays the end of the process.

c-ares (aiodns) was measured beside it: it has no bound to run into, but took twice the time for
2,000 names, knows nothing of nsswitch, and is one more native dependency. Whoever wants it passes
its coroutine to CachedResolver as `lookup`.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import socket
import threading
from collections.abc import Callable

Query = Callable[[str], tuple[str, ...]]
_Job = tuple[str, asyncio.AbstractEventLoop, "asyncio.Future[tuple[str, ...]]"]


def query_system(host: str) -> tuple[str, ...]:
    """The addresses of a host name in the system's order of preference; blocks; OSError if none."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    addresses: dict[str, None] = {}
    for family, _, _, _, address in found:
        # A scoped link-local answer cannot be dialled without its scope; nothing public has one.
        if family == socket.AF_INET or (family == socket.AF_INET6 and not any(address[3:])):
            addresses[str(address[0])] = None
    return tuple(addresses)


class ThreadedLookup:
    """Runs a blocking query for each host in a bounded number of daemon threads.

    Called from one event loop at a time. A caller that stops waiting (time-out, cancellation)
    leaves its thread to finish alone; a job not begun by then is skipped.
    """

    def __init__(self, threads: int = 256, query: Query = query_system) -> None:
        self._limit = threads
        self._query = query
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._started = 0

    async def __call__(self, host: str) -> tuple[str, ...]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[tuple[str, ...]] = loop.create_future()
        self._jobs.put((host, loop, future))
        if not self._idle.acquire(blocking=False) and self._started < self._limit:
            self._started += 1
            threading.Thread(target=self._work, name=f"dns-{self._started}", daemon=True).start()
        return await future

    def close(self) -> None:
        """Ends the idle threads; one inside a look-up ends after it."""
        for _ in range(self._started):
            self._jobs.put(None)
        self._started = 0

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            host, loop, future = job
            if not future.cancelled():
                addresses: tuple[str, ...] = ()
                error: OSError | None = None
                try:
                    addresses = self._query(host)
                except OSError as exception:
                    error = exception
                except Exception as exception:  # a name no encoder takes: UnicodeError, ValueError
                    error = OSError(socket.EAI_NONAME, f"{type(exception).__name__}: {exception}")
                with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                    loop.call_soon_threadsafe(_settle, future, addresses, error)
            self._idle.release()


def _settle(
    future: asyncio.Future[tuple[str, ...]], addresses: tuple[str, ...], error: OSError | None
) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(addresses)
    else:
        future.set_exception(error)
