"""The sitemaps of the sample web: plain, compressed, and an index of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .files import stored_gzip
from .response import Response

if TYPE_CHECKING:
    from collections.abc import Sequence

_SCHEMA = "http://www.sitemaps.org/schemas/sitemap/0.9"
_XML = "application/xml"

# The protocol's own limit for one file.
MOST_URLS = 50_000


def entrance(kind: str) -> str | None:
    """The path that robots.txt names; None where there is no sitemap."""
    return {"plain": "/sitemap.xml", "index": "/sitemap-index.xml", "gzip": "/sitemap.xml.gz"}.get(
        kind
    )


def parts(kind: str, path: str, urls: Sequence[str], origin: str) -> tuple[str, ...] | None:
    """The URLs that the sitemap at the path lists; None where no sitemap is."""
    urls = urls[:MOST_URLS]
    half = len(urls) // 2
    found: Sequence[str] | None = {
        ("plain", "/sitemap.xml"): urls,
        ("gzip", "/sitemap.xml.gz"): urls,
        ("index", "/sitemap-index.xml"): (
            f"{origin}/sitemap-1.xml",
            f"{origin}/sitemap-2.xml.gz",
        ),
        ("index", "/sitemap-1.xml"): urls[:half],
        ("index", "/sitemap-2.xml.gz"): urls[half:],
    }.get((kind, path))
    return None if found is None else tuple(found)


def content_type(path: str) -> str:
    """The type a sitemap is served with."""
    return "application/gzip" if path.endswith(".gz") else _XML


def respond(path: str, urls: Sequence[str]) -> Response:
    """The sitemap, or sitemap index, of these URLs."""
    is_index = path == "/sitemap-index.xml"
    outer, inner = ("sitemapindex", "sitemap") if is_index else ("urlset", "url")
    body = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<{outer} xmlns="{_SCHEMA}">\n'
        + "".join(
            f"<{inner}><loc>{url}</loc><lastmod>2024-01-0{1 + index % 9}</lastmod></{inner}>\n"
            for index, url in enumerate(urls)
        )
        + f"</{outer}>\n"
    ).encode()
    if path.endswith(".gz"):
        body = stored_gzip(body)
    return Response(200, content_type(path), body)
