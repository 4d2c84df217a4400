"""What the sample web answers, before it becomes bytes on a connection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

WHOLE: Final = "whole"
DRIP: Final = "drip"  # half of the body, a pause, the other half
TRUNCATED: Final = "truncated"  # the connection closes in the middle of the body
RESET: Final = "reset"  # the connection is reset instead of an answer


@dataclass(frozen=True, slots=True)
class Response:
    """One answer. `delay` is waited before it (in the middle, for a drip); status 0 is a reset."""

    status: int
    content_type: str = ""
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    etag: str = ""
    modified_at: int = 0
    delay: float = 0.0
    ending: str = WHOLE
    is_compressed: bool = False  # for clients that accept gzip
    is_constant: bool = True  # the same at every attempt
