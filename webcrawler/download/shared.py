"""What the parts of one crawl have in common: one resolver, one pool of connections.

Scrapy makes a download handler for each scheme, and other parts of a crawl want to ask the same
DNS cache. Both hang on the crawler, weakly: they end with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from webcrawler.download.client import HttpClient
from webcrawler.download.dns import CachedResolver
from webcrawler.download.options import DownloadOptions, download_options
from webcrawler.download.tls import make_tls_context

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_resolvers: WeakKeyDictionary[Crawler, CachedResolver] = WeakKeyDictionary()
_clients: WeakKeyDictionary[Crawler, HttpClient] = WeakKeyDictionary()


def get_resolver(crawler: Crawler, options: DownloadOptions | None = None) -> CachedResolver:
    """The crawl's resolver, made from its settings by whoever asks first."""
    resolver = _resolvers.get(crawler)
    if resolver is None:
        options = options or download_options(crawler.settings)
        resolver = _resolvers[crawler] = CachedResolver(
            ttl=options.dns_ttl,
            negative_ttl=options.dns_negative_ttl,
            timeout=options.dns_timeout,
            size=options.dns_cache_size,
            hosts=options.dns_hosts,
            deny_private=options.deny_private,
        )
    return resolver


def get_client(crawler: Crawler, options: DownloadOptions | None = None) -> HttpClient:
    """The crawl's connections, made from its settings by whoever asks first."""
    client = _clients.get(crawler)
    if client is None:
        options = options or download_options(crawler.settings)
        client = _clients[crawler] = HttpClient(
            limits=options.limits,
            resolver=get_resolver(crawler, options),
            tls=make_tls_context(
                verify=options.verify_certificates,
                min_version=options.tls_min_version,
                max_version=options.tls_max_version,
                ciphers=options.tls_ciphers,
            ),
            pool_size=options.pool_size,
            idle_size=options.idle_size,
            bind_address=options.bind_address,
            keep_wire=options.keep_wire,
        )
    return client
