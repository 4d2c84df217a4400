"""Fetching robots.txt by hand, without a crawl: what `scrapy robots` does.

With the crawl's own client, so that names, limits, certificates and the User-Agent are the same;
each file is asked for once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.exceptions import DownloadConnectionRefusedError

from webcrawler.archive.http import decode_content
from webcrawler.download import CachedResolver, HttpClient
from webcrawler.download.errors import scrapy_error
from webcrawler.download.handler import request_head
from webcrawler.download.origin import split
from webcrawler.download.tls import make_tls_context
from webcrawler.download.watch import Truncator
from webcrawler.robots import RobotsFetch, robots_url
from webcrawler.robots_gate import READ_BYTES
from webcrawler.urls import normalize

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from webcrawler.download import DownloadOptions

MAX_HOPS = 5
_TOTAL_SECS = 30.0  # somebody waits for the answer
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Fetched:
    """What came of it, and the URL that answered in the end."""

    authority: str
    url: str
    fetch: RobotsFetch


class RobotsFetcher:
    """Fetches robots.txt files, redirects followed. Used in one event loop, then closed."""

    def __init__(self, options: DownloadOptions, user_agent: str) -> None:
        limits = options.limits
        self._resolver = CachedResolver(
            ttl=options.dns_ttl,
            negative_ttl=options.dns_negative_ttl,
            timeout=options.dns_timeout,
            hosts=options.dns_hosts,
            deny_private=options.deny_private,
        )
        self._client = HttpClient(
            limits=replace(limits, total_secs=min(limits.total_secs, _TOTAL_SECS)),
            resolver=self._resolver,
            tls=make_tls_context(
                verify=options.verify_certificates,
                min_version=options.tls_min_version,
                max_version=options.tls_max_version,
                ciphers=options.tls_ciphers,
            ),
            bind_address=options.bind_address,
        )
        self._headers = {
            "User-Agent": user_agent,
            "Accept": "text/plain,*/*;q=0.8",
            "Accept-Encoding": "gzip, deflate",
        }

    async def each(self, authorities: Iterable[str]) -> AsyncIterator[Fetched]:
        """What came of each, in their order, some of them asked for ahead."""
        ahead: deque[asyncio.Task[Fetched]] = deque()
        for authority in authorities:
            ahead.append(asyncio.create_task(self.fetch(authority)))
            if len(ahead) >= _AT_ONCE:
                yield await ahead.popleft()
        while ahead:
            yield await ahead.popleft()

    async def fetch(self, authority: str) -> Fetched:
        """Never raises: what went wrong is the fetch's error."""
        url = robots_url(authority)
        for hops in range(MAX_HOPS + 1):
            try:
                fetch, location = await self._exchange(url, hops)
            except Exception as error:
                fetch = RobotsFetch(error=_reason(error, url), redirects=hops)
                return Fetched(authority, url, fetch)
            target = normalize(location, url) if location else None
            if hops == MAX_HOPS or target is None or not target.startswith(("http://", "https://")):
                break
            url = target
        return Fetched(authority, url, fetch)

    async def close(self) -> None:
        await self._client.close()
        await self._resolver.close()

    async def _exchange(self, url: str, hops: int) -> tuple[RobotsFetch, str]:
        """One answer, and where it leads."""
        client = self._client
        origin, target = split(url)
        answer = await client.exchange(
            client.route(origin),
            request_head(Request(url, headers=self._headers), origin, target),
            total_secs=client.limits.total_secs,
            watcher=Truncator(READ_BYTES),
        )
        headers = answer.message.headers
        if not answer.complete and not answer.stopped:
            raise ConnectionResetError(f"cut off after {len(answer.body)} bytes")
        encodings = ",".join(headers.getall("Content-Encoding", ())).lower().split(",")
        body, _ = decode_content(
            answer.body, [name.strip() for name in encodings if name.strip()], READ_BYTES
        )
        status = answer.message.code
        known = {name.lower(): value for name, value in headers.items()}
        fetch = RobotsFetch(status, "", known, body[:READ_BYTES], hops)
        return fetch, headers.get("Location", "") if 300 <= status < 400 else ""


def _reason(error: Exception, url: str) -> str:
    told = scrapy_error(error, url)
    if isinstance(told, DownloadConnectionRefusedError):
        return "connection refused"  # said in many ways, by event loop and family
    return str(told).removeprefix(f"{url}: ")
