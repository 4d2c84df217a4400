"""Character references (`&amp;`, `&#169;`) as browsers read them, in texts and in attributes."""

from __future__ import annotations

import re
from html import unescape
from html.entities import html5

_REFERENCE = re.compile(r"&(?:(#[0-9]+;?|#[xX][0-9a-fA-F]+;?)|([a-zA-Z][a-zA-Z0-9]*+)(;?))(=?)")


def text_unescaped(text: str) -> str:
    """A text without its references."""
    if "&" not in text:
        return text
    # Three in four are these, and none of them makes an "&", so that nothing is read twice.
    for name, character in (("&quot;", '"'), ("&gt;", ">"), ("&lt;", "<"), ("&#39;", "'")):
        if name in text:
            text = text.replace(name, character)
    return unescape(text) if "&" in text else text


def attribute_unescaped(value: str) -> str:
    """An attribute's value without its references.

    Not as in a text: what has no semicolon and goes on like a parameter (`?a=1&copy=2`) is none.
    """
    if "&" not in value:
        return value
    return _REFERENCE.sub(_character, value)


def _character(match: re.Match[str]) -> str:
    number, name, semicolon, equals = match.groups()
    if number is not None:
        return unescape(f"&{number}") + equals
    if semicolon:
        return html5.get(f"{name};", f"&{name};") + equals
    return (html5[name] if name in html5 and not equals else f"&{name}") + equals
