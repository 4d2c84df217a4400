"""The HTTP message in a record's block, read back without trusting it."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

import brotli  # type: ignore[import-untyped]  # it comes without type information
from fastwarc.stream_io import ZstdReader

if TYPE_CHECKING:
    from collections.abc import Iterator

#: How long a header block may be before it is given up.
MAX_HEADER_BLOCK = 256 << 10
#: How many content encodings may lie one over the other.
MAX_ENCODINGS = 4
_PIECE = 64 << 10


@dataclass(frozen=True, slots=True)
class HeaderBlock:
    """Start line and headers of a stored message; `length` is their length in the block."""

    start_line: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    length: int

    @property
    def status(self) -> int | None:
        """The status code of a response; None when there is no such number."""
        code = self.start_line.split(b" ", 2)[1:2]
        return int(code[0]) if code and len(code[0]) == 3 and code[0].isdigit() else None

    def get(self, name: str) -> str:
        """The first value of a header, or nothing."""
        wanted = name.lower().encode()
        for found, value in self.headers:
            if found.lower() == wanted:
                return value.decode("latin-1")
        return ""

    def get_all(self, name: str) -> list[str]:
        """All that is listed under a name, over however many headers, in order and lower case."""
        wanted = name.lower().encode()
        listed = b",".join(value for found, value in self.headers if found.lower() == wanted)
        return [
            part.strip().lower() for part in listed.decode("latin-1").split(",") if part.strip()
        ]

    @property
    def mime(self) -> str:
        """The MIME type of Content-Type, lower case, without its parameters."""
        return self.get("content-type").partition(";")[0].strip().lower()

    @property
    def charset(self) -> str:
        """The charset parameter of Content-Type, lower case, or nothing."""
        for parameter in self.get("content-type").split(";")[1:]:
            name, _, value = parameter.partition("=")
            if name.strip().lower() == "charset":
                return value.strip().strip("\"'").lower()
        return ""


def parse_header_block(block: bytes) -> HeaderBlock | None:
    """The header block at the beginning of a block; None when it does not end within it."""
    end = block.find(b"\r\n\r\n")
    length = end + 4
    bare = block.find(b"\n\n", 0, end if end >= 0 else len(block))
    if bare >= 0:  # servers that end their lines with a line feed only
        end, length = bare, bare + 2
    if end < 0:
        return None
    start_line, *lines = block[:end].split(b"\n")
    headers: list[tuple[bytes, bytes]] = []
    for line in lines:
        if line[:1] in (b" ", b"\t") and headers:  # folded, as it was once allowed
            name, value = headers[-1]
            headers[-1] = (name, value + b" " + line.strip())
        else:
            name, _, value = line.partition(b":")
            headers.append((name.strip(), value.strip()))
    return HeaderBlock(start_line.rstrip(b"\r"), tuple(headers), length)


def unchunk(payload: bytes) -> tuple[bytes, bool]:
    """A chunked body without its frame; False with it when the frame is broken.

    What is no chunk at all is given back as it is: some archives keep the header of a body
    they have unchunked.
    """
    pieces: list[bytes] = []
    at = 0
    while True:
        line_end = payload.find(b"\r\n", at, at + 256)
        size = payload[at:line_end].partition(b";")[0].strip() if line_end >= 0 else b""
        if not size or len(size) > 12 or size.strip(b"0123456789abcdefABCDEF"):
            return (b"".join(pieces) if pieces else payload), False
        length = int(size, 16)
        if not length:
            return b"".join(pieces), True
        at = line_end + 2
        pieces.append(payload[at : at + length])
        at += length + 2
        if at > len(payload):
            return b"".join(pieces), False


def decode_content(body: bytes, encodings: list[str], limit: int) -> tuple[bytes, tuple[str, ...]]:
    """The body with its content encodings taken off, and the names of what went wrong.

    `encodings` are in the order they were applied. At most `limit` bytes are made; a broken
    body gives what could be had of it.
    """
    if len(encodings) > MAX_ENCODINGS:
        return body, ("too-many-encodings",)
    problems: list[str] = []
    for encoding in reversed(encodings):
        if not body or encoding == "identity":
            continue
        if encoding not in _DECODERS:
            return body, (*problems, "unknown-encoding")
        pieces: list[bytes] = []
        left = limit
        try:
            for piece in _DECODERS[encoding](body):
                pieces.append(piece[:left])
                left -= len(piece)
                if left < 0:
                    problems.append("content-too-large")
                    break
        except (zlib.error, brotli.error, OSError, ValueError, EOFError):
            if not pieces:  # as some servers label what they did not encode
                return body, (*problems, "broken-encoding")
            problems.append("broken-encoding")
        body = b"".join(pieces)
    return body, tuple(problems)


def _inflated(body: bytes, window: int) -> Iterator[bytes]:
    while body:
        stream = zlib.decompressobj(window)
        while not stream.eof:
            piece = stream.decompress(body, _PIECE)
            body = stream.unconsumed_tail
            if piece:
                yield piece
            elif not body and not stream.eof:
                raise EOFError
        body = stream.unused_data
        if window != 31 or not body.startswith(b"\x1f\x8b"):
            return  # what follows is not another member: padding, as browsers ignore it


def _deflated(body: bytes) -> Iterator[bytes]:
    """What `deflate` should be, a zlib stream, or what it often is, a bare one."""
    is_zlib = len(body) > 1 and body[0] & 0x0F == 8 and (body[0] << 8 | body[1]) % 31 == 0
    return _inflated(body, 15 if is_zlib else -15)


def _unbrotlied(body: bytes) -> Iterator[bytes]:
    stream = brotli.Decompressor()
    for at in range(0, len(body), _PIECE):
        data = body[at : at + _PIECE]
        while True:
            if piece := stream.process(data, output_buffer_limit=_PIECE):
                yield piece
            if stream.is_finished():
                return
            if stream.can_accept_more_data():
                break
            data = b""
    raise EOFError


def _unzstandard(body: bytes) -> Iterator[bytes]:
    reader = ZstdReader(BytesIO(body))
    while piece := reader.read(_PIECE):
        yield piece


_DECODERS = {
    "gzip": lambda body: _inflated(body, 31),
    "x-gzip": lambda body: _inflated(body, 31),
    "deflate": _deflated,
    "br": _unbrotlied,
    "zstd": _unzstandard,
}
