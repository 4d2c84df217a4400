"""Options: what is wanted from a document, and how much of it is read at most."""

from __future__ import annotations

from dataclasses import dataclass

_MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Options:
    """What to extract, and the limits. What lies beyond a limit is left out: problem `truncated`.

    `link_texts` off leaves the text of links empty, which saves a tenth of their cost;
    `resources` on adds what a page is drawn with: images, scripts, sources, style sheets, icons.
    """

    link_texts: bool = True
    resources: bool = False
    max_links: int = 50_000
    max_anchor_chars: int = 256
    max_text_chars: int = 1_000_000
    max_html_bytes: int = 10 * _MEGABYTE
    max_text_bytes: int = 10 * _MEGABYTE
    max_feed_bytes: int = 10 * _MEGABYTE
    # The limits of the sitemap protocol, counted after decompression.
    max_sitemap_urls: int = 50_000
    max_sitemap_bytes: int = 50 * _MEGABYTE
    max_pdf_bytes: int = 50 * _MEGABYTE
    max_pdf_pages: int = 200
    max_pdf_secs: float = 20.0


DEFAULTS = Options()
