"""HTML and XHTML: read off the tags where these are tidy, else from one parse by Lexbor."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Any

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html import HTMLTree

from webcrawler.documents.document import Document, Refresh, lazy, nothing
from webcrawler.documents.encoding import UTF_8, WINDOWS_1252, Decoded, decode_html, decode_xml
from webcrawler.documents.html_elements import Elements
from webcrawler.documents.html_text import fold, text_of
from webcrawler.documents.language import declared, detected
from webcrawler.documents.markup import find_tags
from webcrawler.documents.markup_text import MarkupText, unescaped
from webcrawler.documents.options import DEFAULTS
from webcrawler.documents.pieces import is_tame, pieces, without_scripts
from webcrawler.documents.tag_kinds import HTML, kind_set
from webcrawler.documents.tags import Tag, Tags
from webcrawler.documents.xhtml import as_html

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawler.items import Link

XHTML = "application/xhtml+xml"

# In these, a byte that looks like "<" need not be one, nor the other way round.
_OTHER_MARKUP = frozenset({"utf-16le", "utf-16be", "iso-2022-jp"})

# resiliparse's search for the main content reads all that is in a block at each of its ancestors.
# Within so many elements, all text is main text.
_TOO_DEEP = ">".join("*" * 128)
# And its time grows with the square of the page. From here on too, all text is main text.
_MAIN_BYTES = 1 << 17

# A tree takes ten times its markup. Up to here the trees of all pieces are kept, since parsing them
# anew for links, text and title would take most of a page's time.
_KEPT_BYTES = 1 << 20

# Below this a parser takes less time than the operations on arrays, however short these are.
_PARSED_BYTES = 1 << 13

_MAX_TITLE_CHARS = 1_000
_PARSED = (
    *("_decoded", "_tags", "_markup_text", "_elements"),
    *("_markup", "_short_markup", "_tree", "_kept_trees"),
)
_ROOT = kind_set(HTML)


class HTMLDocument(Document):
    """A page. Most are read off their tags, see `markup`, and have no tree at all.

    Of the others a hostile or huge one is parsed in pieces, see `pieces`, all others at once.
    """

    def settle(self) -> None:
        for name in _PARSED:
            self.__dict__.pop(name, None)

    @lazy(lambda: Decoded("", WINDOWS_1252, False))
    def _decoded(self) -> Decoded:
        body = self.body
        if len(body) > self.options.max_html_bytes:
            body = body[: self.options.max_html_bytes]
            self.note("truncated")
        is_xml = self.mime == XHTML
        decoded = decode_xml(body, self.charset) if is_xml else decode_html(body, self.charset)
        if not decoded.is_clean:
            self.note("encoding")
        return decoded._replace(text=as_html(decoded.text)) if is_xml else decoded

    @lazy(nothing)
    def _tags(self) -> Tags | None:
        """The tags; None where only a parser can tell them."""
        text, encoding, is_clean = self._decoded
        if self.options.resources or not is_clean or len(self.body) < _PARSED_BYTES:
            return None
        body = self.body[: self.options.max_html_bytes]
        if encoding != UTF_8 or self.mime == XHTML:
            return find_tags(text.encode("utf-8", "replace"))
        return find_tags(body.removeprefix(codecs.BOM_UTF8))

    @lazy(nothing)
    def _markup_text(self) -> MarkupText | None:
        return MarkupText(self._tags) if self._tags is not None else None

    @lazy(bytes)
    def _markup(self) -> bytes:
        """What is parsed, as bytes in whose like only a "<" looks like one."""
        text, encoding, _ = self._decoded
        if self.mime == XHTML or encoding.name in _OTHER_MARKUP:
            return text.encode("utf-8", "replace")
        return self.body[: self.options.max_html_bytes]

    @lazy(bytes)
    def _short_markup(self) -> bytes:
        """What is parsed of a long document, in UTF-8."""
        return without_scripts(self._decoded.text.encode("utf-8", "replace"))

    @lazy(nothing)
    def _tree(self) -> Any:
        """The whole tree; None where the document must be read in pieces."""
        if is_tame(self._markup):
            return HTMLTree.parse(self._decoded.text)
        if is_tame(self._short_markup):
            return HTMLTree.parse(self._short_markup.decode("utf-8", "replace"))
        return None

    @lazy(list)
    def _kept_trees(self) -> list[Any]:
        """The trees of all pieces, where they are few enough to be kept; else none."""
        return [] if len(self._short_markup) > _KEPT_BYTES else list(self._parsed_pieces())

    def _trees(self) -> Iterator[Any]:
        """All trees in order: the one, or those of the pieces."""
        if self._tree is not None:
            yield self._tree
        else:
            yield from self._kept_trees or self._parsed_pieces()

    def _parsed_pieces(self) -> Iterator[Any]:
        for piece in pieces(self._short_markup):
            if piece is None:
                self.note("nested")
            else:
                yield HTMLTree.parse(piece.decode("utf-8", "replace"))

    def _first_tree(self) -> Any:
        return next(self._trees(), None)

    @lazy(lambda: Elements("", DEFAULTS))
    def _elements(self) -> Elements:
        if self._tags is not None:
            elements = Elements(self.url, self.options)
            elements.read_tags(self._tags, self._markup_text if self.options.link_texts else None)
        else:
            elements = self._read(None)
            if elements.has_late_base:
                elements = self._read(elements.base)
        if elements.is_full:
            self.note("truncated")
        return elements

    def _read(self, base: str | None) -> Elements:
        elements = Elements(self.url, self.options, base)
        for tree in self._trees():
            elements.read(tree)
            if elements.has_late_base or elements.is_full:
                break
        return elements

    @lazy(str)
    def encoding(self) -> str:
        return self._decoded.encoding.name

    @lazy(str)
    def base_url(self) -> str:
        return self._elements.resolver.base or self.url

    @lazy(str)
    def title(self) -> str:
        if self._tags is not None:
            return unescaped(self._tags.title[: 16 * _MAX_TITLE_CHARS])[:_MAX_TITLE_CHARS]
        tree = self._first_tree()
        title = tree.title if tree is not None else ""
        if not title and tree is not None:
            # A broken head ends early, and leaves its title to the body.
            node = tree.document.query_selector("title")
            title = node.text if node is not None else ""
        return fold((title or "")[: 4 * _MAX_TITLE_CHARS])[:_MAX_TITLE_CHARS]

    @lazy(str)
    def text(self) -> str:
        limit = self.options.max_text_chars
        found = self._markup_text.body() if self._markup_text is not None else None
        if found is not None:
            if len(found) > limit:
                self.note("truncated")
            return found[:limit]
        texts: list[str] = []
        length = 0
        for tree in self._trees():
            text = fold(text_of(tree))
            if text:
                texts.append(text)
                length += len(text) + 1
            if length > limit + 1:
                self.note("truncated")
                break
        return " ".join(texts)[:limit]

    @lazy(str)
    def main_text(self) -> str:
        is_long = min(len(self._markup), len(self._short_markup)) > _MAIN_BYTES
        if is_long or self._tree is None or self._tree.document.matches(_TOO_DEEP):
            return self.text
        # Without formatting: that of lists costs memory without limit.
        text = extract_plain_text(self._tree, preserve_formatting=False, main_content=True)
        return fold(text)[: self.options.max_text_chars] or self.text

    @lazy(str)
    def language(self) -> str:
        root = self._root()
        attributes = (root.getattr("lang"), root.getattr("xml:lang")) if root is not None else ()
        tag = declared(*attributes, self._elements.language, self.content_language)
        return tag or detected(self.text)

    def _root(self) -> Any:
        """The html element, with its attributes."""
        if self._tags is not None:
            roots = self._tags.opening(_ROOT)
            return Tag(self._tags, int(roots[0])) if roots.size else None
        tree = self._first_tree()
        return tree.document.query_selector("html") if tree is not None else None

    @lazy(list)
    def links(self) -> list[Link]:
        return self._elements.links

    @lazy(list)
    def robots_meta(self) -> list[tuple[str, str]]:
        return self._elements.robots

    @lazy(nothing)
    def canonical(self) -> str | None:
        return self._elements.canonical

    @lazy(nothing)
    def refresh(self) -> Refresh | None:
        found = self._elements.refresh
        return Refresh(*found) if found is not None else None
