"""Times as WARC writes them: UTC, to the microsecond."""

from __future__ import annotations

import re
import time
from calendar import timegm
from functools import lru_cache

_DATE = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?Z)?)?)?\Z"
).match
_DIGITS = re.compile(r"(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?\Z").match
# The years that both the format and the C library's calendar can write.
_LAST_MICROSECOND = 253_402_300_800 * 1_000_000 - 1


def microseconds(timestamp: float) -> int:
    """A time in whole microseconds since 1970, the precision in which records are told apart."""
    return min(max(round(timestamp * 1_000_000), 0), _LAST_MICROSECOND)


def warc_date(timestamp: float) -> str:
    """A WARC-Date: always with microseconds, so that equal times are equal texts."""
    seconds, fraction = divmod(microseconds(timestamp), 1_000_000)
    return f"{_seconds(seconds)}.{fraction:06d}Z"


@lru_cache(maxsize=16)
def _seconds(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def parse_warc_date(text: str) -> float | None:
    """The time a WARC-Date means; a date cut short means its beginning. None when it is none."""
    return _time(_DATE(text.strip()))


def parse_moment(text: str) -> float | None:
    """A time as a person types it: 2024, 2024-05-31, 20240531120000 or a whole WARC-Date."""
    text = text.strip()
    return _time(_DIGITS(text) or _DATE(text))


def _time(found: re.Match[str] | None) -> float | None:
    if found is None or not found[0].isascii():
        return None
    year, month, day, hour, minute, second = (
        int(part) if part else default
        for part, default in zip(found.groups()[:6], (0, 1, 1, 0, 0, 0), strict=True)
    )
    if not (year >= 1970 and 1 <= month <= 12 and 1 <= day <= 31):
        return None
    if hour > 23 or minute > 59 or second > 60:  # 60: a leap second
        return None
    fraction = found.groups()[6] if len(found.groups()) > 6 else None
    seconds = timegm((year, month, day, hour, minute, second, 0, 0, 0))
    return seconds + (int(fraction) / 10 ** len(fraction) if fraction else 0.0)
