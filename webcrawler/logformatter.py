"""Log lines: a page is a line in crawl.log, not in the log."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy.logformatter import LogFormatter

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.http import Response
    from scrapy.logformatter import LogFormatterResult
    from twisted.python.failure import Failure


class QuietFormatter(LogFormatter):
    """Leaves out what crawl.log has, and makes dropped items and failed downloads quiet."""

    def __init__(self) -> None:
        super().__init__()
        # A line for every 404 of the web.
        logging.getLogger("scrapy.spidermiddlewares.httperror").setLevel(logging.WARNING)

    def crawled(self, request: Request, response: Response, spider: Spider) -> None:  # type: ignore[override]  # None means no line, but the base class does not say so
        return None

    def scraped(self, item: Any, response: Any, spider: Spider) -> None:  # type: ignore[override]  # the same
        return None

    def dropped(
        self, item: Any, exception: BaseException, response: Any, spider: Spider
    ) -> LogFormatterResult:
        result = super().dropped(item, exception, response, spider)
        result["level"] = logging.DEBUG
        return result

    def download_error(
        self, failure: Failure, request: Request, spider: Spider, errmsg: str | None = None
    ) -> LogFormatterResult:
        return {
            "level": logging.DEBUG,
            "msg": "not fetched: %(request)s: %(error)s",
            "args": {"request": request, "error": failure.value},
        }


def leave_out_inventories() -> None:
    """Silence what Scrapy lists at every start: versions, settings, every component."""
    for name in ("scrapy.utils.log", "scrapy.crawler", "scrapy.middleware", "scrapy.addons"):
        logging.getLogger(name).setLevel(logging.WARNING)
