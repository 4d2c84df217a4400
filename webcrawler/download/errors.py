"""What went wrong on the way, in Scrapy's words.

Retried by Scrapy's RetryMiddleware, because another time may be better: DownloadTimeoutError,
CannotResolveHostError, DownloadConnectionRefusedError, DownloadFailedError and
ResponseDataLossError. Not retried, because it would only be the same again: DownloadCancelledError
(too large, a certificate that cannot be trusted, a private address) and UnsupportedURLSchemeError.
"""

from __future__ import annotations

import errno

from aiohttp import (
    ClientConnectorCertificateError,
    ClientConnectorDNSError,
    ClientConnectorError,
    InvalidURL,
)
from aiohttp.http_exceptions import LineTooLong
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    UnsupportedURLSchemeError,
)

from webcrawler.download.client import BodyTooLargeError, HeadTooLargeError
from webcrawler.download.dns import PrivateAddressError


def scrapy_error(error: Exception, url: str) -> Exception:
    """The public Scrapy exception for an error of an exchange; to be raised from it."""
    text = " ".join(f"{url}: {error or type(error).__name__}".split())
    if isinstance(error, BodyTooLargeError | HeadTooLargeError | PrivateAddressError):
        return DownloadCancelledError(text)
    if isinstance(error, ClientConnectorDNSError):
        if isinstance(error.os_error, PrivateAddressError):
            return DownloadCancelledError(f"{url}: {error.os_error.strerror}")
        return CannotResolveHostError(f"{url}: {error.os_error.strerror}")
    if isinstance(error, ClientConnectorCertificateError):
        return DownloadCancelledError(f"{url}: {error.certificate_error}")
    if isinstance(error, ClientConnectorError):
        reason = f"{url}: {error.os_error.strerror or error.os_error}"
        if error.os_error.errno == errno.ECONNREFUSED:
            return DownloadConnectionRefusedError(reason)
        if error.os_error.errno == errno.ETIMEDOUT:
            return DownloadTimeoutError(reason)
        return DownloadFailedError(reason)
    if isinstance(error, TimeoutError):
        return DownloadTimeoutError(f"{url}: took too long")
    if isinstance(error, InvalidURL):
        return UnsupportedURLSchemeError(text)
    if isinstance(error.__cause__, LineTooLong):
        return DownloadCancelledError(f"{url}: more bytes of headers than allowed")
    # Bytes that are no HTTP, a connection reset: the words are aiohttp's.
    return DownloadFailedError(text[:500])
