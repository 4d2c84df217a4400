"""Robots meta tags without a parse of the page: a prescan, and a reading of the meta tags.

Most pages have no such tag, and the prescan finds that out in microseconds. On the others the
meta tags are read where a browser would see tags: not inside comments, scripts, styles,
templates, titles and the like. Inside noscript they count: a crawler that runs no scripts sees
what is there. They count after the head, too: a stray element closes the head of many a page
before its author meant to, and who wrote noindex anywhere meant it.
"""

from __future__ import annotations

import codecs
import re
from html import unescape

SCAN_LIMIT = 64 * 1024
"""Bytes of a page in which robots meta tags are looked for."""
_PAIRS_LIMIT = 500
_ATTRIBUTES_LIMIT = 50
_CONTENT_LIMIT = 4_096
_TAG_LIMIT = 8_192

_HIDING = (
    "script",
    "style",
    "template",
    "title",
    "textarea",
    "xmp",
    "iframe",
    "noembed",
    "noframes",
)
# What can hide or hold a meta tag. Possessive, so that nothing is tried twice.
_OPENING = re.compile(
    r"<(?:(!--)|(meta)(?=[\s/>])|"
    rf"({'|'.join(_HIDING)})(?=[\s/>]))",
    re.IGNORECASE,
)
_CLOSING = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _HIDING}
_COMMENT_END = re.compile(r"--!?>")
_ATTRIBUTE = re.compile(
    r"""[\s/]*+([^\s/>][^\s/>=]*+)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"'][^\s>]*+)?+))?+"""
)
_META = re.compile(rb"<meta[\s/]", re.IGNORECASE)
_META_IN_TEXT = re.compile(r"<meta[\s/>]", re.IGNORECASE)
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def may_have_meta(body: bytes, agent: str = "") -> bool:
    """Whether the page may hold a meta tag that speaks to crawlers; False is certain.

    (Certain but for a name hidden in character references, which nobody writes.)
    """
    if b"\0" in body[:64] or body[:2] in _UTF16_MARKS:
        return True  # UTF-16: its words cannot be found in the bytes.
    tags = [tag.start() for tag in _META.finditer(body, 0, SCAN_LIMIT)]
    if not tags:
        return False
    head = body[tags[0] : min(tags[-1] + _TAG_LIMIT, SCAN_LIMIT)].lower()
    name = agent.lower().encode()
    return _has_value(head, b"robots") or (name not in (b"", b"robots") and _has_value(head, name))


def meta_pairs(body: bytes, encoding: str = "utf-8") -> list[tuple[str, str]]:
    """The (name, content) pairs of the meta tags near the beginning of a page, in order.

    `encoding` is the page's, as found out elsewhere; one that is not known is read as UTF-8.
    """
    text = _text(body[:SCAN_LIMIT], encoding)
    pairs: list[tuple[str, str]] = []
    # Nothing after the last meta tag can matter, and that is most of a page.
    last = max((tag.end() for tag in _META_IN_TEXT.finditer(text)), default=0)
    position = 0
    while len(pairs) < _PAIRS_LIMIT:
        opening = _OPENING.search(text, position, last)
        if opening is None:
            break
        position = opening.end()
        if opening[1]:
            # "<!-->" and "<!--->" are whole comments.
            end = _COMMENT_END.search(text, position - 2)
            if end is None:
                break
            position = end.end()
        elif opening[2]:
            attributes, position = _attributes(text, position)
            name, content = attributes.get("name"), attributes.get("content")
            if name and content is not None:
                pairs.append((unescape(name), unescape(content[:_CONTENT_LIMIT])))
        else:
            end = _CLOSING[opening[3].lower()].search(text, position)
            if end is None:
                break
            position = end.end()
    return pairs


def _has_value(head: bytes, word: bytes) -> bool:
    """Whether the word stands at the beginning of an attribute's value."""
    position = head.find(word)
    while position >= 0:
        before = head[max(0, position - 32) : position].rstrip(b"\"' \t\r\n\f")
        if not before or before.endswith(b"="):
            return True
        position = head.find(word, position + len(word))
    return False


def _attributes(text: str, position: int) -> tuple[dict[str, str], int]:
    attributes: dict[str, str] = {}
    for _ in range(_ATTRIBUTES_LIMIT):
        match = _ATTRIBUTE.match(text, position)
        if match is None:
            break
        position = match.end()
        value = match[2] or match[3] or match[4] or ""
        attributes.setdefault(match[1].lower(), value)
    return attributes, position


def _text(head: bytes, encoding: str) -> str:
    if head.startswith(_UTF16_MARKS):
        encoding = "utf-16"
    try:
        # Python's codecs for host names take quadratic time, and no page is written in them.
        if codecs.lookup(encoding).name not in ("punycode", "idna"):
            return head.decode(encoding, "replace")
    except (LookupError, ValueError):
        pass
    return head.decode("utf-8", "replace")
