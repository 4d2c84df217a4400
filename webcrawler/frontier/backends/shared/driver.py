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
        self.commands = 0  # sent so far

    def ask(self, call: Call) -> Any:
        """The answer of one step."""
        return self.ask_all([call])[0]

    def ask_all(self, calls: Sequence[Call]) -> list[Any]:
        """The answers of many, in one round trip where it is one server."""
        self.commands += len(calls)
        try:
            if isinstance(self.client, RedisCluster):
                return [self._one(call) for call in calls]
            commands = [_words(call) for call in calls]
            is_copied = self._may_have_replicas and self._is_followed()
            if is_copied:
                commands.append(("WAIT", 1, int(_COPY_SECS * 1000)))
            answers = self._exchange(commands)
            if is_copied and not answers.pop():
                self._has_replicas = False  # until the next look
            for at, call in enumerate(calls):
                if isinstance(answers[at], redis.exceptions.NoScriptError):
                    answers[at] = self._one(call)
                elif isinstance(answers[at], Exception):
                    raise answers[at]
            return answers
        except GONE:
            raise
        except redis.RedisError as error:
            raise explain(error, self.place) from error

    def _exchange(self, commands: list[tuple[Any, ...]]) -> list[Any]:
        """Send all, then read all; an error that Redis answers with stands in its place.

        What redis-py's own pipeline does, at half of its cost: it is paid for every page.
        """
        pool = self.client.connection_pool
        connection = pool.get_connection()
        try:
            connection.send_packed_command([b"".join(map(pack_command, commands))])
            return [_read(connection) for _ in commands]
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


class Threaded:
    """Sends what was told in the order it was told; answers are heard when `hear` is called.

    What is told is collected until `flush`, which `soon` is asked to call: the thread takes the
    interpreter from the crawl each time it wakes, so it is woken for many steps at once.
    While Redis is gone everything is kept and said again: every step may be said twice.
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
        while not self._stop.is_set():
            try:
                answers = self._direct.ask_all(calls)
            except GONE as error:
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
                self.on_answers()
                return False
            else:
                if self.is_gone:
                    self.is_gone = False
                    logger.warning("Redis is back, the crawl goes on")
                self._answers.extend(zip(calls, answers, strict=True))
                self.on_answers()
                return True
        return False
