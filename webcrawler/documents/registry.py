"""Which class reads which type: for a new type, write one file and add one line here."""

from __future__ import annotations

from webcrawler.documents.document import Document
from webcrawler.documents.feed import FeedDocument
from webcrawler.documents.html import HTMLDocument
from webcrawler.documents.mime import (
    ATOM,
    HTML,
    PDF,
    RSS,
    SITEMAP,
    TEXT,
    XHTML,
    mime_of,
    parse_content_type,
)
from webcrawler.documents.options import DEFAULTS, Options
from webcrawler.documents.pdf import PDFDocument
from webcrawler.documents.sitemap import SitemapDocument
from webcrawler.documents.text import TextDocument

DOCUMENTS: dict[str, type[Document]] = {
    HTML: HTMLDocument,
    XHTML: HTMLDocument,
    SITEMAP: SitemapDocument,
    RSS: FeedDocument,
    ATOM: FeedDocument,
    TEXT: TextDocument,
    PDF: PDFDocument,
}


def can_parse(mime: str) -> bool:
    """Whether a body of this type can be asked for links and text."""
    return mime in DOCUMENTS


def open_document(
    body: bytes,
    url: str,
    content_type: str = "",
    *,
    options: Options = DEFAULTS,
    content_language: str = "",
) -> Document:
    """The document that a body is, by its Content-Type header and its first bytes. Never raises.

    A type that nobody reads gives a document without text and links.
    """
    mime = mime_of(content_type, url, body)
    return DOCUMENTS.get(mime, Document)(
        body,
        url,
        mime,
        parse_content_type(content_type).charset,
        options=options,
        content_language=content_language,
    )
