"""Which meta elements may speak to robots."""

from __future__ import annotations

import re

# Directives known to any large robot. A robot's own name (googlebot) cannot be listed, so an
# element of any name counts if its content has one of these; whoever obeys looks for its own
# name, and for `robots`, whose content counts whatever it is.
_DIRECTIVE = re.compile(
    r"(?:^|[\s,;])(?:all|none|(?:no)?index|(?:no)?follow|no(?:archive|cache|snippet|translate|odp|ydir"
    r"|imageindex|imageai|ai|sitelinkssearchbox)|indexifembedded|unavailable_after\s*:"
    r"|max-(?:snippet|image-preview|video-preview)\s*:)",
    re.IGNORECASE,
)
_MAX_CHARS = 1_000


def directives(name: str | None, content: str) -> tuple[str, str] | None:
    """(name, content), lower case, of a meta element that may hold directives; else None."""
    if not name or len(name) > _MAX_CHARS:
        return None
    name = name.strip().lower()
    content = content[:_MAX_CHARS].strip().lower()
    if name == "robots" or _DIRECTIVE.search(content):
        return name, content
    return None
