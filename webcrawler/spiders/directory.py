"""The `directory` spider: what lies below the seeds' directories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawler.spiders.site import SiteSpider
from webcrawler.urls import Directories

if TYPE_CHECKING:
    from webcrawler.urls import Scope


class DirectorySpider(SiteSpider):
    """Stays below the seeds' directories: scrapy crawl directory -a seeds=example.org/docs/"""

    name = "directory"

    def scope(self) -> Scope:
        return Directories((*self.arguments.seeds, *self._admitted))
