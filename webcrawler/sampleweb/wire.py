"""HTTP/1.1 on the wire: reading requests, and writing answers as bytes."""

from __future__ import annotations

import gzip
from email.utils import formatdate, parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .response import Response

STATUS_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}

_TOKEN = frozenset(b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")
# What may be repeated without harm is simply overwritten; these may not.
_SINGLE = frozenset({b"host", b"content-length"})


class BadRequest(Exception):
    """A request that cannot be understood; carries the status to answer with."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class Request(NamedTuple):
    """A request's head."""

    method: str
    host: str
    target: str
    headers: dict[bytes, bytes]
    is_kept_alive: bool
    body_size: int


class Answer(NamedTuple):
    """A response as bytes; `head` is all of the head but Date, Connection and the empty line."""

    response: Response
    head: bytes
    unchanged_head: bytes  # the same for status 304
    body: bytes
    etag: bytes


def read_request(head: bytes) -> Request:
    """Read a request's head, given without its final empty line; BadRequest if it is none."""
    lines = head.split(b"\r\n")
    words = lines[0].split(b" ")
    if len(words) != 3 or not words[1] or not words[0].isalpha():
        raise BadRequest(400, "no request line")
    method, target, version = words
    if version not in (b"HTTP/1.1", b"HTTP/1.0"):
        raise BadRequest(505 if version.startswith(b"HTTP/") else 400, "not HTTP/1.1")
    headers: dict[bytes, bytes] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(b":")
        name = name.lower()
        if not colon or not name or not _TOKEN.issuperset(name):
            raise BadRequest(400, "not a header line")
        if name in _SINGLE and name in headers:
            raise BadRequest(400, "a header that may stand only once")
        headers[name] = value.strip()
    authority, raw_path = _target(target, headers.get(b"host"))
    if authority is None:
        if version == b"HTTP/1.1":
            raise BadRequest(400, "no Host")
        authority = b""
    if b"transfer-encoding" in headers:
        raise BadRequest(411, "a request with a body of unknown length")
    length = headers.get(b"content-length", b"0")
    if not length.isdigit() or len(length) > 15:
        raise BadRequest(400, "no length")
    connection = headers.get(b"connection", b"").lower()
    is_kept_alive = (
        b"close" not in connection if version == b"HTTP/1.1" else b"keep-alive" in connection
    )
    host = host_name(authority)
    path = raw_path.decode("latin-1")
    return Request(method.decode(), host, path, headers, is_kept_alive, int(length))


def host_name(authority: bytes) -> str:
    """The name in a Host header: lower case, without port and final dot."""
    if authority.startswith(b"["):
        name = authority.partition(b"]")[0] + b"]"
    else:
        name = authority.partition(b":")[0]
    return name.decode("latin-1").lower().rstrip(".")


def write_answer(response: Response, is_gzip_accepted: bool) -> Answer:
    """The bytes of a response."""
    body, etag = response.body, response.etag
    lines, lasting = [], []
    if response.content_type:
        lines.append(f"Content-Type: {response.content_type}")
    if response.is_compressed:
        lasting.append("Vary: Accept-Encoding")
        if is_gzip_accepted:
            body = gzip.compress(body, 6, mtime=0)
            lines.append("Content-Encoding: gzip")
            etag = f'{etag[:-1]}-gzip"' if etag else ""
    if etag:
        lasting.append(f"ETag: {etag}")
    if response.modified_at:
        lasting.append(f"Last-Modified: {formatdate(response.modified_at, usegmt=True)}")
    lines += [f"{name}: {value}" for name, value in response.headers]
    lines.append(f"Content-Length: {len(body)}")
    return Answer(response, _lines(lines + lasting), _lines(lasting), body, etag.encode())


def accepts_gzip(accepted: bytes | None) -> bool:
    """Whether an Accept-Encoding header allows gzip."""
    if not accepted:
        return False
    for part in accepted.lower().split(b","):
        name, _, parameters = part.partition(b";")
        if name.strip() == b"gzip":
            quality = parameters.strip().removeprefix(b"q=")
            return quality.strip(b"0.") != b"" or not quality
    return False


def is_unchanged(request: Request, answer: Answer) -> bool:
    """Whether the client has it already: 304 instead of the page."""
    if answer.response.status != 200:
        return False
    known = request.headers.get(b"if-none-match")
    if known is not None:
        tags = [tag.strip().removeprefix(b"W/") for tag in known.split(b",")]
        return b"*" in tags or (answer.etag != b"" and answer.etag in tags)
    since = request.headers.get(b"if-modified-since")
    if since is None or not answer.response.modified_at:
        return False
    try:
        return parsedate_to_datetime(since.decode("latin-1")).timestamp() >= (
            answer.response.modified_at
        )
    except (ValueError, OverflowError, TypeError, IndexError):
        return False


def _lines(lines: list[str]) -> bytes:
    return "".join(f"{line}\r\n" for line in lines).encode("latin-1")


def _target(target: bytes, host: bytes | None) -> tuple[bytes | None, bytes]:
    """The authority and the path with its query."""
    if target.startswith(b"/"):
        return host, target.partition(b"#")[0]
    if target[:7].lower() == b"http://":
        authority, slash, rest = target[7:].partition(b"/")
        return authority, (slash + rest) or b"/"
    raise BadRequest(400, "no path")
