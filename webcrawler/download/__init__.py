"""Getting a URL: names, connections, limits, and the two Scrapy classes that sit on them.

The scheduler hands out a request whose host may be hit now. `Downloader` sends it through the
downloader middlewares and straight to the handler of its scheme: there is no second queue and no
second delay, politeness is the frontier's. `AiohttpHandler` turns it into the bytes of a request,
the URL exactly as it stands; `CachedResolver` knows the host's addresses, each name asked for once;
`HttpClient` takes a connection that is still open or opens one, writes, and reads the answer
within its `Limits`: headers, body, time to the first byte, time to the last. What is odd but
readable is read; what is not ends in one of Scrapy's public exceptions, never in silence. Where an
archive is kept, the very bytes of both heads and of the body go along as a `Wire`. When the
request leaves the downloader, by whatever door, `Downloader.on_left` says so once.
"""

from webcrawler.download.client import HttpClient
from webcrawler.download.dns import CachedResolver, PrivateAddressError, ResolutionError
from webcrawler.download.downloader import Downloader
from webcrawler.download.handler import AiohttpHandler
from webcrawler.download.limits import Limits
from webcrawler.download.options import DownloadOptions, download_options
from webcrawler.download.shared import get_client, get_resolver
from webcrawler.download.wire import Wire

__all__ = [
    "AiohttpHandler",
    "CachedResolver",
    "DownloadOptions",
    "Downloader",
    "HttpClient",
    "Limits",
    "PrivateAddressError",
    "ResolutionError",
    "Wire",
    "download_options",
    "get_client",
    "get_resolver",
]
