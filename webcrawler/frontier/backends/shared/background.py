"""Steps told to a courier: the crawl goes on, and hears the answers when they come.

Until `start` every step is made at once, as in `RedisStore`.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from webcrawler.exceptions import StoreError
from webcrawler.frontier.backends.shared.driver import Call
from webcrawler.frontier.backends.shared.keys import FINGERPRINT
from webcrawler.frontier.backends.shared.looped import Looped
from webcrawler.frontier.backends.shared.rows import unpack_page
from webcrawler.frontier.backends.shared.store import RedisStore
from webcrawler.frontier.backends.shared.threaded import Threaded
from webcrawler.frontier.store import Known
from webcrawler.urls import host_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webcrawler.frontier.backends.shared.courier import Courier
    from webcrawler.frontier.ending import EndedPage

SETTLE_SECS = 30.0
CLOSING_SECS = 5.0  # how long a crawl that was told to end waits for a Redis that is gone
MOST_URLS = 50_000
# Steps that are told within it go to Redis together; less where a page waits for the answer.
_COLLECT_SECS = 0.03
_READ_SECS = 0.005


class BackgroundStore(RedisStore):
    """See the module. What is read of other workers' pages is awaited, never waited for."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._courier: Courier | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._urls: dict[int, str] = {}
        self._awaited: set[asyncio.Future[None]] = set()
        self._error: StoreError | None = None
        self.wake_engine: Callable[[], None] = lambda: None
        self.on_failure: Callable[[StoreError], None] = lambda error: None
        self.is_closing: Callable[[], bool] = lambda: False
        self._closing_since: float | None = None

    def start(self, loop: asyncio.AbstractEventLoop, wake_engine: Callable[[], None]) -> None:
        """From now on in the background."""
        self._loop = loop
        self.wake_engine = wake_engine
        way = (self.direct, self._announce, lambda flush: loop.call_later(_COLLECT_SECS, flush))
        self._courier = Looped(*way, loop=loop) if self.direct.is_plain else Threaded(*way)
        self._is_read_due = False

    def _announce(self) -> None:
        """Called by the courier, maybe in a thread of its own: answers have come."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._hear)

    def _hear(self) -> None:
        if self._courier is None:
            return
        try:
            self._courier.hear()
        except StoreError as error:
            self._error = error
            self._fail_awaited(error)
            self.on_failure(error)

    def _fail_awaited(self, error: StoreError) -> None:
        for future in self._awaited:
            if not future.done():
                future.set_exception(error)

    def _while_gone(self) -> None:
        """Redis is gone. A crawl that is to end does not wait for it for ever."""
        if not self.is_closing():
            self._closing_since = None
        elif self._closing_since is None:
            self._closing_since = time.monotonic()
        elif time.monotonic() - self._closing_since > CLOSING_SECS:
            self._fail_awaited(
                StoreError(
                    "Redis is gone and the crawl was told to end: what could not be committed is "
                    "fetched again"
                )
            )

    def tell(
        self,
        partition: int,
        script: str,
        args: Sequence[Any],
        then: Callable[[Any], None] | None = None,
    ) -> None:
        if self._courier is None:
            super().tell(partition, script, args, then)
        else:
            call = Call(self.keys.tag(partition), self._scripts[script], args, then)
            self._courier.tell(call)

    def send(self, call: Call) -> None:
        """Tell a step or a command that is made already."""
        assert self._courier is not None
        self._courier.tell(call)

    def flush(self) -> None:
        """Let what was told go out now: somebody waits for it."""
        if self._courier is not None:
            self._courier.flush()

    def flush_soon(self) -> None:
        """Let what was told go out within a moment: a page waits for it, and others may too."""
        if not self._is_read_due and self._loop is not None:
            self._is_read_due = True
            self._loop.call_later(_READ_SECS, self._flush_reads)

    def _flush_reads(self) -> None:
        self._is_read_due = False
        self.flush()

    def tell_all(self, script: str, args: Sequence[Any], then: Callable[[Any], None]) -> None:
        """Make a step that belongs to no partition."""
        if self._courier is not None:
            self._courier.tell(Call(self.keys.whole, self._scripts[script], args, then))

    def _command(self, *words: Any, then: Callable[[Any], None] | None = None) -> None:
        if self._courier is not None:
            self._courier.tell(Call("", None, words, then))

    def settle(self) -> None:
        """Wait until all endings are answered, before what hangs on them is closed."""
        if self._courier is not None:
            self._courier.settle(SETTLE_SECS)

    # -- reading what others know

    async def read(self, table: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Rows of a shared table, without making the crawl wait."""
        shared: Any = RedisStore.table(self, table)
        if self._courier is None:
            rows: list[bytes | None] = shared.get_many(keys)
            return rows
        return await self.gather([shared.get_call(key) for key in keys])

    async def gather(self, calls: list[Call]) -> list[Any]:
        assert self._courier is not None
        answers: list[Any] = [None] * len(calls)
        if not calls:
            return answers
        if self._error is not None:
            raise self._error
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        left = len(calls)

        def hear(at: int, answer: Any) -> None:
            nonlocal left
            answers[at] = answer
            left -= 1
            if not left and not future.done():
                future.set_result(None)

        for at, call in enumerate(calls):
            self._courier.tell(call._replace(then=lambda answer, at=at: hear(at, answer)))  # type: ignore[misc]
        self.flush_soon()
        self._awaited.add(future)
        try:
            await future
        finally:
            self._awaited.discard(future)
        return answers

    async def look_up(self, fingerprint: int, url: str) -> Known | None:
        """What is known of a URL, whoever has it; not where it waits."""
        tag = self.keys.tag(self.keys.of_host(host_key(url)))
        signed, bucket = self.keys.seen(fingerprint)
        is_seen, row = await self.gather(
            [
                Call("", None, ("SISMEMBER", f"{tag}:seen:{bucket}", signed)),
                Call("", None, ("HGET", f"{tag}:pages", FINGERPRINT.pack(fingerprint))),
            ]
        )
        if row is not None:
            return Known(page=unpack_page(row))
        return Known() if is_seen else None

    async def find_page(self, fingerprint: int) -> EndedPage | None:
        """How a URL ended, wherever; None if it did not."""
        calls = []
        for partition in range(self.keys.partitions):
            key = f"{self.keys.tag(partition)}:pages"
            calls.append(Call("", None, ("HGET", key, FINGERPRINT.pack(fingerprint))))
        rows = await self.gather(calls)
        row = next((row for row in rows if row is not None), None)
        return unpack_page(row) if row is not None else None

    def remember(self, fingerprint: int, url: str) -> None:
        if len(self._urls) >= MOST_URLS:
            del self._urls[next(iter(self._urls))]
        self._urls[fingerprint] = url

    def url_of(self, fingerprint: int) -> str | None:
        """Of what this worker met lately, and of the referrers of what it has in hand."""
        return self._urls.get(fingerprint)
