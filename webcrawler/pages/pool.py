"""A pool of page workers on the event loop."""

from __future__ import annotations

import asyncio
import logging
import marshal
import os
import socket
import subprocess
import sys
from collections import deque
from typing import TYPE_CHECKING, Any, cast

from webcrawler.pages.frames import LENGTH

if TYPE_CHECKING:
    from collections.abc import Callable

    from webcrawler.pages.answers import Answers, Questions

logger = logging.getLogger(__name__)
_AT_A_TIME = 2  # pages a worker has: one to read, and one so that it need not wait for the next
# Of workers, with one page. Whoever kills workers may hit the same page again and again: rather a
# few of them too many than an innocent page given up.
_MOST_DEATHS = 5


class Job:
    """A document that is to be read."""

    __slots__ = ("answers", "deaths", "message")

    def __init__(self, message: bytes, answers: asyncio.Future[Answers | None]) -> None:
        self.message = message
        self.answers = answers
        self.deaths = 0


class PagePool:
    """Keeps `processes` workers busy. Used on one event loop; `close` ends them.

    A worker that says nothing about a page for `timeout` seconds is killed, and counts as dead.
    """

    def __init__(
        self,
        processes: int,
        questions: Questions,
        *,
        timeout: float = 60.0,
        count: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._processes = processes
        self._greeting = _frame(questions.pack())
        self._timeout = timeout
        self._count = count
        self._waiting: deque[Job] = deque()
        self._workers: list[Worker] = []
        self._is_closed = False
        self._starting: set[asyncio.Task[None]] = set()

    async def read(
        self, body: bytes, url: str, mime: str, charset: str, language: str = ""
    ) -> Answers | None:
        """What a document answers to the questions; None when workers die of it."""
        if len(self._workers) < self._processes:
            self._start_worker()
        answers = asyncio.get_running_loop().create_future()
        self._waiting.append(Job(_frame((body, url, mime, charset, language)), answers))
        self._dispatch()
        return cast("Answers | None", await answers)

    @property
    def processes(self) -> list[int]:
        """The process numbers of the workers."""
        return [worker.process.pid for worker in self._workers]

    def close(self) -> None:
        """End all workers. What they had is not answered any more."""
        self._is_closed = True
        for worker in self._workers:
            worker.close()
        for worker in self._workers:
            worker.process.wait()
        self._workers.clear()

    def _start_worker(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-m", "webcrawler.pages.worker", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                # This project may have been found in a way that a new process would not know:
                # in Scrapyd's egg, say.
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        worker = Worker(self, process, self._timeout)
        self._workers.append(worker)
        task = asyncio.get_running_loop().create_task(self._greet(worker, ours))
        self._starting.add(task)  # the loop itself would not keep it
        task.add_done_callback(self._starting.discard)

    async def _greet(self, worker: Worker, sock: socket.socket) -> None:
        await asyncio.get_running_loop().create_connection(lambda: worker, sock=sock)
        worker.send(self._greeting)

    def _dispatch(self) -> None:
        while self._waiting:
            ready = [worker for worker in self._workers if worker.is_ready]
            idle = min(ready, key=lambda worker: len(worker.jobs), default=None)
            if idle is None or len(idle.jobs) >= _AT_A_TIME:
                return
            idle.take(self._waiting.popleft())

    # -- what workers tell

    def answered(self) -> None:
        self._dispatch()

    def died(self, worker: Worker) -> None:
        """A worker has ended: its pages are read by another."""
        if self._is_closed:
            return
        self._workers.remove(worker)
        worker.process.kill()
        worker.process.wait()
        self._count("pages/worker_died")
        jobs = list(worker.jobs)
        if jobs:
            jobs[0].deaths += 1  # the others had not been begun
            if jobs[0].deaths >= _MOST_DEATHS:
                jobs.pop(0).answers.set_result(None)
        self._waiting.extendleft(reversed(jobs))
        logger.warning("a page worker died (exit code %s): started anew", worker.process.returncode)
        self._start_worker()


class Worker(asyncio.Protocol):
    """One process and the jobs it has, in the order in which it answers."""

    def __init__(self, pool: PagePool, process: subprocess.Popen[bytes], timeout: float) -> None:
        self.process = process
        self.jobs: deque[Job] = deque()
        self.is_ready = False
        self._pool = pool
        self._timeout = timeout
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()

    def send(self, message: bytes) -> None:
        assert self._transport is not None
        self._transport.write(message)

    def take(self, job: Job) -> None:
        self.jobs.append(job)
        self.send(job.message)
        if self._timer is None:
            self._watch()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is not None:
            self._transport.abort()
        self.process.kill()

    def _watch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.jobs:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._timeout, self.process.kill)

    # -- asyncio's protocol

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer
        buffer += data
        while len(buffer) >= LENGTH.size:
            end = LENGTH.size + LENGTH.unpack_from(buffer)[0]
            if len(buffer) < end:
                return
            answers = marshal.loads(memoryview(buffer)[LENGTH.size : end])  # noqa: S302 - worker.py
            del buffer[:end]
            if self.is_ready:
                job = self.jobs.popleft()
                if not job.answers.done():
                    job.answers.set_result(answers)
                self._watch()
            self.is_ready = True
            self._pool.answered()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_ready = False
        if self._timer is not None:
            self._timer.cancel()
        self._pool.died(self)


def _frame(values: tuple[Any, ...]) -> bytes:
    message = marshal.dumps(values)
    return LENGTH.pack(len(message)) + message
