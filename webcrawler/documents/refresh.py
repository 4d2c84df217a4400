"""The declarative refresh: what the content of `<meta http-equiv=refresh>` means."""

from __future__ import annotations

import re

# The HTML Standard's "shared declarative refresh steps" as one expression: digits (or a dot,
# which counts as zero), more digits and dots that are ignored, and then the end, or a separator
# and what may be the URL.
_SPACE = r"[\t\n\f\r ]"
_TIME = re.compile(rf"{_SPACE}*+(?:([0-9]++)|(?=\.))[0-9.]*+")
_SEPARATOR = re.compile(rf"(?:{_SPACE}++[;,]?|[;,]){_SPACE}*+")
_URL_WORD = re.compile(rf"url{_SPACE}*+={_SPACE}*+", re.IGNORECASE)

# What the URL parser takes away first, at the ends and everywhere.
_STRIPPED = "".join(map(chr, range(0x21)))
_REMOVED = dict.fromkeys(map(ord, "\t\n\r"))

# Longer than anybody waits; keeps a number of a million digits from being computed.
_LONGEST = 10**9


def parse_refresh(content: str) -> tuple[int, str] | None:
    """(seconds, URL), or None where this refreshes nothing.

    The URL is relative as it was written, without the white space that no URL has; "" is the page
    itself.
    """
    time = _TIME.match(content)
    if time is None:
        return None
    digits = time[1] or "0"
    seconds = int(digits) if len(digits) <= 9 else _LONGEST
    rest = content[time.end() :]
    if not rest:
        return seconds, ""
    separator = _SEPARATOR.match(rest)
    if separator is None:
        return None
    url = rest[separator.end() :]
    word = _URL_WORD.match(url)
    if word is not None:
        url = url[word.end() :]
    quote = url[:1]
    if quote and quote in "\"'":
        url = url[1:].partition(quote)[0]
    return seconds, url.strip(_STRIPPED).translate(_REMOVED)
