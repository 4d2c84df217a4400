"""From an exchange to WARC records: heads and blocks, byte by byte.

A response's block is its status line and headers exactly as received, then the body. The body
comes to us with the chunked transfer encoding taken off. A header that says `chunked` would then
be a lie, and a reader that believes it would misread a body that happens to look like chunks.
Rather than changing what the server said, the body is put back into one chunk: the block is then
a whole HTTP message that every reader of the field understands (wget's archives look the same),
and only where the server cut its chunks is lost. As warcio and fastwarc count it, the payload is
everything after the header block, so the payload digest covers the chunk's frame as well.
Content-Length stays as received; where the body is shorter because the crawl cut it off,
WARC-Truncated says so.

An unchanged page, answered by 304, is a revisit record without a block, and what the server said
is kept in a metadata record beside it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from webcrawler.archive.dates import warc_date
from webcrawler.archive.digests import label

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from webcrawler.archive.digests import Hasher
    from webcrawler.archive.exchange import Exchange, Message, Original

IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
FORMAT_URL = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
RESPONSE_TYPE = "application/http; msgtype=response"
REQUEST_TYPE = "application/http; msgtype=request"
FIELDS_TYPE = "application/warc-fields"
TRUNCATIONS = frozenset({"length", "time", "disconnect", "unspecified"})

_BODILESS = frozenset({b"204", b"304"})
# What may stand unescaped in a URL; a percent sign is taken to be an escape already.
_PLAIN_IN_URL = "!#$%&'()*+,/:;=?@[]~"


class Built(NamedTuple):
    """The records of one exchange, uncompressed; the response or revisit first."""

    kind: str
    payload_digest: str
    records: tuple[bytes, ...]


def build(exchange: Exchange, algorithm: str, hash_with: Hasher) -> Built:
    """The records of an exchange: a response or a revisit, and the request that led to it."""
    response, request, original = exchange.response, exchange.request, exchange.original
    head = header_block(response)
    body = _framed_body(response, request)
    digest = label(algorithm, hash_with(body).digest())
    kind, about = "response", ""
    blocks: tuple[bytes, ...] = (head, body)
    if original is not None and _status(response) == b"304":
        # By this profile's definition the payload is the one the server says still stands.
        # Replay tools show it only where the revisit has no header block that says 304.
        kind, digest, blocks = "revisit", original.payload_digest, ()
        about = _revisit_fields(NOT_MODIFIED, original)
    elif original is not None and body and original.payload_digest == digest:
        kind, blocks = "revisit", (head,)
        about = _revisit_fields(IDENTICAL, original)
    elif original is not None:
        # The same page, but not the same bytes: stored in full, with a note of what it repeats.
        about = f"X-Duplicate-Of: {target_url(original.url)}\r\n"
    if exchange.truncated and kind == "response":
        reason = exchange.truncated if exchange.truncated in TRUNCATIONS else "unspecified"
        about += f"WARC-Truncated: {reason}\r\n"
    if exchange.address:
        about += f"WARC-IP-Address: {one_line(exchange.address)}\r\n"
    if digest:
        about += f"WARC-Payload-Digest: {digest}\r\n"

    url, date = target_url(exchange.url), warc_date(exchange.fetched_at)
    response_id = record_id()
    common = f"WARC-Date: {date}\r\nWARC-Target-URI: {url}\r\n"
    concurrent = f"{common}WARC-Concurrent-To: {response_id}\r\n"
    compose = _Composer(algorithm, hash_with)
    records = [compose(kind, response_id, common + about, RESPONSE_TYPE, *blocks)]
    if request is not None:
        request_blocks = header_block(request), request.body
        records.append(compose("request", record_id(), concurrent, REQUEST_TYPE, *request_blocks))
    if not blocks:
        fields = b"http-status-line: " + head[:-2]
        records.append(compose("metadata", record_id(), concurrent, FIELDS_TYPE, fields))
    return Built(kind, digest, tuple(records))


def build_info(
    filename: str,
    written_at: float,
    info: Mapping[str, object],
    algorithm: str,
    hash_with: Hasher,
) -> bytes:
    """The warcinfo record that opens a file: its name and what wrote it, a field a line."""
    lines = [f"{_field_name(name)}: {one_line(str(value))}\r\n" for name, value in info.items()]
    about = f"WARC-Date: {warc_date(written_at)}\r\nWARC-Filename: {filename}\r\n"
    block = "".join(lines).encode("utf-8", "replace")
    compose = _Composer(algorithm, hash_with)
    return compose("warcinfo", record_id(), about, FIELDS_TYPE, block)


class _Composer(NamedTuple):
    """Puts a record together: its head, with the block's digest and length, and the block."""

    algorithm: str
    hash_with: Hasher

    def __call__(
        self, kind: str, identifier: str, about: str, content_type: str, *blocks: bytes
    ) -> bytes:
        digest = self.hash_with(blocks[0] if blocks else b"")
        for block in blocks[1:]:
            digest.update(block)
        head = (
            f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {identifier}\r\n{about}"
            f"WARC-Block-Digest: {label(self.algorithm, digest.digest())}\r\n"
            f"Content-Type: {content_type}\r\n"
            f"Content-Length: {sum(map(len, blocks))}\r\n\r\n"
        )
        return b"".join((head.encode(), *blocks, b"\r\n\r\n"))


def header_block(message: Message) -> bytes:
    """Start line and headers with their line ends and the blank line that closes them."""
    if not message.start_line:
        raise ValueError("a message without its start line cannot be archived")
    lines = [message.start_line, *[name + b": " + value for name, value in message.headers]]
    block = b"\r\n".join(lines) + b"\r\n\r\n"
    # A line end within a value would end the header block where the server did not.
    if block.count(b"\n") != len(lines) + 1 or block.count(b"\r") != len(lines) + 1:
        lines = [line.replace(b"\r", b" ").replace(b"\n", b" ") for line in lines]
        block = b"\r\n".join(lines) + b"\r\n\r\n"
    return block


def is_chunked(headers: Sequence[tuple[bytes, bytes]]) -> bool:
    """Whether the last transfer coding named is `chunked`."""
    last = b""
    for name, value in headers:
        if len(name) == 17 and name.lower() == b"transfer-encoding":
            last = value
    return bool(last) and last.rpartition(b",")[2].strip().lower() == b"chunked"


def target_url(url: str) -> str:
    """The URL as it may stand in a head: nothing but visible ASCII."""
    if url.isascii() and url.isprintable() and " " not in url:
        return url
    return quote(url, safe=_PLAIN_IN_URL, errors="surrogatepass")


def record_id() -> str:
    """A new random identifier (a version 4 UUID)."""
    number = int.from_bytes(os.urandom(16), "big")
    number = (number & ~(0xF000 << 64) | 0x4000 << 64) & ~(0xC000 << 48) | 0x8000 << 48
    text = f"{number:032x}"
    return f"<urn:uuid:{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}>"


def one_line(text: str) -> str:
    """The text without anything that would end its line."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else " " for character in text).strip()


def _framed_body(response: Message, request: Message | None) -> bytes:
    """The body as it would have to be sent for the response's headers to be true."""
    status = _status(response)
    if status in _BODILESS or status[:1] == b"1":
        return b""
    if request is not None and request.start_line.startswith(b"HEAD "):
        return b""
    body = response.body
    if not is_chunked(response.headers):
        return body
    return b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"


def _status(response: Message) -> bytes:
    return (response.start_line.split(b" ", 2)[1:2] or [b""])[0]


def _revisit_fields(profile: str, original: Original) -> str:
    return (
        f"WARC-Profile: {profile}\r\n"
        f"WARC-Refers-To-Target-URI: {target_url(original.url)}\r\n"
        f"WARC-Refers-To-Date: {warc_date(original.fetched_at)}\r\n"
    )


def _field_name(name: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in name)
