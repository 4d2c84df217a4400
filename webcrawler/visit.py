"""Visit: one URL on its way, from being handed out to its ending."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawler.politeness.fetch import NOT_SENT, Fetch

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request

    from webcrawler.frontier.record import Record
    from webcrawler.items import Page
    from webcrawler.robots import Directives
    from webcrawler.robots_gate import Errand

META_KEY = "visit"  # where a request carries its visit


class Visit:
    """What has become known of a handed-out URL so far.

    The scheduler makes it, the downloader adds how the fetch went, middlewares and pipelines
    what they decided; when the request has left the engine, the scheduler makes the ending of
    it.
    """

    __slots__ = (
        "_url_of",
        "_via",
        "body_bytes",
        "content_type",
        "directives",
        "errand",
        "fetch",
        "handed_at",
        "has_left",
        "links",
        "may_send",
        "outcome",
        "page",
        "reason",
        "record",
        "request",
        "was_answered",
    )

    def __init__(
        self,
        record: Record,
        request: Request,
        handed_at: float,
        url_of: Callable[[int], str | None],
    ) -> None:
        self.record = record
        self.request = request
        self.handed_at = handed_at
        self.fetch: Fetch = NOT_SENT
        self.has_left = False  # the downloader
        self.was_answered = False  # with a response that went to the spider
        self.body_bytes = 0
        self.content_type = ""
        self.page: Page | None = None
        self.links: list[Record] | None = None  # None: not looked for yet
        self.outcome = ""  # set where it was decided, else the status decides
        self.reason = ""
        self.errand: Errand | None = None  # robots.txt is fetched in its place
        self.may_send: Callable[[], bool] | None = None  # None: nobody else could have its host
        self.directives: Directives | None = None  # what the answer's headers say to robots
        self._url_of = url_of
        self._via: str | None = None

    def let_go(self) -> None:
        """It has ended: cut the cycles, or every page waits for the garbage collector."""
        self.page = None
        self.links = None
        self.request.meta.pop(META_KEY, None)

    @property
    def via(self) -> str:
        """The URL of the page that led here."""
        if self._via is None:
            self._via = (self._url_of(self.record.via) or "") if self.record.via else ""
        return self._via
