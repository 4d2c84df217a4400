"""A trap for crawlers: a calendar without end, and directories that go ever deeper."""

from __future__ import annotations

import re

# Path and anchor text of the ways in, on the front page of a host that has a trap.
ENTRANCES = (("/calendar/2024-01.html", "calendar"), ("/deeper/", "deeper"))

_MONTH = re.compile(r"/calendar/([0-9]{1,8})-(0[1-9]|1[0-2])\.html")
_DEEPER = re.compile(r"/deeper/(?:[ab]/)*")


def neighbours(path: str) -> tuple[str, ...] | None:
    """The paths a trap's page leads to; None for a path outside of the trap."""
    match = _MONTH.fullmatch(path)
    if match:
        months = int(match[1]) * 12 + int(match[2]) - 1
        return tuple(_month(near) for near in (months + 1, months - 1) if near >= 0)
    if _DEEPER.fullmatch(path):
        return f"{path}a/", f"{path}b/"
    return None


def _month(months: int) -> str:
    year, month = divmod(months, 12)
    return f"/calendar/{year:04d}-{month + 1:02d}.html"
