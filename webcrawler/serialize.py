"""A user's own requests in the frontier: Request <-> bytes, versioned, never by pickle."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.utils.request import request_from_dict

from webcrawler.exceptions import WebcrawlerError
from webcrawler.visit import META_KEY

if TYPE_CHECKING:
    from scrapy import Spider

VERSION = 1
_TAG = "\0"  # no key of a user's dict begins like this
_MAX_BYTES = 4 << 20


class RequestError(WebcrawlerError):
    """A request that cannot be stored, or cannot be read back."""


def pack_request(request: Request, spider: Spider) -> bytes:
    """The stored form. RequestError names the request and what in it cannot be stored."""
    try:
        fields = request.to_dict(spider=spider)
        fields["meta"] = {k: v for k, v in fields["meta"].items() if k != META_KEY}
        plain = {name: _plain(value, name) for name, value in fields.items()}
        data = json.dumps([VERSION, plain], separators=(",", ":")).encode()
    except (ValueError, TypeError) as error:
        raise RequestError(
            f"{request} cannot be kept in the frontier and is refused: {error}"
        ) from None
    if len(data) > _MAX_BYTES:
        raise RequestError(
            f"{request} cannot be kept in the frontier and is refused: {len(data)} bytes, "
            f"more than {_MAX_BYTES}"
        )
    return data


def unpack_request(data: bytes, spider: Spider) -> Request:
    """The request again. RequestError when it cannot be, e.g. its callback is gone."""
    try:
        version, plain = json.loads(data)
        if version != VERSION:
            raise ValueError(f"format {version}")
        fields = {name: _rich(value) for name, value in plain.items()}
        _check_class(fields.get("_class"))
        return request_from_dict(fields, spider=spider)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise RequestError(f"a stored request cannot be read: {error}") from None


def _plain(value: Any, where: str) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return {_TAG: "bytes", "v": base64.b64encode(value).decode()}
    if isinstance(value, list):
        return [_plain(item, where) for item in value]
    if isinstance(value, tuple):
        return {_TAG: "tuple", "v": [_plain(item, where) for item in value]}
    if isinstance(value, dict):
        pairs = [[_plain(k, where), _plain(v, f"{where}[{k!r}]")] for k, v in value.items()]
        return {_TAG: "dict", "v": pairs}
    raise TypeError(f"its {where} holds a {type(value).__name__}, which is no plain data")


def _rich(value: Any) -> Any:
    if isinstance(value, list):
        return [_rich(item) for item in value]
    if isinstance(value, dict):
        kind, inner = value[_TAG], value["v"]
        if kind == "bytes":
            return base64.b64decode(inner)
        if kind == "tuple":
            return tuple(_rich(item) for item in inner)
        return {_rich(k): _rich(v) for k, v in inner}
    return value


def _check_class(path: str | None) -> None:
    """Only request classes that are loaded already: a job folder may come from anywhere."""
    if path is None:
        return
    waiting, known = [Request], set()
    while waiting:
        cls = waiting.pop()
        known.add(f"{cls.__module__}.{cls.__qualname__}")
        waiting.extend(cls.__subclasses__())
    if path not in known:
        raise ValueError(f"its class {path} is not known here")
