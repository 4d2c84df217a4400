"""What a body is: the Content-Type header where it can be believed, else its first bytes.

As browsers do it: a header that names a type is believed, unless it names none really
(application/octet-stream), is known to be wrong often (text/plain for whatever a server does not
know, text/html for feeds, any XML for any XML), or the body begins as another kind of file.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from webcrawler.documents.inflate import GZIP_MAGIC, inflate

HTML = "text/html"
XHTML = "application/xhtml+xml"
TEXT = "text/plain"
PDF = "application/pdf"
RSS = "application/rss+xml"
ATOM = "application/atom+xml"
XML = "application/xml"
GZIP = "application/gzip"
BINARY = "application/octet-stream"
# Sitemaps have no registered type; they come as XML, gzip or plain text. This name is ours.
SITEMAP = "application/x-sitemap+xml"

_HEAD = 4096

_SAYS_NOTHING = frozenset(
    {"", "*/*", BINARY, "binary/octet-stream", "application/unknown", "unknown/unknown"}
    | {"application/force-download", "application/x-download"}
)
_GENERIC_XML = frozenset({XML, "text/xml", "application/rdf+xml", RSS, ATOM})
_GZIPS = frozenset({GZIP, "application/x-gzip", "application/x-gunzip"})

_HEADER = re.compile(
    r"[\t\n\r ]*([!#$%&'*+.^_`|~0-9a-z-]+/[!#$%&'*+.^_`|~0-9a-z-]+)", re.IGNORECASE
)
_CHARSET = re.compile(
    r";[\t\n\r ]*charset[\t ]*=[\t ]*(?:\"([^\"]*)\"|'([^']*)'|([^\s;,\"']+))", re.IGNORECASE
)
_HTML_START = re.compile(
    rb"<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p"
    rb"|meta|link|main|section|article|span|ul|center)[\s>]|<!--",
    re.IGNORECASE,
)
# The root element, behind declarations, comments, and a DOCTYPE with or without a subset.
_ROOT = re.compile(
    rb"(?:\s++|<\?.*?\?>|<!--.*?-->|<!doctype[^>\[]*+(?:\[.*?\]\s*+)?>)*+"
    rb"<(?:[a-z_][\w.-]*+:)?([a-z_][\w.-]*+)",
    re.IGNORECASE | re.DOTALL,
)
_ROOTS = {
    b"urlset": SITEMAP,
    b"sitemapindex": SITEMAP,
    b"rss": RSS,
    b"feed": ATOM,
    b"rdf": RSS,
    b"html": XHTML,
    b"svg": "image/svg+xml",
}
_MAGIC = (
    (b"%PDF-", PDF),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF8", "image/gif"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"RIFF", "application/x-riff"),
    (b"PK\x03\x04", "application/zip"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"OggS", "application/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"\x7fELF", BINARY),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
)
_BINARY_BYTE = re.compile(rb"[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_WHITE_SPACE = b"\t\n\f\r "
_LISTED_URL = re.compile(rb"(?:\xef\xbb\xbf)?\s*https?://\S+\s*(?:\n|\r|\Z)", re.IGNORECASE)

_EXTENSIONS = {
    "": HTML,
    "htm": HTML,
    "html": HTML,
    "php": HTML,
    "asp": HTML,
    "aspx": HTML,
    "jsp": HTML,
    "shtml": HTML,
    "xhtml": XHTML,
    "xht": XHTML,
    "txt": TEXT,
    "pdf": PDF,
    "rss": RSS,
    "atom": ATOM,
    "xml": XML,
    "gz": GZIP,
}


class ContentType(NamedTuple):
    """A Content-Type header. Both are lower case, and "" where the header does not say."""

    mime: str
    charset: str


@lru_cache(maxsize=1024)
def parse_content_type(header: str) -> ContentType:
    """Read a Content-Type header; the last of several that a server joined with commas counts."""
    mime, charset = "", ""
    for value in header[:1000].split(","):
        match = _HEADER.match(value)
        if match is not None:
            mime, charset = match[1].lower(), ""
        found = _CHARSET.search(value)
        if found is not None:
            charset = (found[1] or found[2] or found[3] or "").strip().lower()
    return ContentType(mime, charset)


def mime_of(content_type_header: str, url: str, body: bytes) -> str:
    """The type of a body, lower case, without parsing it. Never raises.

    Without a body, the header is believed; without both, the URL's extension.
    """
    mime = parse_content_type(content_type_header).mime
    if not body:
        return _by_extension(url) if mime in _SAYS_NOTHING else mime
    if mime == HTML:
        return _believed_html(body)
    if mime in _SAYS_NOTHING:
        return _sniff(url, body)
    if mime == SITEMAP:
        # Only a caller that found it listed as one says so; it may still be an error page.
        return HTML if _HTML_START.match(_readable(body).lstrip()) else SITEMAP
    if mime in _GENERIC_XML:
        return _believed_xml(mime, body)
    if mime == TEXT:
        return _believed_text(url, body)
    if mime in _GZIPS:
        return _believed_gzip(body)
    if mime == PDF and b"%PDF-" not in body[:1024]:
        return _sniff(url, body)
    return mime


def _believed_html(body: bytes) -> str:
    first = body[:1]
    if first == b"<":
        # Most pages end here. What is left may be a feed or a sitemap with the wrong label.
        if body[1:2] in b"!hH" and body[1:2]:
            return HTML
        found = _by_root(body)
        return found if found in (RSS, ATOM, SITEMAP) else HTML
    if first in _WHITE_SPACE or first.isalpha():
        return _by_root(body.lstrip()[:_HEAD], (RSS, ATOM, SITEMAP)) or HTML
    return _by_magic(body) or HTML


def _believed_xml(mime: str, body: bytes) -> str:
    head = _readable(body)
    found = _by_root(head)
    if found is not None:
        return found
    if body.startswith(GZIP_MAGIC):
        return _believed_gzip(body)
    if _HTML_START.match(head.lstrip()):
        return HTML
    return _by_magic(body) or (XML if mime == "text/xml" else mime)


def _believed_text(url: str, body: bytes) -> str:
    head = body[:_HEAD]
    magic = _by_magic(head)
    if magic is not None:
        return magic
    if _is_binary(head):
        return BINARY
    if "sitemap" in url.rpartition("/")[2].lower():
        if _LISTED_URL.match(head):
            return SITEMAP
        if _by_root(head) == SITEMAP:
            return SITEMAP
    return TEXT


def _believed_gzip(body: bytes) -> str:
    inner = inflate(body, _HEAD).data
    return SITEMAP if _by_root(_readable(inner)) == SITEMAP or _LISTED_URL.match(inner) else GZIP


def _sniff(url: str, body: bytes) -> str:
    if body.startswith(GZIP_MAGIC):
        return _believed_gzip(body)
    magic = _by_magic(body)
    if magic is not None:
        return magic
    head = _readable(body).lstrip()
    if _HTML_START.match(head):
        return HTML
    if head.startswith(b"<"):
        found = _by_root(head)
        if found is not None:
            return found
        if head.startswith(b"<?xml"):
            return XML
    return _believed_text(url, body)


def _by_root(head: bytes, wanted: tuple[str, ...] = ()) -> str | None:
    match = _ROOT.match(head[:_HEAD].removeprefix(b"\xef\xbb\xbf"))
    found = _ROOTS.get(match[1].lower()) if match else None
    return found if not wanted or found in wanted else None


def _by_magic(body: bytes) -> str | None:
    if body.startswith(GZIP_MAGIC):
        return _believed_gzip(body)
    for magic, mime in _MAGIC:
        if body.startswith(magic):
            return mime
    return None


def _readable(body: bytes) -> bytes:
    """The beginning of a body as ASCII-compatible bytes, without a byte order mark."""
    head = body[:_HEAD]
    if head.startswith(_UTF16_MARKS):
        return head.decode("utf-16", "replace").encode("utf-8", "replace")
    if head.startswith((b"<\0", b"\0<")):
        codec = "utf-16-le" if head.startswith(b"<") else "utf-16-be"
        return head.decode(codec, "replace").encode("utf-8", "replace")
    return head.removeprefix(b"\xef\xbb\xbf")


def _is_binary(head: bytes) -> bool:
    return not head.startswith(_UTF16_MARKS) and _BINARY_BYTE.search(head[:1445]) is not None


def _by_extension(url: str) -> str:
    try:
        name = urlsplit(url).path.rpartition("/")[2].lower()
    except ValueError:
        return BINARY
    extension = name.rpartition(".")[2] if "." in name else ""
    return _EXTENSIONS.get(extension, BINARY)
