"""A plain Scrapy spider that follows every link, as the tutorial has it."""

from __future__ import annotations

import scrapy
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor


class StockSpider(scrapy.Spider):
    name = "stock"

    def __init__(self, seeds="", allow="", **kwargs):
        super().__init__(**kwargs)
        self.start_urls = seeds.split(",")
        self.allowed_domains = [url.split("/")[2].split(":")[0] for url in self.start_urls]
        self.extractor = LinkExtractor(allow=allow or ())

    def parse(self, response):
        if isinstance(response, HtmlResponse):
            for link in self.extractor.extract_links(response):
                yield scrapy.Request(link.url)
