"""The `site` spider: the seeds' hosts, or their whole registered domains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawler.spiders.base import BaseSpider
from webcrawler.urls import Hosts, Sites

if TYPE_CHECKING:
    from webcrawler.urls import Scope


class SiteSpider(BaseSpider):
    """Stays on the seeds' hosts: scrapy crawl site -a seeds=example.org -a whole_domain=yes"""

    name = "site"
    _admitted: tuple[str, ...] = ()

    def scope(self) -> Scope:
        places = (*self.arguments.seeds, *self._admitted)
        return Sites(places) if self.arguments.whole_domain else Hosts(places)

    def admit(self, url: str) -> None:
        self._admitted = (*self._admitted, url)
        self._scope = self.scope()
