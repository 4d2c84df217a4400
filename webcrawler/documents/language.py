"""Which language a document is in: as declared, else as its letters look."""

from __future__ import annotations

import re

from resiliparse.parse.lang import detect_fast

_TAG = re.compile(r"\s*([a-z]{2,3}(?:[-_][a-z0-9]{1,8})*)\s*(?:[,;].*)?", re.IGNORECASE | re.DOTALL)

# Below this, letters look like any language; beyond the other, more of them say nothing new.
_MIN_CHARS = 40
_MAX_CHARS = 4_000


def declared(*tags: str | None) -> str:
    """The first that is a language tag (or a list of them), lower case; "" without one."""
    for tag in tags:
        match = _TAG.fullmatch(tag[:200]) if tag else None
        if match is not None:
            return match[1].replace("_", "-").lower()
    return ""


def detected(text: str) -> str:
    """The language of a text; "" when it cannot be told."""
    if len(text) < _MIN_CHARS:
        return ""
    language: str = detect_fast(text[:_MAX_CHARS])[0]
    return "" if language == "unknown" else language
