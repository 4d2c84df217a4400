"""From an answer to a Scrapy response: headers, and the class a spider expects."""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from typing import TYPE_CHECKING

from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webcrawler.download.client import Answer

# Types of which no text class is ever made, so that nothing needs to be guessed.
_BINARY = ("image/", "audio/", "video/", "font/", "application/pdf", "application/zip")
_name_of = lru_cache(maxsize=1024)(Headers().normkey)
_address_of = lru_cache(maxsize=8192)(ipaddress.ip_address)


def make_headers(pairs: Iterable[tuple[bytes, bytes]]) -> Headers:
    """What `Headers(pairs)` gives, without asking for the type of each of them."""
    headers = Headers()
    setdefault = super(Headers, headers).setdefault
    for name, value in pairs:
        setdefault(_name_of(name), []).append(value)
    return headers


def make_response(url: str, answer: Answer, flags: list[str] | None) -> Response:
    """The response to a request for `url`; its body is as received."""
    message = answer.message
    headers = make_headers(message.raw_headers)
    kind = response_class(headers, url, answer.body)
    version = message.version
    response = kind(
        url,
        status=message.code,
        body=answer.body,
        flags=flags,
        certificate=answer.peer.certificate,
        ip_address=_address_of(answer.peer.address) if answer.peer.address else None,
        protocol="HTTP/1.1" if version == (1, 1) else f"HTTP/{version.major}.{version.minor}",
    )
    response.headers = headers  # given to the constructor they would be copied
    return response


def response_class(headers: Headers, url: str, body: bytes) -> type[Response]:
    """The class Scrapy's own handlers would choose, at once where the type says it all."""
    # A dict's own methods: the names are in their normal form already.
    if dict.get(headers, b"Content-Encoding"):
        # The compression middleware decompresses and chooses again.
        return Response
    content_types = dict.get(headers, b"Content-Type")
    if content_types:
        kind = _class_of_type(content_types[-1])
        if kind is not None:
            return kind
    return responsetypes.from_args(headers=headers, url=url, body=body)


@lru_cache(maxsize=1024)
def _class_of_type(content_type: bytes) -> type[Response] | None:
    """None where the type leaves it open and the name or the content has to tell."""
    kind = responsetypes.from_content_type(content_type)
    if kind is not Response:
        return kind
    if content_type.decode("latin-1").strip().lower().startswith(_BINARY):
        return Response
    return None
