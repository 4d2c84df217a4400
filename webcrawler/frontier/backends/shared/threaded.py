"""Steps carried by a thread, by redis-py's own calls: to clusters, with Sentinels, over TLS."""

from __future__ import annotations

import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from webcrawler.frontier.backends.shared.connection import GONE
from webcrawler.frontier.backends.shared.courier import Courier

if TYPE_CHECKING:
    from webcrawler.frontier.backends.shared.driver import Call

_AT_ONCE = 1000


class Threaded(Courier):
    """See the module. The thread takes the interpreter from the crawl whenever it wakes."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._calls: SimpleQueue[list[Call]] = SimpleQueue()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="redis", daemon=True)
        self._thread.start()

    def flush(self) -> None:
        if self._told:
            told, self._told = self._told, []
            self._calls.put(told)

    def close(self) -> None:
        self._stop.set()
        self._calls.put([])
        self._thread.join(5)

    def _is_running(self) -> bool:
        return self._thread.is_alive()

    def _turn(self) -> None:
        time.sleep(0.002)

    def _run(self) -> None:
        while not self._stop.is_set():
            calls = list(self._calls.get())
            try:
                while len(calls) < _AT_ONCE:
                    calls += self._calls.get_nowait()
            except Empty:
                pass
            if calls and not self._send(calls):
                return

    def _send(self, calls: list[Call]) -> bool:
        while not self._stop.is_set():
            answers: list[Any] = []
            try:
                self._direct.ask_into(answers, calls)
            except GONE as error:
                calls = self._heard(calls, answers)
                self._stop.wait(self._pause_after(error, answers))
            except Exception as error:
                self._heard(calls, answers)
                self._fail(error)
                return False
            else:
                self._heard(calls, answers)
                return True
        return False
