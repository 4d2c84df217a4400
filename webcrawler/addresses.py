"""Which address a host has, without waiting: for the limit that is kept for each address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.utils.defer import _schedule_coro

if TYPE_CHECKING:
    from collections.abc import Callable

    from webcrawler.download.dns import CachedResolver


class AddressFinder:
    """Answers from the DNS cache, or has the name looked up and wakes the crawl when it is.

    A name that cannot be resolved has none (""): its fetch will say so.
    """

    def __init__(self, resolver: CachedResolver, wake: Callable[[], None]) -> None:
        self._resolver = resolver
        self._wake = wake
        self._under_way: set[str] = set()
        self._failed: set[str] = set()

    def __call__(self, host: str) -> str | None:
        """The address of a host key, None while it is being looked up."""
        name = host if host.endswith("]") else host.rsplit(":", 1)[0]
        name = name.strip("[]")
        address = self._resolver.peek(name)
        if address is not None:
            return address
        if name in self._failed:
            self._failed.discard(name)  # asked again, it is looked up again
            return ""
        if name not in self._under_way:
            self._under_way.add(name)
            _schedule_coro(self._look_up(name))
        return None

    async def _look_up(self, name: str) -> None:
        try:
            await self._resolver.prefetch(name)
        except OSError:
            pass
        finally:
            self._under_way.discard(name)
            if self._resolver.peek(name) is None:
                self._failed.add(name)
            self._wake()
