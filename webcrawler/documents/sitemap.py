"""Sitemaps and sitemap indexes: XML or a list of lines, plain or compressed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from webcrawler.documents.document import Document, lazy
from webcrawler.documents.encoding import WINDOWS_1252, Decoded, decode_xml
from webcrawler.documents.inflate import GZIP_MAGIC, inflate
from webcrawler.documents.xml import elements, local_name
from webcrawler.items import Link
from webcrawler.urls import Resolver

if TYPE_CHECKING:
    from collections.abc import Iterator

_ENTRY_NAMES = frozenset({"url", "sitemap"})
_FIELD_NAMES = frozenset({"loc", "lastmod", "priority", "changefreq"})
_NAMES = _ENTRY_NAMES | _FIELD_NAMES

# A body compressed for transport may be a compressed file; a third layer is a bomb.
_MAX_LAYERS = 2
_MAX_URL_CHARS = 16_384


class SitemapEntry(NamedTuple):
    """One URL of a sitemap. `is_index`: it is itself a sitemap. What is not said is None or ""."""

    url: str
    lastmod: datetime | None = None
    priority: float | None = None
    changefreq: str = ""
    is_index: bool = False


class SitemapDocument(Document):
    """A sitemap. Its links are its entries, in order, in the XML or as far as it can be read."""

    @lazy(lambda: Decoded("", WINDOWS_1252, False))
    def _decoded(self) -> Decoded:
        data, limit = self.body, self.options.max_sitemap_bytes
        for _ in range(_MAX_LAYERS):
            if not data.startswith(GZIP_MAGIC):
                break
            data, is_whole = inflate(data, limit)
            if not is_whole:
                self.note("truncated")
        if data.startswith(GZIP_MAGIC):
            self.note("nested")
            data = b""
        if len(data) > limit:
            data = data[:limit]
            self.note("truncated")
        decoded = decode_xml(data, self.charset)
        if not decoded.is_clean:
            self.note("encoding")
        return decoded

    @lazy(str)
    def encoding(self) -> str:
        return self._decoded.encoding.name

    @lazy(list)
    def entries(self) -> list[SitemapEntry]:
        """What the sitemap lists, each with what it says about it; what is no URL is left out."""
        text = self._decoded.text
        is_xml = text.lstrip()[:1] == "<"
        found: list[SitemapEntry] = []
        for entry in self._in_xml(text) if is_xml else self._in_lines(text):
            if len(found) >= self.options.max_sitemap_urls:
                self.note("truncated")
                break
            found.append(entry)
        if text and not found:
            self.note("unparseable")
        return found

    @lazy(list)
    def links(self) -> list[Link]:
        links = [Link(entry.url, "", "", "sitemap") for entry in self.entries]
        return links[: self.options.max_links]

    def _in_lines(self, text: str) -> Iterator[SitemapEntry]:
        resolver = Resolver()
        for line in text.splitlines():
            line = line.strip()
            if line[:4].lower() == "http" and len(line) <= _MAX_URL_CHARS:
                url = resolver.resolve(line)
                if url is not None:
                    yield SitemapEntry(url)

    def _in_xml(self, text: str) -> Iterator[SitemapEntry]:
        resolver = Resolver(self.url)
        fields: dict[str, str] = {}
        namespace = ""
        is_index = False
        for event, element in elements(text.encode("utf-8", "replace"), _NAMES):
            name = local_name(element)
            if name in _ENTRY_NAMES:
                # At the end of an entry; or at the start of the next, where the end is missing.
                if fields:
                    entry = _entry(fields, resolver, is_index)
                    fields = {}
                    if entry is not None:
                        yield entry
                is_index = name == "sitemap"
                namespace = _namespace(element)
            elif event == "end" and _namespace(element) == namespace and element.text:
                # Extensions have a loc of their own, in a namespace of their own.
                fields.setdefault(name, element.text.strip())
        if fields:
            entry = _entry(fields, resolver, is_index)
            if entry is not None:
                yield entry


def _namespace(element: object) -> str:
    return str(getattr(element, "tag", "")).rpartition("}")[0]


def _entry(fields: dict[str, str], resolver: Resolver, is_index: bool) -> SitemapEntry | None:
    location = fields.get("loc", "")
    url = resolver.resolve(location) if 0 < len(location) <= _MAX_URL_CHARS else None
    if url is None or not url.startswith("http"):
        return None
    return SitemapEntry(
        url,
        parse_date(fields.get("lastmod", "")),
        _priority(fields.get("priority", "")),
        fields.get("changefreq", "")[:16].lower(),
        is_index,
    )


def parse_date(text: str) -> datetime | None:
    """A W3C date, as short as a year; without a time zone, UTC. None when it is no date."""
    text = text.strip()[:40]
    try:
        if len(text) in (4, 7):
            text = f"{text}-01-01"[: 10 if len(text) == 4 else None][:10]
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _priority(text: str) -> float | None:
    try:
        value = float(text[:16])
    except ValueError:
        return None
    return min(1.0, max(0.0, value)) if value == value else None
