"""Documents: what a body is made of, by its MIME type.

A body comes with a URL and, perhaps, a Content-Type header. `mime_of` says what it is, from the
header where that can be believed and from the first bytes where not. `open_document` gives it to
the class that reads this type (`registry`): HTML and XHTML, sitemaps, feeds, plain text, PDF.

Opening costs nothing. Each answer (title, text, links, ...) is made when it is first asked for and
kept; a duplicate that nobody asks is never parsed. HTML is decoded as browsers do (`encoding`),
checked for markup that is made to exhaust parsers (`pieces`), parsed once by Lexbor, and walked
over once for everything that is said to a crawler (`html_elements`).

All bytes are hostile. None makes an answer raise: it holds what can be had, and `problems` names
what was wrong, for the caller to count. Time and memory are bounded by `Options` for all types;
PDFs are read in a process of their own.
"""

from __future__ import annotations

from webcrawler.documents.document import Document, Refresh
from webcrawler.documents.feed import FeedDocument
from webcrawler.documents.html import HTMLDocument
from webcrawler.documents.mime import SITEMAP, mime_of, parse_content_type
from webcrawler.documents.options import DEFAULTS, Options
from webcrawler.documents.pdf import PDFDocument
from webcrawler.documents.refresh import parse_refresh
from webcrawler.documents.registry import DOCUMENTS, can_parse, open_document
from webcrawler.documents.sitemap import SitemapDocument, SitemapEntry
from webcrawler.documents.text import TextDocument

__all__ = [
    "DEFAULTS",
    "DOCUMENTS",
    "SITEMAP",
    "Document",
    "FeedDocument",
    "HTMLDocument",
    "Options",
    "PDFDocument",
    "Refresh",
    "SitemapDocument",
    "SitemapEntry",
    "TextDocument",
    "can_parse",
    "mime_of",
    "open_document",
    "parse_content_type",
    "parse_refresh",
]
