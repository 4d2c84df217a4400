"""How steps reach Redis: at once, or by a thread while the crawl goes on."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

import redis
from hiredis import pack_command
from redis.cluster import RedisCluster
from redis.sentinel import SentinelConnectionPool

from webcrawler.exceptions import StoreError
from webcrawler.frontier.backends.shared.connection import GONE, explain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webcrawler.frontier.backends.shared.scripts import Script

logger = logging.getLogger(__name__)
_AT_ONCE = 1000
_RETRY_SECS = 0.5
_AT_ONCE_AGAIN = 2  # how often a connection is made anew without waiting
_COPY_SECS = 2.0  # how long an answer waits for a replica
_LOOK_SECS = 5.0  # how often is looked whether there is one


class Call(NamedTuple):
    """A step on a partition, or a plain command (`script` None), and who hears the answer."""

    key: str
    script: Script | None
    args: Sequence[Any]
    then: Callable[[Any], None] | None = None


class Direct:
    """Sends and waits: for commands at the keyboard, and for tests of the very same steps.

    Where Sentinels may promote a replica, an answer also waits until a replica has what was sent:
    what was answered is not lost with the master.
    """

    def __init__(self, client: Any, place: str = "Redis") -> None:
        self.client = client
        self.place = place
        pool = getattr(client, "connection_pool", None)
        self._may_have_replicas = isinstance(pool, SentinelConnectionPool)
        self._has_replicas = False
        self._look_at = 0.0
        self._loaded: set[str] = set()  # scripts that Redis has, as far as we know
        self.commands = 0  # sent so far

    def ask(self, call: Call) -> Any:
        """The answer of one step."""
        return self.ask_all([call])[0]

    def ask_all(self, calls: Sequence[Call]) -> list[Any]:
        """The answers of many, in one round trip where it is one server."""
        answers: list[Any] = []
        self.ask_into(answers, calls)
        return answers

    def ask_into(self, answers: list[Any], calls: Sequence[Call]) -> None:
        """The same. What was answered before the connection was lost is in `answers` all the same:
        it need not be said again, and so every attempt that hears anything is a step forward.
        """
        self.commands += len(calls)
        try:
            if isinstance(self.client, RedisCluster):
                for call in calls:
                    answers.append(self._one(call))  # noqa: PERF401 (those before a loss count)
                return
            while len(answers) < len(calls):
                self._ask_rest(answers, calls[len(answers) :])
        except GONE:
            self._loaded.clear()  # it may be another process, which has no scripts
            raise
        except redis.RedisError as error:
            raise explain(error, self.place) from error

    def _ask_rest(self, answers: list[Any], calls: Sequence[Call]) -> None:
        """All of these; or those before one whose script Redis has lost.

        What comes behind that one is then said again, and made again. Scripts that Redis may not
        have are loaded in the same round trip: were they loaded step by step where they are
        missed, steps would be made in another order than they were told in.
        """
        scripts = {call.script.digest: call.script for call in calls if call.script is not None}
        new = [script for digest, script in scripts.items() if digest not in self._loaded]
        commands: list[tuple[Any, ...]] = [("SCRIPT", "LOAD", script.text) for script in new]
        commands += map(_words, calls)
        is_copied = self._may_have_replicas and self._is_followed()
        if is_copied:
            commands.append(("WAIT", 1, int(_COPY_SECS * 1000)))
        heard: list[Any] = []
        try:
            self._exchange(heard, commands)
        except GONE:
            if not is_copied:  # else nothing counts before a replica has it
                answers += _good(heard[len(new) :])
            raise
        if is_copied and not heard.pop():
            self._has_replicas = False  # until the next look
        for answer in heard[: len(new)]:
            if isinstance(answer, Exception):
                raise answer
        good = _good(heard[len(new) :])
        answers += good
        self._loaded.update(scripts)
        if len(good) < len(calls):
            error = heard[len(new) + len(good)]
            if not isinstance(error, redis.exceptions.NoScriptError):
                raise error
            self._loaded.clear()

    def _exchange(self, answers: list[Any], commands: list[tuple[Any, ...]]) -> None:
        """Send all, then read all; an error that Redis answers with stands in its place.

        What redis-py's own pipeline does, at half of its cost: it is paid for every page.
        """
        pool = self.client.connection_pool
        connection = pool.get_connection()
        try:
            connection.send_packed_command([b"".join(map(pack_command, commands))])
            for _ in commands:
                answers.append(_read(connection))  # noqa: PERF401 (those before a loss count)
        except BaseException:
            connection.disconnect()  # what is still on its way would answer somebody else
            raise
        finally:
            pool.release(connection)

    def _is_followed(self) -> bool:
        if time.monotonic() > self._look_at:
            self._look_at = time.monotonic() + _LOOK_SECS
            self._has_replicas = bool(self.client.info("replication")["connected_slaves"])
        return self._has_replicas

    def _one(self, call: Call) -> Any:
        if call.script is None:
            return self.client.execute_command(*call.args)
        try:
            return self.client.evalsha(call.script.digest, 1, call.key, *call.args)
        except redis.exceptions.NoScriptError:
            return self.client.eval(call.script.text, 1, call.key, *call.args)

    def close(self) -> None:
        self.client.close()


def _words(call: Call) -> tuple[Any, ...]:
    if call.script is None:
        return tuple(call.args)
    return ("EVALSHA", call.script.digest, 1, call.key, *call.args)


def _read(connection: Any) -> Any:
    try:
        return connection.read_response()
    except redis.ResponseError as error:
        return error


def _good(answers: list[Any]) -> list[Any]:
    """Those before the first error."""
    for at, answer in enumerate(answers):
        if isinstance(answer, Exception):
            return answers[:at]
    return answers


class Threaded:
    """Sends what was told in the order it was told; answers are heard when `hear` is called.

    What is told is collected until `flush`, which `soon` is asked to call: the thread takes the
    interpreter from the crawl each time it wakes, so it is woken for many steps at once.
    While Redis is gone everything that was not answered is kept and said again: every step may be
    said twice. A connection that was lost is made anew at once; Redis is gone if that did not help.
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
        self._calls: SimpleQueue[list[Call]] = SimpleQueue()
        self._answers: deque[tuple[Call, Any]] = deque()
        self.on_answers = on_answers
        self.waiting = 0  # told, and not heard
        self.failure: Exception | None = None
        self.is_gone = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="redis", daemon=True)
        self._thread.start()

    def tell(self, call: Call) -> None:
        self.waiting += 1
        self._told.append(call)
        if len(self._told) == 1:
            self._soon(self.flush)

    def flush(self) -> None:
        """Let the thread send what was told."""
        if self._told:
            told, self._told = self._told, []
            self._calls.put(told)

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
            if is_late or (
                not self._thread.is_alive() and not self._answers and self.failure is None
            ):
                return False
            time.sleep(0.002)

    def close(self) -> None:
        self._stop.set()
        self._calls.put([])
        self._thread.join(5)

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
        failures = 0  # in a row, without any answer
        while not self._stop.is_set():
            answers: list[Any] = []
            try:
                self._direct.ask_into(answers, calls)
            except GONE as error:
                calls = self._heard(calls, answers)
                failures = 0 if answers else failures + 1
                # One that keeps silent until the time is over is not asked again at once.
                if failures > _AT_ONCE_AGAIN or isinstance(error, redis.TimeoutError):
                    if not self.is_gone:
                        self.is_gone = True
                        logger.warning(f"Redis is gone, the crawl waits for it: {error}")
                    self._stop.wait(_RETRY_SECS)
            except Exception as error:
                self.failure = (
                    error
                    if isinstance(error, StoreError)
                    else StoreError(f"Redis cannot be used: {type(error).__name__}: {error}")
                )
                self._heard(calls, answers)
                self.on_answers()
                return False
            else:
                self._heard(calls, answers)
                return True
        return False

    def _heard(self, calls: list[Call], answers: list[Any]) -> list[Call]:
        """Hand on what was answered; the rest of the calls."""
        if not answers:
            return calls
        if self.is_gone:
            self.is_gone = False
            logger.warning("Redis is back, the crawl goes on")
        self._answers.extend(zip(calls, answers, strict=False))
        self.on_answers()
        return calls[len(answers) :]
