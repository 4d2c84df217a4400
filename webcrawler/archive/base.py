"""A BASE tag for a page that is to be read from a local file: its relative links work again.

The page's bytes are not parsed into a tree and written out again, only read as browsers read
tags, as far as needed to find the place, and left as they are everywhere else.
"""

from __future__ import annotations

import re
from html import escape, unescape
from typing import NamedTuple

from webcrawler.urls import normalize

# A comment, a declaration or end tag, or a start tag with its name and attributes. Possessive, and
# what is not closed reaches to the end: hostile pages cost one pass, as honest ones do.
_TOKEN = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))"
    r"|<[!?/][^>]*+>?"
    r"""|<([a-zA-Z][^\s/>]*+)((?:[^>"'=]++|=\s*+(?:"[^"]*+"|'[^']*+')|=|["'])*+)(?:>|\Z)""",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(
    r"""[\s/]*+([^\s/>][^\s/>=]*+)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>]*+)))?+"""
)
_SPACE = re.compile(r"\s*+")
# Elements whose content is text to the parser, whatever it looks like.
_TEXT_ONLY = frozenset(
    {"script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes"}
)
_WIDE = ("utf-16", "utf-32", "utf16", "utf32", "ucs-2", "ucs-4", "unicode")
_BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)


def with_base(html: bytes, url: str, encoding: str = "utf-8") -> bytes:
    """The page with a BASE element that points to its URL.

    A page that has one keeps it, made absolute where it was relative. Never raises.
    """
    mark, encoding = _byte_order_mark(html, encoding)
    body = html[len(mark) :]
    if not encoding.startswith(_WIDE):
        # In every other encoding of the web tags are ASCII: bytes are read, and kept, one by one.
        return mark + _text_with_base(body.decode("latin-1"), url).encode("latin-1")
    if encoding in ("utf-16", "utf16", "unicode", "ucs-2"):
        encoding = "utf-16-le"  # what browsers take it for
    try:
        return mark + _text_with_base(body.decode(encoding), url).encode(encoding)
    except (LookupError, UnicodeError):
        return html


def _byte_order_mark(html: bytes, encoding: str) -> tuple[bytes, str]:
    for mark, name in _BYTE_ORDER_MARKS:
        if html.startswith(mark):
            return mark, name
    return b"", encoding.strip().lower().replace("_", "-")


def _text_with_base(html: str, url: str) -> str:
    found = _find(html)
    if found.href is not None:
        # As browsers: a base that is no address, or none to load from, counts as the page's own.
        absolute = normalize(found.href, url)
        if absolute is None or absolute.startswith(("data:", "javascript:")):
            absolute = url
        if absolute == found.href:
            return html
        return f'{html[: found.start]}href="{_attribute(absolute)}"{html[found.end :]}'
    tag = f'<base href="{_attribute(url)}">'
    place = found.start
    if not found.has_head:
        tag = f"<head>{tag}</head>"
    else:
        space = _SPACE.match(html, place)
        meta = _TOKEN.match(html, space.end() if space else place)
        if meta and (meta[1] or "").lower() == "meta" and "charset" in meta[2].lower():
            # The encoding must be said within a page's first 1024 bytes; URLs can be long.
            place = meta.end()
    return f"{html[:place]}{tag}{html[place:]}"


class _Found(NamedTuple):
    """The first BASE element's href attribute and where it stands; or the place for a new one."""

    start: int
    end: int
    href: str | None
    has_head: bool


def _find(html: str) -> _Found:
    may_have_base = "<base" in html.lower()
    place: int | None = None  # behind the head's tag
    behind_declarations = at = 0
    has_content = False
    while (token := _TOKEN.search(html, at)) is not None:
        if not token[0].endswith(("-->", "--!>") if token[0].startswith("<!--") else ">"):
            break  # never closed: browsers drop it, and with it the rest of the page
        at = token.end()
        name = (token[1] or "").lower()
        if place is None and not has_content:
            if name == "head":
                place = at
            elif name == "html" or token[0].startswith("<!"):
                behind_declarations = at
            elif name:
                has_content = True
        if not may_have_base and (place is not None or has_content):
            break
        if name == "base":
            for attribute in _ATTRIBUTE.finditer(html, token.start(2), token.end(2)):
                if attribute[1].lower() == "href":
                    value = attribute[2] or attribute[3] or attribute[4] or ""
                    return _Found(
                        attribute.start(1), attribute.end(), unescape(value).strip(), True
                    )
        if name in _TEXT_ONLY:
            close = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(html, at)
            if close is None:
                break
            at = close.start()
    if place is not None:
        return _Found(place, place, None, True)
    return _Found(behind_declarations, behind_declarations, None, False)


def _attribute(url: str) -> str:
    return escape(url.encode("ascii", "xmlcharrefreplace").decode("ascii"))
