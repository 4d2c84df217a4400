"""HTML as it is found in the wild: wrong, but a browser finds every link of it.

Where a page names a path below /phantom/, that is no link: a crawler that asks for one has read a
comment, a script or a second attribute that browsers ignore.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .markup import html

if TYPE_CHECKING:
    from collections.abc import Callable

    from .markup import Sheet

PHANTOM = "/phantom/"

_CLOSING = re.compile(r"</(?:p|li|ul|body|html|map)>\n?")
_FRAME = re.compile(r"<!DOCTYPE html>\n|</?(?:html|head|body)[^>]*>\n")
_TAG = re.compile(r"</?[a-z1-6]+")
_ATTRIBUTE = re.compile(r' (href|src|rel)="([^"\s]+)"')
_ANCHOR = re.compile(r'<a href="([^"]*)"')


def unclosed(page: str) -> str:
    """End tags left out, also where they must not be."""
    return _CLOSING.sub("", page)


def shouting(page: str) -> str:
    """Tags in capitals, attributes without quotes."""
    page = _TAG.sub(lambda match: match[0].upper(), page)
    return _ATTRIBUTE.sub(lambda match: f" {match[1].upper()}={match[2]}", page)


def misnested(page: str) -> str:
    """Elements that overlap, and end tags of elements that never began."""
    page = page.replace("<p>", "<p><b>wrongly <i>nested</b></i></td></font> ")
    return page.replace("</p>", "<div></p></div>")


def dirty(page: str) -> str:
    """Zero bytes, bare angle brackets and ampersands, entities that do not exist."""
    return page.replace("<p>", "<p>3 < 4 & \0 &nosuch; &#x110000; \x1b ")


def bare(page: str) -> str:
    """Nothing but what is shown: no document type, no html, head and body."""
    return _FRAME.sub("", page)


def decoys(page: str) -> str:
    """Things that look like links and are none; a comment that never ends."""
    page = _ANCHOR.sub(rf'<a href="\1" href="{PHANTOM}second.html"', page)
    return page.replace(
        "</h1>",
        f'</h1><!-- <a href="{PHANTOM}comment.html">no</a> -->\n'
        f"<script>var a = '<a href=\"{PHANTOM}script.html\">';</script>\n"
        f'<textarea><a href="{PHANTOM}textarea.html">no</a></textarea>\n',
    ).replace("</body>", f'<!-- <a href="{PHANTOM}unclosed.html">no</a> </body>')


def glued(page: str) -> str:
    """Attributes without a space between them, in single quotes, over several lines."""
    return _ANCHOR.sub(r"<a\n\n title='x'class=y href\n=\n'\1'", page)


VARIANTS: tuple[Callable[[str], str], ...] = (
    unclosed,
    shouting,
    misnested,
    dirty,
    bare,
    decoys,
    glued,
)


def broken_html(sheet: Sheet, turn: int) -> str:
    """The page, broken in one of the ways."""
    return VARIANTS[turn % len(VARIANTS)](html(sheet))
