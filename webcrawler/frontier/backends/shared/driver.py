"""How steps reach Redis: at once. courier.py makes them while the crawl goes on."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import redis
from hiredis import pack_command
from redis.cluster import RedisCluster
from redis.sentinel import SentinelConnectionPool

from webcrawler.frontier.backends.shared.connection import GONE, explain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webcrawler.frontier.backends.shared.scripts import Script

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
        try:
            if isinstance(self.client, RedisCluster):
                self.commands += len(calls)
                for call in calls:
                    answers.append(self._one(call))  # noqa: PERF401 (those before a loss count)
                return
            while len(answers) < len(calls):
                self._ask_rest(answers, calls[len(answers) :])
        except GONE:
            self._loaded.clear()
            raise
        except redis.RedisError as error:
            raise explain(error, self.place) from error

    def _ask_rest(self, answers: list[Any], calls: Sequence[Call]) -> None:
        """All of these; or those before one whose script Redis has lost.

        What comes behind that one is then said again, and made again. Scripts that Redis may not
        have are loaded in the same round trip: were they loaded step by step where they are
        missed, steps would be made in another order than they were told in.
        """
        self.commands += len(calls)
        new, commands = self.words(calls)
        is_copied = self._may_have_replicas and self._is_followed()
        if is_copied:
            commands.append(("WAIT", 1, int(_COPY_SECS * 1000)))
        heard: list[Any] = []
        try:
            self._exchange(heard, commands)
        except GONE:
            if not is_copied:  # else nothing counts before a replica has it
                self.lost(answers, heard, new)
            raise
        if is_copied and not heard.pop():
            self._has_replicas = False  # until the next look
        self.understand(answers, heard, new, calls)

    def words(self, calls: Sequence[Call]) -> tuple[list[Script], list[tuple[Any, ...]]]:
        """What is sent for these: scripts that are loaded in front of them, and all commands."""
        scripts = {call.script.digest: call.script for call in calls if call.script is not None}
        new = [script for digest, script in scripts.items() if digest not in self._loaded]
        commands: list[tuple[Any, ...]] = [("SCRIPT", "LOAD", script.text) for script in new]
        commands += map(_words, calls)
        return new, commands

    def understand(
        self, answers: list[Any], heard: list[Any], new: Sequence[Script], calls: Sequence[Call]
    ) -> None:
        """Add the answers that count, of all that was heard after `words`."""
        for answer in heard[: len(new)]:
            if isinstance(answer, Exception):
                raise answer
        good = _good(heard[len(new) :])
        answers += good
        self._loaded.update(script.digest for script in new)
        if len(good) < len(calls):
            error = heard[len(new) + len(good)]
            if not isinstance(error, redis.exceptions.NoScriptError):
                raise error
            self._loaded.clear()

    def lost(self, answers: list[Any], heard: list[Any], new: Sequence[Script]) -> None:
        """Add the answers that came before the connection was lost."""
        answers += _good(heard[len(new) :])
        self._loaded.clear()  # it may be another process now, which has no scripts

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

    @property
    def is_plain(self) -> bool:
        """Whether it is one server, by a socket that the event loop can read from itself."""
        if self._may_have_replicas or isinstance(self.client, RedisCluster):
            return False
        pool = self.client.connection_pool
        connection = pool.get_connection()
        try:
            return type(getattr(connection, "_sock", None)) is socket.socket  # not one with TLS
        finally:
            pool.release(connection)

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
