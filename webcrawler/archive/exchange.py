"""What goes into an archive: one HTTP exchange, as it went over the wire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Message:
    """One side of an exchange: a request or a response.

    `start_line` is the request or status line without its line end and is never empty; `headers`
    are the names and values as received, in their order; `body` is what is left when a chunked
    transfer encoding has been taken off, still content-encoded.
    """

    start_line: bytes
    headers: Sequence[tuple[bytes, bytes]] = ()
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Original:
    """A record that was archived before and holds the payload that was met again.

    It must be a response record, never itself a revisit: readers look no further than one step.
    """

    url: str
    fetched_at: float
    payload_digest: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """A fetched page with all that is known of how it was fetched.

    `address` is the server's IP address. `truncated` says why the body is not whole: length,
    time, disconnect or unspecified. `original` is what this page is said to be a copy of: a
    revisit record is written only where the payloads are the same to the byte, or where the
    server itself answered 304; everything else is stored in full.
    """

    url: str
    fetched_at: float
    response: Message
    request: Message | None = None
    address: str = ""
    truncated: str = ""
    original: Original | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """Where an exchange's response (or revisit) record lies, once the system has its bytes."""

    kind: str
    file: str
    offset: int
    length: int
    fetched_at: float
    payload_digest: str
