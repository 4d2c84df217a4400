"""Fetch: how one fetch from a host went."""

from __future__ import annotations

from dataclasses import dataclass

OVERLOADED = (429, 503)


@dataclass(frozen=True, slots=True)
class Fetch:
    """What politeness needs to know of a fetch.

    `was_sent` is false when the host's server saw nothing of it: refused by robots.txt, answered
    by a cache, a name that does not resolve. `status` is 0 when there was no answer.
    """

    was_sent: bool = True
    seconds: float = 0.0
    status: int = 200
    retry_after: float | None = None
    address: str = ""

    @property
    def has_failed(self) -> bool:
        """Whether the server could not answer as a healthy server does."""
        return self.status == 0 or self.status == 429 or 500 <= self.status <= 599


NOT_SENT = Fetch(was_sent=False)
