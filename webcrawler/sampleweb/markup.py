"""HTML and XHTML, as it should be written; `broken.py` writes it as it should not be.

Nothing is escaped because nothing needs it: words are letters, and URLs have no ampersands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .graph import Element

_FEED_TYPES = {"rss": "application/rss+xml", "atom": "application/atom+xml"}


@dataclass(frozen=True, slots=True)
class Sheet:
    """What is to be written: `hrefs` are the elements' URLs as they shall stand there."""

    title: str
    language: str
    paragraphs: Sequence[str]
    elements: Sequence[Element]
    hrefs: Sequence[str]
    base: str = ""
    charset: str | None = "utf-8"
    metas: Sequence[tuple[str, str]] = ()


def html(sheet: Sheet) -> str:
    """A good HTML page."""
    return f'<!DOCTYPE html>\n<html lang="{sheet.language}">\n{_inside(sheet, ">")}</html>\n'


def xhtml(sheet: Sheet) -> str:
    """A good XHTML page; its encoding is said in the XML declaration."""
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN"'
        ' "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">\n'
        f'<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="{sheet.language}">\n'
        f"{_inside(sheet, ' />')}</html>\n"
    )


def write_url(url: str, roll: int, origin: str, directory: str) -> str:
    """One of the ways to write a URL on a page of that origin, relative to that directory."""
    style = roll & 7
    if style == 3:
        return url
    if url.startswith(origin) and url[len(origin)] == "/":
        path = url[len(origin) :]
        if style < 2:
            return path
        if style == 2:
            return _relative(path, directory)
        if style == 6:
            return f"/x/..{path}"
    elif style < 3:
        return url
    else:
        path = url
    if style == 4:
        return f"{path}#part"
    if style == 5:
        return url[5:]  # without "http:"
    if style == 6:
        end = url.index("/", 7)
        return url[:end].upper() + url[end:]
    return f" {path}\n"


def _relative(path: str, directory: str) -> str:
    return "../" * (directory.count("/") - 1) + path[1:] or "./"


def _inside(sheet: Sheet, end: str) -> str:
    return (
        f"<head>\n{_head(sheet, end)}</head>\n<body>\n<h1>{sheet.title}</h1>\n"
        + "".join([f"<p>{text}</p>\n" for text in sheet.paragraphs])
        + "<ul>\n"
        + "".join(
            [
                f"<li>{_in_body(element, href, end)}</li>\n"
                for element, href in zip(sheet.elements, sheet.hrefs, strict=True)
                if element.kind not in ("link", "refresh")
            ]
        )
        + "</ul>\n</body>\n"
    )


def _head(sheet: Sheet, end: str) -> str:
    lines = []
    if sheet.charset:
        if end == ">":
            lines.append(f'<meta charset="{sheet.charset}">')
        else:
            content = f"text/html; charset={sheet.charset}"
            lines.append(f'<meta http-equiv="Content-Type" content="{content}"{end}')
    lines.append(f"<title>{sheet.title}</title>")
    if sheet.base:
        lines.append(f'<base href="{sheet.base}"{end}')
    lines += [f'<meta name="{name}" content="{content}"{end}' for name, content in sheet.metas]
    for element, href in zip(sheet.elements, sheet.hrefs, strict=True):
        if element.kind == "refresh":
            lines.append(f'<meta http-equiv="refresh" content="0; url={href}"{end}')
        elif element.kind == "link":
            kind = _FEED_TYPES.get(element.url.rpartition(".")[2])
            feed = f' type="{kind}"' if kind and element.rel == "alternate" else ""
            lines.append(f'<link rel="{element.rel}"{feed} href="{href}"{end}')
    return "\n".join(lines) + "\n"


def _in_body(element: Element, href: str, end: str) -> str:
    rel = f' rel="{element.rel}"' if element.rel else ""
    if element.kind == "a":
        return f'<a href="{href}"{rel}>{element.text}</a>'
    if element.kind == "image":
        return f'<a href="{href}"{rel}><img src="{href}" alt="{element.text}"{end}</a>'
    if element.kind == "area":
        return f'<map name="map"><area href="{href}"{rel}{end}</map>'
    return f'<iframe src="{href}"></iframe>'
