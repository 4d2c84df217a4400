"""The Retry-After header: seconds, or a date."""

from __future__ import annotations

from datetime import UTC
from email.utils import parsedate_to_datetime


def parse_retry_after(value: bytes | str | None, now: float) -> float | None:
    """How many seconds to wait from `now`, or None where the value says nothing."""
    if not value:
        return None
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text[:12])  # beyond that it only means: very long
    try:
        date = parsedate_to_datetime(text)
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)
        return max(0.0, date.timestamp() - now)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
