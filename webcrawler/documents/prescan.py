"""What a document's first bytes declare about their own encoding."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# Where browsers look before they parse; and, as the parser may still meet a declaration later
# and start again, how far we look when nothing else was said.
_EARLY_BYTES = 1024
_LATE_BYTES = 1 << 16

_SPACE = rb"[\t\n\f\r ]"
_MARKUP = re.compile(
    rb"<(?:(!--)|(meta)(?=[\t\n\f\r /])|(script|style|title|textarea)(?=[\t\n\f\r />])"
    rb"|(/?[a-z][^\t\n\f\r >]*+)|[!/?][^>]*+)",
    re.IGNORECASE,
)
# One attribute, by the standard's steps: a name may begin with "=", a value may be quoted.
_ATTRIBUTE = re.compile(
    rb"[\t\n\f\r /]*+([^\t\n\f\r />][^\t\n\f\r />=]*+)"
    rb"(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+"
    rb"(?:\"([^\"]*+)\"|'([^']*+)'|([^\t\n\f\r >\"'][^\t\n\f\r >]*+)|(?=>)))?"
)
_CHARSET = re.compile(
    rb"charset" + _SPACE + rb"*+=" + _SPACE + rb"*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\"'\t\n\f\r ;]"
    rb"[^\t\n\f\r ;]*+))",
    re.IGNORECASE,
)
_XML_DECLARATION = re.compile(
    rb"<\?xml[^>]*?\sencoding\s*=\s*[\"']([^\"'>]{1,64})[\"']", re.IGNORECASE
)


def declared_in_html(body: bytes, is_known: Callable[[str], bool]) -> str | None:
    """The label declared by a meta element or an XML declaration; None without one."""
    if body.startswith(b"<\0?\0x\0"):
        return "utf-16le"
    if body.startswith(b"\0<\0?\0x"):
        return "utf-16be"
    for limit in (_EARLY_BYTES, _LATE_BYTES):
        head = body[:limit]
        if b"charset" in head.lower():
            label = _prescan(head, is_known)
            if label is not None:
                return label
        if limit == _EARLY_BYTES:
            label = declared_in_xml(head)
            if label is not None and is_known(label):
                return label
        if len(body) <= limit:
            break
    return None


def declared_in_xml(body: bytes) -> str | None:
    """The encoding named by an XML declaration; None without one."""
    if body.startswith(b"<\0?\0x\0"):
        return "utf-16le"
    if body.startswith(b"\0<\0?\0x"):
        return "utf-16be"
    match = _XML_DECLARATION.match(body[:_EARLY_BYTES].lstrip())
    return match[1].decode("ascii", "replace") if match else None


def _prescan(head: bytes, is_known: Callable[[str], bool]) -> str | None:
    position = 0
    lowered = head.lower()
    while markup := _MARKUP.search(head, position):
        comment, meta, raw, tag = markup.groups()
        position = markup.end()
        if comment:
            end = head.find(b"-->", markup.start() + 2)
            if end < 0:
                return None
            position = end + 3
        elif meta:
            position, attributes = _attributes(head, position)
            label = _label(attributes, is_known)
            if label is not None:
                return label
        elif raw:
            # Text that only looks like markup: the standard's prescan reads it within the first
            # kilobyte, the parser never does.
            position, _ = _attributes(head, position)
            end = lowered.find(b"</" + raw.lower(), position)
            position = end if end >= 0 and position > _EARLY_BYTES else position
        elif tag:
            position, _ = _attributes(head, position)
    return None


def _attributes(head: bytes, position: int) -> tuple[int, dict[bytes, bytes]]:
    """The attributes of the tag whose name ends at `position`; the first of a name counts."""
    attributes: dict[bytes, bytes] = {}
    while match := _ATTRIBUTE.match(head, position):
        position = match.end()
        if position == len(head):
            return position, {}  # cut off: what it says is not known
        name, *values = match.groups()
        attributes.setdefault(name.lower(), next((v for v in values if v is not None), b""))
    return position, attributes


def _label(attributes: dict[bytes, bytes], is_known: Callable[[str], bool]) -> str | None:
    found = attributes.get(b"charset")
    if found is None and attributes.get(b"http-equiv", b"").lower() == b"content-type":
        charset = _CHARSET.search(attributes.get(b"content", b""))
        found = next((v for v in charset.groups() if v is not None), None) if charset else None
    if found is None:
        return None
    label = found.decode("ascii", "replace")
    return label if is_known(label) else None
