"""The elements of a page that say something to a crawler, read off its tags or its tree.

These are the hottest loops of a crawl: a page of four thousand tags, some three hundred links. All
elements of interest are found at once, in document order; what links have in common (the same
target, the same base) is computed once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from webcrawler.documents.html_text import fold
from webcrawler.documents.refresh import parse_refresh
from webcrawler.documents.robots_meta import directives
from webcrawler.documents.tag_kinds import AREA, BASE, IFRAME, IMG, LINK, META, A, kind_set
from webcrawler.documents.tags import Tag
from webcrawler.items import Link
from webcrawler.urls import Resolver

if TYPE_CHECKING:
    from webcrawler.documents.markup_text import MarkupText
    from webcrawler.documents.options import Options
    from webcrawler.documents.tags import Tags

_SELECTOR = "[href],meta,frame,iframe"
_WITH_IMAGES = f"{_SELECTOR},img"
_WITH_RESOURCES = f"{_SELECTOR},img,script,source"

_FOLLOWED_RELATIONS = frozenset({"canonical", "alternate", "next", "prev"})
_RESOURCE_RELATIONS = frozenset({"stylesheet", "icon"})

# Schemes that no page is fetched by; recognised before the costlier parsing of the URL.
_SKIPPED_SCHEMES = frozenset(
    {"javascript", "mailto", "data", "tel", "about", "blob", "sms", "callto", "skype", "whatsapp"}
)
_SKIPPED = re.compile(rf"[\0- ]*(?:{'|'.join(sorted(_SKIPPED_SCHEMES))}):", re.IGNORECASE).match
_MAX_HREF = 16_384

# How far above an image its link may be.
_IMAGE_DEPTH = 8

_SRCSET = re.compile(r"[\s,]*+([^\s,]\S*+)([^,]*+)")

# The same for tags. Most links are as plain as this: their attributes need not be read one by one,
# and nothing in their target is to be unescaped.
_WANTED: Final = kind_set(A, AREA, IFRAME, LINK, META)
_WANTED_WITH_IMAGES: Final = kind_set(A, AREA, IFRAME, IMG, LINK, META)
_PLAIN_LINK = re.compile(
    rb"<a(?:[\t\n\f ]++(?:class|title)=\"[^\"]*+\")*+"
    rb"[\t\n\f ]++href=\"([^\"&#\0- ]*+)(?:#[^\"]*+)?+\""
    rb"(?:[\t\n\f ]++(?:class|title)=\"[^\"]*+\")*+[\t\n\f ]*+>"
).match

_UNRESOLVED = ""
_new = tuple.__new__  # a Link in a third of the time that Link(...) takes


class Elements:
    """What was read so far. A document in pieces is read piece by piece into one of these."""

    def __init__(self, url: str, options: Options, base: str | None = None) -> None:
        self.url = url
        self.options = options
        self.base = base
        self.links: list[Link] = []
        self.robots: list[tuple[str, str]] = []
        self.canonical: str | None = None
        self.refresh: tuple[int, str] | None = None
        self.language = ""
        self.has_late_base = False
        self.is_full = False
        self._resolver: Resolver | None = None
        self._resolved: dict[str, str | None] = {}

    @property
    def resolver(self) -> Resolver:
        """Resolves against the base, which is itself relative to the document's URL."""
        if self._resolver is None:
            resolver = Resolver(self.url)
            if self.base is not None:
                base = resolver.resolve(self.base)
                if base is not None and not base.startswith(("data:", "javascript:")):
                    resolver = Resolver(base)
            self._resolver = resolver
        return self._resolver

    def read(self, tree: Any) -> None:
        """Read one tree. Stops, and says so, at the most links or at a base that comes late."""
        options = self.options
        with_texts, max_chars, max_links = (
            options.link_texts,
            options.max_anchor_chars,
            options.max_links,
        )
        if options.resources:
            selector = _WITH_RESOURCES
        else:
            selector = _WITH_IMAGES if with_texts else _SELECTOR
        links, resolved, target = self.links, self._resolved, self._target
        has_base = self.base is not None
        link_node = previous = None
        for node in tree.document.query_selector_all(selector):
            tag = node.tag
            if tag == "a":
                link_node = None
                href = node.getattr("href")
                if not href or (href[0] == "#" and not has_base):
                    continue  # to the page itself
                end = href.find("#")
                if end > 0 and href[end - 1] > " ":
                    href = href[:end]
                url = resolved.get(href, _UNRESOLVED)
                if url == _UNRESOLVED:
                    url = target(href)
                if url is None:
                    continue
                text = ""
                if with_texts:
                    text = " ".join(node.text.split())
                    if not text:
                        # The last resort; an image's text takes its place.
                        text = fold(node.getattr("title", "")[: 2 * max_chars])
                        is_borrowed = True
                    else:
                        is_borrowed = False
                    if len(text) > max_chars:
                        text = text[:max_chars]
                    # An image inside it will add to its text.
                    link_node, link_at = node, len(links)
                rel = node.getattr("rel")
                if rel:
                    rel = " ".join(rel.lower().split())
                links.append(_new(Link, (url, text, rel or "", "a")))
                if len(links) >= max_links:
                    self.is_full = True
                    return
                continue
            if node is previous:
                continue  # found by two parts of the selector
            previous = node
            if tag == "img":
                if link_node is not None and _is_within(node, link_node):
                    alt = fold(node.getattr("alt", "")[: 2 * max_chars])
                    if alt:
                        self._add_alt(link_at, alt, is_borrowed)
                        is_borrowed = False
                if options.resources:
                    self._add_resource(node, tag, node.getattr("alt", ""))
            elif tag == "meta":
                self._read_meta(node)
            elif tag == "link":
                self._read_link(node)
            elif tag == "base":
                if not has_base:
                    self.base = node.getattr("href")
                    has_base = True
                    if self._resolver is not None:
                        self.has_late_base = True
                        return
            elif tag == "area":
                self._add(node, node.getattr("href"), tag, node.getattr("alt"))
            elif tag in ("iframe", "frame"):
                self._add(node, node.getattr("src"), tag, node.getattr("title"))
            elif options.resources and tag in ("script", "source"):
                self._add_resource(node, tag, "")
            if len(links) >= max_links:
                self.is_full = True
                return

    def read_tags(self, tags: Tags, text: MarkupText | None) -> None:
        """Read the tags of a page; `text` where the texts of links are wanted."""
        options = self.options
        max_chars, max_links = options.max_anchor_chars, options.max_links
        for base in tags.tags("base", BASE):
            self.base = base.getattr("href")
            if self.base is not None:
                break
        has_base = self.base is not None
        numbers = tags.opening(_WANTED if text is None else _WANTED_WITH_IMAGES)
        if text is not None:
            anchors = np.flatnonzero(tags.kinds == A)  # each opening one with its closing one
            closing = iter(anchors[1::2].tolist())
            begins, ends = text.places[anchors[0::2]].tolist(), text.places[anchors[1::2]].tolist()
            places = zip(begins, ends, strict=True)
        markup, links, plain_link = tags.markup, self.links, _PLAIN_LINK
        targets: dict[bytes, str | None] = {}
        link_end = -1
        for number, kind, start in zip(
            numbers.tolist(),
            tags.kinds[numbers].tolist(),
            tags.starts[numbers].tolist(),
            strict=True,
        ):
            if kind == A:
                if text is not None:
                    begin, end = next(places)
                    link_end = next(closing)
                plain = plain_link(markup, start)
                if plain is not None:
                    href = plain[1]
                    if not href and not has_base:
                        link_end = -1
                        continue  # to the page itself
                    url = targets.get(href, _UNRESOLVED)
                    if url == _UNRESOLVED:
                        url = targets[href] = self._target(href.decode("utf-8", "replace"))
                    rel = ""
                else:
                    tag = Tag(tags, number)
                    url, rel = self._link_target(tag, has_base)
                if url is None:
                    link_end = -1
                    continue
                words = ""
                if text is not None:
                    words = text.between(begin, end)
                    is_borrowed = not words
                    if is_borrowed:
                        title = Tag(tags, number).getattr("title") or ""
                        words = fold(title[: 2 * max_chars])
                    if len(words) > max_chars:
                        words = words[:max_chars]
                link_at = len(links)
                links.append(_new(Link, (url, words, rel, "a")))
            elif kind == IMG:
                if number < link_end:
                    alt = fold((Tag(tags, number).getattr("alt") or "")[: 2 * max_chars])
                    if alt:
                        self._add_alt(link_at, alt, is_borrowed)
                        is_borrowed = False
            else:
                self._read_tag(Tag(tags, number))
            if len(links) >= max_links:
                self.is_full = True
                return

    def _read_tag(self, tag: Tag) -> None:
        name = tag.tag
        if name == "meta":
            self._read_meta(tag)
        elif name == "link":
            self._read_link(tag)
        elif name == "area":
            self._add(tag, tag.getattr("href"), name, tag.getattr("alt"))
        elif name == "iframe":
            self._add(tag, tag.getattr("src"), name, tag.getattr("title"))

    def _link_target(self, tag: Tag, has_base: bool) -> tuple[str | None, str]:
        """The URL and the rel attribute of a link; None for what is no link."""
        href = tag.getattr("href")
        if not href or (href[0] == "#" and not has_base):
            return None, ""
        href = _without_fragment(href)
        url = self._resolved.get(href, _UNRESOLVED)
        if url == _UNRESOLVED:
            url = self._target(href)
        return url, " ".join((tag.getattr("rel") or "").lower().split())

    def _add_alt(self, at: int, alt: str, is_borrowed: bool) -> None:
        """An image's text becomes part of its link's; it takes the place of a borrowed one."""
        link = self.links[at]
        alt = alt if is_borrowed or not link.text else f"{link.text} {alt}"
        self.links[at] = link._replace(text=alt[: self.options.max_anchor_chars])

    def _target(self, href: str) -> str | None:
        """The URL of a link, remembered; None for what is no link."""
        url = None
        if len(href) <= _MAX_HREF and not _SKIPPED(href):
            url = self.resolver.resolve(href)
            if url is not None and not url.startswith("http"):
                url = url if url.partition(":")[0] not in _SKIPPED_SCHEMES else None
            if url == self.url:
                url = None
        self._resolved[href] = url
        return url

    def _add(self, node: Any, href: str | None, kind: str, text: str | None) -> None:
        if not href:
            return
        url = self._target(_without_fragment(href))
        if url is None:
            return
        text = fold(text) if text and self.options.link_texts else ""
        rel = fold(node.getattr("rel", "").lower())
        self.links.append(Link(url, text[: self.options.max_anchor_chars], rel, kind))

    def _add_resource(self, node: Any, kind: str, text: str) -> None:
        self._add(node, node.getattr("src"), kind, text)
        srcset = node.getattr("srcset")
        if srcset:
            for match in _SRCSET.finditer(srcset[: self.options.max_links * 64]):
                if len(self.links) >= self.options.max_links:
                    return
                self._add(node, match[1].rstrip(","), kind, text)

    def _read_link(self, node: Any) -> None:
        relations = node.getattr("rel", "").lower().split()
        href = node.getattr("href")
        if not href or not relations:
            return
        if "canonical" in relations and self.canonical is None:
            # The own URL is no link, but is a canonical URL.
            self.canonical = self._target(_without_fragment(href)) or self.resolver.resolve(href)
        wanted = _FOLLOWED_RELATIONS
        if "stylesheet" in relations or self.options.resources:
            wanted = _RESOURCE_RELATIONS if self.options.resources else frozenset()
            if self.options.resources and "stylesheet" not in relations:
                wanted = wanted | _FOLLOWED_RELATIONS
        if not wanted.isdisjoint(relations):
            self._add(node, href, "link", node.getattr("title"))

    def _read_meta(self, node: Any) -> None:
        content = node.getattr("content")
        if content is None:
            return
        equivalent = node.getattr("http-equiv")
        if equivalent:
            equivalent = equivalent.strip().lower()
            if equivalent == "refresh" and self.refresh is None:
                self._read_refresh(node, content)
            elif equivalent == "content-language" and not self.language:
                self.language = content[:64]
        found = directives(node.getattr("name"), content)
        if found is not None:
            self.robots.append(found)

    def _read_refresh(self, node: Any, content: str) -> None:
        parsed = parse_refresh(content)
        if parsed is None:
            return
        parent = node.parent
        if parent is not None and parent.tag == "noscript":
            return  # meant for readers without scripts, who would be sent to an excuse
        seconds, href = parsed
        if len(href) > _MAX_HREF:
            return
        url = self.resolver.resolve(href) if href else self.url
        if url is None or url.partition(":")[0] in _SKIPPED_SCHEMES:
            return
        self.refresh = (seconds, url)
        if url != self.url:
            self.links.append(Link(url, "", "", "refresh"))


def _without_fragment(href: str) -> str:
    """The link without its fragment, unless that protects a space from being stripped."""
    end = href.find("#")
    return href[:end] if end == 0 or (end > 0 and href[end - 1] > " ") else href


def _is_within(node: Any, ancestor: Any) -> bool:
    parent = node.parent
    for _ in range(_IMAGE_DEPTH):
        if parent is None:
            return False
        if parent == ancestor:
            return True
        parent = parent.parent
    return False
