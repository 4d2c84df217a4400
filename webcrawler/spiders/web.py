"""The `web` spider: anywhere."""

from __future__ import annotations

from webcrawler.spiders.base import BaseSpider


class WebSpider(BaseSpider):
    """Follows links wherever they lead: scrapy crawl web -a seeds=example.org,example.com"""

    name = "web"
