"""XML from strangers: no entities, no DTD, no network, no depth, and mended where it is broken.

Sitemaps and feeds are often not well-formed: bare ampersands in URLs, HTML's entities, control
characters, an end that is missing. These are mended in the text, and the parser recovers from the
rest. Since every reference that is not one of XML's five becomes plain characters before the
parser sees it, there is no entity left that could be expanded.
"""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

from lxml import etree  # type: ignore[import-untyped]  # lxml has no type information

if TYPE_CHECKING:
    from collections.abc import Iterator

# Sections whose ampersands are meant, and all other ampersands.
_AMPERSAND = re.compile(
    rb"<!\[CDATA\[.*?(?:\]\]>|\Z)|&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});)"
    rb"(?:([a-zA-Z][a-zA-Z0-9]{1,31};))?",
    re.DOTALL,
)
_PROLOG = re.compile(
    rb"(?:\s++|<\?.*?\?>|<!--.*?-->)*+<!DOCTYPE[^\[>]*+(?:\[.*?\]\s*+)?>", re.DOTALL | re.IGNORECASE
)
_DECLARATION = re.compile(rb"\s*<\?xml[^>]*\?>")
# Characters that XML 1.0 does not have, even escaped.
_FORBIDDEN = bytes(set(range(32)) - set(b"\t\n\r"))
_FORBIDDEN_REFERENCE = re.compile(
    rb"&#(?:0*(?:[0-8]|1[124-9]|2[0-9]|3[01])|x0*(?:[0-8bcef]|1[0-9a-f]));", re.I
)

_STEP = 1 << 16


def elements(
    data: bytes, names: frozenset[str], keep: frozenset[str] = frozenset()
) -> Iterator[tuple[str, etree._Element]]:
    """(event, element) for "start" and "end" of the elements with these local names.

    `data` is UTF-8. After its "end" an element is forgotten, and its text with it, except within
    elements whose names are in `keep`, until those end. Ends where the markup cannot be understood
    any more; never raises for what is in it.
    """
    parser = etree.XMLPullParser(
        ("start", "end"),
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=False,
        recover=True,
        remove_comments=True,
        remove_pis=True,
    )
    data = mended(data)
    kept = 0
    for start in range(0, len(data) + _STEP, _STEP):
        try:
            if start < len(data):
                parser.feed(data[start : start + _STEP])
            else:
                parser.close()
        except etree.XMLSyntaxError:
            start = len(data)  # what was understood before is still read
        for event, element in parser.read_events():
            name = local_name(element)
            if event == "start":
                kept += name in keep
                if name in names:
                    yield event, element
                continue
            kept -= name in keep
            if name in names:
                yield event, element
            if not kept:
                _forget(element)
        if start >= len(data):
            return


def local_name(element: etree._Element) -> str:
    """The name without its namespace, lower case; "" for what has no name."""
    tag = element.tag
    return tag.rpartition("}")[2].lower() if isinstance(tag, str) else ""


def mended(data: bytes) -> bytes:
    """The same XML without a DTD, without references to entities, and with legal characters."""
    data = data.translate(None, _FORBIDDEN)
    declaration = _DECLARATION.match(data)
    if declaration is not None:
        data = data[declaration.end() :]
    prolog = _PROLOG.match(data)
    if prolog is not None:
        data = data[prolog.end() :]
    if b"&" in data:
        data = _AMPERSAND.sub(_mended_ampersand, data)
        data = _FORBIDDEN_REFERENCE.sub(b" ", data)
    return data.lstrip()


def _mended_ampersand(match: re.Match[bytes]) -> bytes:
    whole = match[0]
    if whole.startswith(b"<"):
        return whole
    if match[1]:
        text = whole.decode("ascii")
        meant = unescape(text)
        if meant != text:
            return meant.encode("utf-8", "replace").replace(b"&", b"&amp;").replace(b"<", b"&lt;")
    return b"&amp;" + whole[1:]


def _forget(element: etree._Element) -> None:
    """Free an element that was read, and those before it."""
    element.clear(keep_tail=True)
    parent = element.getparent()
    if parent is not None:
        while element.getprevious() is not None:
            del parent[0]
