"""What one fetch may cost at most."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of every fetch. Bytes are bytes on the wire, of the body before decompression.

    `first_byte_secs` counts from the start (name look-up, connection and TLS included) until the
    head of the answer is complete, `total_secs` from the start to the last byte, however steadily
    a server drips. A size of 0 means no bound.
    """

    max_size: int = 64 * 1024 * 1024
    warn_size: int = 0
    max_header_bytes: int = 64 * 1024
    first_byte_secs: float = 60.0
    total_secs: float = 180.0
    fail_on_data_loss: bool = True
