"""Where a URL is fetched from and what is asked for there, without touching its bytes."""

from __future__ import annotations

import base64
import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from yarl import URL

_PARTS = re.compile(r"(https?://[^/?#\\]*)([^#]*)", re.IGNORECASE)
# What may not stand in a request line. A URL that went through normalisation has none of it.
_UNSAFE = re.compile(r"[^!-~]")


class Origin(NamedTuple):
    """Scheme, host and port of a URL, with what every request to them carries."""

    url: URL
    host: str
    host_header: bytes
    authorization: bytes | None  # from user:password@ in the URL, as browsers do


def split(url: str) -> tuple[Origin, str]:
    """The origin and the request target (path and query, exactly as they stand in the URL).

    ValueError where the URL is none of http or https or names no host.
    """
    match = _PARTS.match(url)
    if match is None:
        raise ValueError(f"not an http or https URL: {url[:200]!r}")
    prefix, target = match.groups()
    if not target.startswith("/"):
        target = "/" + target
    if _UNSAFE.search(target):
        target = _UNSAFE.sub(_escape, target)
    return origin_of(prefix), target


@lru_cache(maxsize=8192)
def origin_of(prefix: str) -> Origin:
    """The origin of `scheme://authority`."""
    url = URL(prefix)
    host = url.raw_host
    host_header = url.host_port_subcomponent
    if not host or not host_header:
        raise ValueError(f"no host in {prefix[:200]!r}")
    authorization = None
    if url.raw_user is not None or url.raw_password is not None:
        pair = unquote_to_bytes(f"{url.raw_user or ''}:{url.raw_password or ''}")
        authorization = b"Basic " + base64.b64encode(pair)
    return Origin(url.origin(), host, host_header.encode("ascii"), authorization)


def _escape(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))
