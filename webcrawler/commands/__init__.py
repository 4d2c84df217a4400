"""Commands of the project: scrapy crawl, frontier, and what is to come."""
