"""Feeds: RSS of all versions, and Atom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webcrawler.documents.document import Document, lazy
from webcrawler.documents.encoding import WINDOWS_1252, Decoded, decode_xml
from webcrawler.documents.html import HTMLDocument
from webcrawler.documents.html_text import fold
from webcrawler.documents.language import declared, detected
from webcrawler.documents.xml import elements, local_name
from webcrawler.items import Link
from webcrawler.urls import Resolver

if TYPE_CHECKING:
    from webcrawler.documents.options import Options

_FEED_NAMES = frozenset({"rss", "feed", "rdf", "channel"})
_ENTRY_NAMES = frozenset({"item", "entry"})
_PROSE_NAMES = frozenset({"description", "summary", "content", "encoded", "subtitle"})
_NAMES = _FEED_NAMES | _ENTRY_NAMES | _PROSE_NAMES | {"title", "link", "guid", "language"}
# These are read as a whole, with the markup that Atom allows in them.
_KEPT_NAMES = _PROSE_NAMES | {"title"}

# Links of a feed that lead to no page: to itself, to services, to media.
_OTHER_RELATIONS = frozenset(
    {"self", "edit", "edit-media", "hub", "enclosure", "license", "search", "service", "icon"}
)
_XML = "{http://www.w3.org/XML/1998/namespace}"
_MAX_URL_CHARS = 16_384


class FeedDocument(Document):
    """A feed. Its links are those of its entries, their titles the anchor texts, and its site's."""

    @lazy(lambda: Decoded("", WINDOWS_1252, False))
    def _decoded(self) -> Decoded:
        body = self.body
        if len(body) > self.options.max_feed_bytes:
            body = body[: self.options.max_feed_bytes]
            self.note("truncated")
        decoded = decode_xml(body, self.charset)
        if not decoded.is_clean:
            self.note("encoding")
        return decoded

    @lazy(lambda: _Reader(""))
    def _reader(self) -> _Reader:
        reader = _Reader(self.url)
        data = self._decoded.text.encode("utf-8", "replace")
        for event, element in elements(data, _NAMES, keep=_KEPT_NAMES):
            reader.read(event, element)
            if len(reader.links) >= self.options.max_links:
                self.note("truncated")
                break
        reader.finish_entry()
        if data and not reader.has_feed:
            self.note("unparseable")
        return reader

    @lazy(str)
    def encoding(self) -> str:
        return self._decoded.encoding.name

    @lazy(str)
    def base_url(self) -> str:
        return self._reader.resolver.base or self.url

    @lazy(str)
    def title(self) -> str:
        return _plain(self._reader.title, self.options)

    @lazy(list)
    def links(self) -> list[Link]:
        chars = self.options.max_anchor_chars if self.options.link_texts else 0
        return [
            Link(url, fold(text[: 2 * chars])[:chars], rel, "feed")
            for url, text, rel in self._reader.links[: self.options.max_links]
            if url != self.url
        ]

    @lazy(str)
    def text(self) -> str:
        limit = self.options.max_text_chars
        texts = [self.title]
        length = 0
        for prose in self._reader.prose:
            text = _plain(prose, self.options)
            texts.append(text)
            length += len(text) + 1
            if length > limit:
                self.note("truncated")
                break
        return " ".join(text for text in texts if text)[:limit]

    @lazy(str)
    def language(self) -> str:
        return declared(self._reader.language, self.content_language) or detected(self.text)


class _Reader:
    """What has been read of a feed; `title` and `prose` may hold markup."""

    def __init__(self, url: str) -> None:
        self.resolver = Resolver(url)
        self.title = ""
        self.language = ""
        self.links: list[tuple[str, str, str]] = []
        self.prose: list[str] = []
        self.has_feed = False
        self._is_in_entry = False
        self._entry_title = ""
        self._entry_links: list[tuple[str, str]] = []
        self._entry_identity = ""

    def read(self, event: str, element: Any) -> None:
        name = local_name(element)
        if event == "start":
            if name in _FEED_NAMES:
                self._begin_feed(element)
            elif name in _ENTRY_NAMES:
                self.finish_entry()
                self._is_in_entry = True
            return
        if name in _ENTRY_NAMES:
            self.finish_entry()
        elif name == "link":
            self._read_link(element)
        elif name == "guid" and self._is_in_entry:
            if element.get("isPermaLink", "true").lower() != "false":
                self._entry_identity = (element.text or "").strip()
        elif name == "language":
            self.language = self.language or (element.text or "")
        elif name in _KEPT_NAMES:
            self._read_prose(name, element)

    def finish_entry(self) -> None:
        """Keep what was read of the entry that ends here."""
        links = self._entry_links
        if not links and self._entry_identity.startswith("http"):
            links = [(self._entry_identity, "")]
        for href, relation in links:
            self._add(href, fold(self._entry_title), relation)
        self._is_in_entry = False
        self._entry_title = self._entry_identity = ""
        self._entry_links = []

    def _begin_feed(self, element: Any) -> None:
        self.has_feed = True
        base = element.get(f"{_XML}base")
        if base and not self.links and len(base) <= _MAX_URL_CHARS:
            self.resolver = Resolver(self.resolver.resolve(base) or self.resolver.base)
        self.language = self.language or element.get(f"{_XML}lang") or ""

    def _read_link(self, element: Any) -> None:
        href = (element.get("href") or element.text or "").strip()
        relation = (element.get("rel") or "").strip().lower()
        if not href or relation in _OTHER_RELATIONS:
            return
        if self._is_in_entry:
            self._entry_links.append((href, relation))
        else:
            self._add(href, self.title, relation)

    def _read_prose(self, name: str, element: Any) -> None:
        text = "".join(element.itertext()).strip()
        if name == "title":
            parent = element.getparent()
            if self._is_in_entry:
                self._entry_title = self._entry_title or text
            elif parent is None or local_name(parent) not in _FEED_NAMES:
                return  # an image has a title too
            else:
                self.title = self.title or text
                return
        self.prose.append(text)

    def _add(self, href: str, text: str, relation: str) -> None:
        url = self.resolver.resolve(href) if len(href) <= _MAX_URL_CHARS else None
        if url is not None and url.startswith("http"):
            self.links.append((url, text, relation))


def _plain(prose: str, options: Options) -> str:
    """The text of what may be HTML, as most feeds escape it."""
    if "<" not in prose and "&" not in prose:
        return fold(prose)
    return HTMLDocument(
        prose.encode("utf-8", "replace"), "", "text/html", "utf-8", options=options
    ).text
