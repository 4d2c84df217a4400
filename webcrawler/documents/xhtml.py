"""XHTML as HTML: what the two write differently, rewritten, so that one parser reads both."""

from __future__ import annotations

import re
from html import escape

_VOID = (
    "area|base|basefont|bgsound|br|col|embed|frame|hr|img|input|keygen|link|meta|param|source|track"
    "|wbr"
)
# <script src="x"/> is complete in XML; in HTML the slash means nothing and the rest of the page
# would be the script.
_SELF_CLOSED = re.compile(
    rf"<(?!(?:{_VOID})[\s/])([a-zA-Z][\w:.-]*+)((?:[^<>\"'/]++|\"[^\"<]*+\"|'[^'<]*+'|/(?!>))*+)/>"
)
_CDATA = re.compile(r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.DOTALL)


def as_html(text: str) -> str:
    """The same document for an HTML parser."""
    if "<![CDATA[" in text:
        text = _CDATA.sub(lambda match: escape(match[1], quote=False), text)
    if "/>" in text:
        text = _SELF_CLOSED.sub(r"<\1\2></\1>", text)
    return text
