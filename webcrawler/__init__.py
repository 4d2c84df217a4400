"""Scrapy, turned into a search-engine-class crawler."""

__version__ = "0.1.0"
