"""The product token: the one word by which robots.txt and robots meta know a crawler."""

from __future__ import annotations

import re

# RFC 9309 allows letters, "_" and "-"; a digit or a "/" ends the token. This is also where
# the token of a User-agent line ends, so that "AB42bot" there and here are both "AB".
_TOKEN = re.compile(r"[A-Za-z_-]+")
# Browser-like agents name themselves in the comment: "Mozilla/5.0 (compatible; Name/1.0; ...)".
_COMPATIBLE = re.compile(r"Mozilla/[0-9.]+ +\(compatible; *([A-Za-z_-]+)", re.IGNORECASE)


def product_token(user_agent: str) -> str:
    """The product token of a User-Agent header's value, as it is written there.

    "" where there is none (the name starts with a digit, or there is no name): such a crawler
    obeys the groups for `*` only, so a configuration should refuse it.
    """
    text = user_agent.strip()
    compatible = _COMPATIBLE.match(text)
    if compatible:
        return compatible[1]
    token = _TOKEN.match(text)
    return token[0] if token else ""


def line_token(value: bytes) -> str:
    """The token a User-agent line speaks to: lower case, `*` for every crawler, "" for none."""
    if value[:1] == b"*" and (len(value) == 1 or value[1:2].isspace()):
        return "*"
    token = _TOKEN.match(value[:200].decode("ascii", "replace"))
    return token[0].lower() if token else ""
