"""Page and Link: what a crawl is made of."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from webcrawler.tables import Batch

if TYPE_CHECKING:
    from webcrawler.documents import Document, Options


class Link(NamedTuple):
    """A link as found in a document: already absolute and normalised, fragment dropped.

    `text` is the anchor text (the alt text of an image inside it counts), white space folded;
    `rel` the rel attribute, lower case, tokens separated by one space;
    `kind` the element it came from: a, area, frame, iframe, link, refresh, img, script, source,
    sitemap, feed, text or pdf.
    """

    url: str
    text: str = ""
    rel: str = ""
    kind: str = "a"


class Page:
    """A fetched document, parsed no sooner than something of it is asked for.

    `response` is Scrapy's response where the page came from one. `outcome` and what goes with it
    are set by the pipelines on the way; `batch` collects what they keep of the page, to be
    committed together with its ending.
    """

    def __init__(
        self,
        url: str,
        body: bytes,
        content_type: str = "",
        *,
        status: int = 200,
        depth: int = 0,
        fetched_at: float = 0.0,
        response: Any = None,
        visit: Any = None,
        options: Options | None = None,
    ) -> None:
        self.url = url
        self.body = body
        self.content_type = content_type
        self.status = status
        self.depth = depth
        self.fetched_at = fetched_at
        self.response = response
        self.visit = visit
        self.options = options
        self.outcome = "stored"
        self.reason = ""
        self.digest = 0
        self.of = ""
        self.similarity: float | None = None
        self.is_noindex = False
        self.is_nofollow = False
        self.is_noarchive = False
        self.of_fingerprint = 0
        self.signature: bytes | None = None  # of the near-duplicate test, where it is known
        self.is_signed = False
        self.batch = Batch()

    @property
    def fingerprint(self) -> int:
        """The identity of its URL in the frontier."""
        fingerprint: int = self.visit.record.fingerprint
        return fingerprint

    def become(self, outcome: str, *, of: int = 0, reason: str = "") -> None:
        """Decide how the page ends; `of` is the fingerprint of what it is a copy of."""
        self.outcome = outcome
        self.of_fingerprint = of
        self.reason = reason

    @cached_property
    def document(self) -> Document:
        """The parsed document, of the type its content says it is."""
        from webcrawler.documents import DEFAULTS, open_document

        return open_document(
            self.body, self.url, self.content_type, options=self.options or DEFAULTS
        )

    @property
    def mime(self) -> str:
        return self.document.mime

    @property
    def title(self) -> str:
        return self.document.title

    @property
    def text(self) -> str:
        return self.document.text

    @property
    def language(self) -> str:
        return self.document.language

    @cached_property
    def links(self) -> list[Link]:
        """Every link of the document, as found: nothing is filtered yet."""
        return self.document.links

    @property
    def via(self) -> str:
        """The URL of the page that led here; empty for a seed."""
        return self.visit.via if self.visit is not None else ""

    def __repr__(self) -> str:
        return f"<Page {self.status} {self.url}>"
