"""What went over the wire, for the archive."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wire:
    """One exchange, byte for byte, in `request.meta["wire"]` when the handler keeps it.

    The heads are the very bytes sent and received, from the first line to the empty line; the
    response head is that of the final answer, without 1xx answers before it. `body` is the body
    as received: still compressed where Content-Encoding says so (the response the spider sees is
    not), but without the framing of a chunked transfer. Where it was cut off, `response.flags`
    has `dataloss`. Through a proxy the request head is the one the proxy got.

    It is set on the request that was sent, before any middleware sees the response; a redirect or
    retry is another request with a wire of its own. `address` is the peer's IP address, the
    proxy's if there was one. `at` is seconds since the epoch; the lengths of time count from it.
    """

    request_head: bytes
    request_body: bytes
    response_head: bytes
    body: bytes
    address: str
    at: float
    first_byte_secs: float
    total_secs: float
