"""A plain crawlee crawler that follows every link: SEEDS (comma-separated) and a pattern or ''."""

from __future__ import annotations

import asyncio
import logging
import re
import sys

from crawlee import ConcurrencySettings, service_locator
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import MemoryStorageClient


async def main(seeds: str, allow: str) -> None:
    # Its fastest storage: the default one writes a file for every request.
    service_locator.set_storage_client(MemoryStorageClient())
    crawler = ParselCrawler(
        max_request_retries=0,
        concurrency_settings=ConcurrencySettings(desired_concurrency=64, max_concurrency=64),
        configure_logging=False,
    )
    patterns = {"include": [re.compile(".*" + allow)]} if allow else {}

    @crawler.router.default_handler
    async def handle(context: ParselCrawlingContext) -> None:
        if "html" in context.http_response.headers.get("content-type", ""):
            await context.enqueue_links(strategy="same-hostname", **patterns)

    await crawler.run(seeds.split(","))


if __name__ == "__main__":
    logging.disable(logging.ERROR)
    asyncio.run(main(sys.argv[1], sys.argv[2]))
