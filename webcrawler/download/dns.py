"""Cached, asynchronous names to addresses: CachedResolver, a resolver for aiohttp's connector.

The life of a question: an IP literal answers itself; then the static answers; then the cache,
good news for `ttl` seconds and bad news for `negative_ttl`; else one look-up is started and
whoever asks for the same host meanwhile waits for that one. Nobody's cancellation stops a look-up
that others may be waiting for, and no look-up waits for another.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import time
from collections import OrderedDict
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from aiohttp.abc import AbstractResolver, ResolveResult

from webcrawler.download.lookup import ThreadedLookup

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    Lookup = Callable[[str], Awaitable[Sequence[str]]]

_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class ResolutionError(OSError):
    """A host name has no address, or none was given in time."""


class PrivateAddressError(ResolutionError):
    """A host's only addresses are private, loopback or link-local, and that is not allowed."""


class _Entry(NamedTuple):
    expires_at: float
    addresses: tuple[str, ...]
    problem: str  # why there are none; "" where there are


class CachedResolver(AbstractResolver):
    """Addresses of host names, each asked for once.

    `hosts` are static answers, exact names or `*.suffix` for every name below a suffix; they come
    before everything and are always allowed. `lookup` is what really asks (default: the system,
    in threads). With `deny_private` an address that is not public is refused, unless the name is
    in `hosts` or was allowed: what guards a crawl against links and redirects into one's own
    network. A look-up that takes longer than `timeout` seconds is a failure. The cache holds
    `size` names; the least recently asked leaves first. One event loop at a time.
    """

    def __init__(
        self,
        *,
        ttl: float = 3600.0,
        negative_ttl: float = 60.0,
        timeout: float = 10.0,
        size: int = 10_000,
        hosts: Mapping[str, str | Sequence[str]] | None = None,
        deny_private: bool = False,
        allowed: Iterable[str] = (),
        lookup: Lookup | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.ttl = ttl
        self.negative_ttl = negative_ttl
        self.timeout = timeout
        self.size = size
        self.deny_private = deny_private
        self.queries = 0
        self.hits = 0
        self.negative_hits = 0
        self.failures = 0
        self._clock = clock
        self._threads = None if lookup is not None else ThreadedLookup()
        self._lookup: Lookup = lookup or self._threads  # type: ignore[assignment]  # one of the two
        self._allowed = {_key(name) for name in allowed}
        self._exact: dict[str, tuple[str, ...]] = {}
        self._below: dict[str, tuple[str, ...]] = {}
        for name, answer in (hosts or {}).items():
            addresses = (answer,) if isinstance(answer, str) else tuple(answer)
            for address in addresses:
                ipaddress.ip_address(address)  # ValueError now rather than at the first fetch
            if name.startswith("*."):
                self._below[_key(name[2:])] = addresses
            else:
                self._exact[_key(name)] = addresses
        self._cache: OrderedDict[str, _Entry] = OrderedDict()
        self._asking: dict[str, asyncio.Task[_Entry]] = {}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """aiohttp's question. ResolutionError, an OSError, where there is no answer."""
        results: list[ResolveResult] = []
        for address in await self.addresses(host):
            kind = socket.AF_INET6 if ":" in address else socket.AF_INET
            if family in (socket.AF_UNSPEC, kind):
                results.append(
                    ResolveResult(
                        hostname=host,
                        host=address,
                        port=port,
                        family=kind,
                        proto=0,
                        flags=socket.AI_NUMERICHOST,
                    )
                )
        if not results:
            raise ResolutionError(socket.EAI_NONAME, f"{host} has no address of that family")
        return results

    async def addresses(self, host: str) -> tuple[str, ...]:
        """Every address of the host, the preferred first; never empty, else ResolutionError."""
        key = _key(host)
        known = self._known(key)
        if known is not None:
            self.hits += 1
            return known
        entry = self._cached(key)
        if entry is None:
            task = self._asking.get(key)
            if task is None:
                self.queries += 1
                task = asyncio.get_running_loop().create_task(self._ask(key))
                self._asking[key] = task
            else:
                self.hits += 1
            # Shielded: others may wait for the same answer, and the cache wants it anyway.
            entry = await asyncio.shield(task)
        elif entry.addresses:
            self.hits += 1
        else:
            self.negative_hits += 1
        if not entry.addresses:
            raise ResolutionError(socket.EAI_NONAME, f"{host}: {entry.problem}")
        return self._permitted(key, entry.addresses)

    def peek(self, host: str) -> str | None:
        """The first address if it is known at this moment, without asking anybody."""
        key = _key(host)
        addresses: tuple[str, ...] | None
        try:
            addresses = self._known(key)
            if addresses is None:
                entry = self._cached(key)
                addresses = self._permitted(key, entry.addresses) if entry else ()
        except PrivateAddressError:
            return None
        return addresses[0] if addresses else None

    async def prefetch(self, host: str) -> str | None:
        """Asks ahead of need. None where there is no address; the failure is remembered."""
        try:
            return (await self.addresses(host))[0]
        except ResolutionError:
            return None

    def allow(self, host: str) -> None:
        """Exempts a name or address from `deny_private`: a seed or a proxy somebody typed in."""
        self._allowed.add(_key(host))

    def check_literal(self, host: str) -> None:
        """PrivateAddressError if the host is an IP literal that is refused.

        aiohttp never asks a resolver about literals, so the handler asks here.
        """
        if self.deny_private:
            self._known(_key(host))

    def counters(self) -> dict[str, int]:
        """What happened so far, by name."""
        return {
            "queries": self.queries,
            "hits": self.hits,
            "negative_hits": self.negative_hits,
            "failures": self.failures,
            "cached": len(self._cache),
        }

    async def close(self) -> None:
        """Gives up the look-ups under way and ends the threads; may be called twice."""
        tasks = list(self._asking.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)
        if self._threads is not None:
            self._threads.close()

    def _known(self, key: str) -> tuple[str, ...] | None:
        """What needs neither cache nor query: static answers and literals."""
        found = self._exact.get(key)
        if found is not None:
            return found
        if self._below:
            dot = key.find(".")
            while dot >= 0:
                found = self._below.get(key[dot + 1 :])
                if found is not None:
                    return found
                dot = key.find(".", dot + 1)
        if _is_literal(key):
            return self._permitted(key, (key.strip("[]"),))
        return None

    def _cached(self, key: str) -> _Entry | None:
        entry = self._cache.get(key)
        if entry is None:
            return None
        if entry.expires_at <= self._clock():
            del self._cache[key]
            return None
        self._cache.move_to_end(key)
        return entry

    async def _ask(self, key: str) -> _Entry:
        addresses: tuple[str, ...] = ()
        problem = "no address"
        try:
            async with asyncio.timeout(self.timeout):
                addresses = tuple(await self._lookup(key))
        except TimeoutError:
            problem = f"no answer in {self.timeout:g} s"
        except Exception as error:  # whatever a look-up raises means: no address
            problem = getattr(error, "strerror", None) or str(error) or type(error).__name__
        finally:
            self._asking.pop(key, None)
        if not addresses:
            self.failures += 1
        lifetime = self.ttl if addresses else self.negative_ttl
        entry = _Entry(self._clock() + lifetime, addresses, "" if addresses else problem)
        self._cache[key] = entry
        self._cache.move_to_end(key)
        while len(self._cache) > self.size:
            self._cache.popitem(last=False)
        return entry

    def _permitted(self, key: str, addresses: tuple[str, ...]) -> tuple[str, ...]:
        if not self.deny_private or key in self._allowed:
            return addresses
        public = tuple(address for address in addresses if is_public(address))
        if addresses and not public:
            raise PrivateAddressError(
                socket.EAI_FAIL, f"{key} is at the private address {addresses[0]}"
            )
        return public


def _key(host: str) -> str:
    return host.lower().rstrip(".")


@lru_cache(maxsize=4096)
def _is_literal(host: str) -> bool:
    # Cheap first: most names end in a letter, most literals in a digit or a bracket.
    if not host or not (host[-1].isdigit() or ":" in host):
        return False
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(host.strip("[]"))
        return True
    return False


@lru_cache(maxsize=4096)
def is_public(address: str) -> bool:
    """Whether an IP address is on the public Internet; of wrapped IPv4, what is wrapped counts."""
    parsed = ipaddress.ip_address(address)
    if isinstance(parsed, ipaddress.IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour
        if inner is None and parsed in _NAT64:
            inner = ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return parsed.is_global and not parsed.is_multicast
