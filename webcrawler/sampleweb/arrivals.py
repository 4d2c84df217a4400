"""What came in: every request as the server saw it, in memory and as JSON lines."""

from __future__ import annotations

import json
import os
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import MutableSequence
    from pathlib import Path


class Arrival(NamedTuple):
    """One request. Times are seconds since 1970, by the server's clock.

    `arrived_at` is when its first byte came, `ended_at` when the last byte of the answer went out
    or the connection ended; `is_complete` says which. Status 0 is a connection reset. A request
    that could not be read has no host.
    """

    host: str
    path: str
    status: int
    arrived_at: float
    ended_at: float
    client: str
    server: str
    connection: int
    method: str
    size: int
    agent: str
    is_complete: bool


class ArrivalLog:
    """Notes arrivals when they have ended; called by the server's own thread only.

    `keep` is how many stay in memory: None for all, 0 for none. Lines are written to the file one
    by one, unbuffered, so that nothing noted is lost when the process is killed.
    """

    def __init__(self, path: str | Path | None = None, keep: int | None = None) -> None:
        self._arrivals: MutableSequence[Arrival] = [] if keep is None else deque(maxlen=keep)
        self._file: int | None = None
        self.count = 0
        if path is not None:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def note(self, arrival: Arrival) -> None:
        """Keep it and write it."""
        self.count += 1
        self._arrivals.append(arrival)
        if self._file is not None:
            os.write(self._file, json.dumps(arrival._asdict()).encode() + b"\n")

    def arrivals(self) -> list[Arrival]:
        """Those in memory, in the order of their ends."""
        return list(self._arrivals)

    def close(self) -> None:
        """Close the file; what is in memory stays."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
