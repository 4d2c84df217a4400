"""Plain text, and the URLs that are written in it."""

from __future__ import annotations

import re

from webcrawler.documents.document import Document, lazy
from webcrawler.documents.encoding import WINDOWS_1252, Decoded, decode_text
from webcrawler.documents.html_text import fold
from webcrawler.documents.language import declared, detected
from webcrawler.items import Link
from webcrawler.urls import Resolver

_URL = re.compile(r"\bhttps?://[^\s<>\"'`{}|\\^\x00-\x1f]{1,2100}", re.IGNORECASE)
_TRAILING = ".,;:!?*_"
_MAX_TRIMS = 8
_MAX_URL_CHARS = 2_000
_BRACKETS = (("(", ")"), ("[", "]"))


class TextDocument(Document):
    """A text. Its links are the http(s) URLs that stand in it, without the sentence's marks."""

    @lazy(lambda: Decoded("", WINDOWS_1252, False))
    def _decoded(self) -> Decoded:
        body = self.body
        if len(body) > self.options.max_text_bytes:
            body = body[: self.options.max_text_bytes]
            self.note("truncated")
        decoded = decode_text(body, self.charset)
        if not decoded.is_clean:
            self.note("encoding")
        return decoded

    @lazy(str)
    def encoding(self) -> str:
        return self._decoded.encoding.name

    @lazy(str)
    def text(self) -> str:
        text = fold(self._decoded.text)
        if len(text) > self.options.max_text_chars:
            self.note("truncated")
        return text[: self.options.max_text_chars]

    @lazy(str)
    def language(self) -> str:
        return declared(self.content_language) or detected(self.text)

    @lazy(list)
    def links(self) -> list[Link]:
        links = links_in(self._decoded.text, self.url, "text", self.options.max_links)
        if len(links) >= self.options.max_links:
            self.note("truncated")
        return links


def links_in(text: str, own_url: str, kind: str, limit: int) -> list[Link]:
    """The URLs written in a text, as links."""
    resolver = Resolver()
    links: list[Link] = []
    if "://" not in text:
        return links
    for match in _URL.finditer(text):
        if len(match[0]) > _MAX_URL_CHARS:
            continue  # cut off by the expression, or no URL at all
        url = resolver.resolve(_trimmed(match[0]))
        if url is not None and url != own_url:
            links.append(Link(url, "", "", kind))
            if len(links) >= limit:
                break
    return links


def _trimmed(url: str) -> str:
    """Without the marks of the sentence that the URL ends, or the bracket it stands in."""
    for _ in range(_MAX_TRIMS):
        url = url.rstrip(_TRAILING)
        for opening, closing in _BRACKETS:
            if url.endswith(closing) and url.count(closing) > url.count(opening):
                url = url[:-1]
                break
        else:
            break
    return url
