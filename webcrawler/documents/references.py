"""Character references (`&amp;`, `&#169;`) as browsers read them, in texts and in attributes."""

from __future__ import annotations

import re
from functools import lru_cache
from html import unescape
from html.entities import html5

# All that `unescape` looks at. A text has many references and few different ones.
_IN_TEXT = re.compile(r"&(?:#(?:[0-9]+|[xX][0-9a-fA-F]+);?|[^\t\n\f <&#;]{1,32};?)")
_unescape_one = lru_cache(maxsize=4_096)(unescape)
_REFERENCE = re.compile(r"&(?:(#[0-9]+;?|#[xX][0-9a-fA-F]+;?)|([a-zA-Z][a-zA-Z0-9]*+)(;?))(=?)")
# Longer than any character's number. Python refuses to count those of thousands of digits.
_LONG_NUMBER = re.compile(r"&#([xX]?)((?<=[xX])[0-9a-fA-F]{8,}|[0-9]{8,})")


def text_unescaped(text: str) -> str:
    """A text without its references."""
    if "&" not in text:
        return text
    if "&#" in text:
        text = _LONG_NUMBER.sub(_shortened, text)
    return _IN_TEXT.sub(lambda reference: _unescape_one(reference[0]), text)


def attribute_unescaped(value: str) -> str:
    """An attribute's value without its references.

    Not as in a text: what has no semicolon and goes on like a parameter (`?a=1&copy=2`) is none.
    """
    if "&" not in value:
        return value
    if "&#" in value:
        value = _LONG_NUMBER.sub(_shortened, value)
    return _REFERENCE.sub(_character, value)


def _shortened(match: re.Match[str]) -> str:
    """The same number without leading zeros, or another one that is too large."""
    return f"&#{match[1]}{match[2].lstrip('0')[:8] or 0}"


def _character(match: re.Match[str]) -> str:
    number, name, semicolon, equals = match.groups()
    if number is not None:
        return _numbered(number.strip("#;")) + equals
    if semicolon:
        return html5.get(f"{name};", f"&{name};") + equals
    return (html5[name] if name in html5 and not equals else f"&{name}") + equals


def _numbered(number: str) -> str:
    """The character of a number, also one of no meaning, which `unescape` leaves out."""
    code = int(f"0{number}", 16) if number[0] in "xX" else int(number)
    return unescape(f"&#{code};") or chr(code)
