"""The same wiring for somebody else's Scrapy project: ADDONS = {"webcrawler.addon...": 100}."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawler import settings as ours

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

# What belongs to a project, not to how it crawls.
_THEIRS = {"BOT_NAME", "SPIDER_MODULES", "NEWSPIDER_MODULE", "USER_AGENT", "ASYNCIO_EVENT_LOOP"}


class WebcrawlerAddon:
    """Sets everything `webcrawler.settings` has, where the project has not set it itself."""

    def update_settings(self, settings: BaseSettings) -> None:
        for name in dir(ours):
            if not name.isupper() or name in _THEIRS:
                continue
            value = getattr(ours, name)
            if isinstance(value, dict) and settings.getpriority(name) is not None:
                settings[name].update(value, priority="addon")
            else:
                settings.set(name, value, priority="addon")
