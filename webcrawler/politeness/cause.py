"""What set a host's next time."""

from __future__ import annotations

from enum import IntEnum


class Cause(IntEnum):
    """What set a host's next time; the words `scrapy frontier why` uses."""

    NEVER_HIT = 0
    MINIMUM_DELAY = 1
    CRAWL_DELAY = 2
    FETCH_TIME = 3
    RETRY_AFTER = 4
    BACK_OFF = 5
    PARKED = 6
    RESTART = 7
    VISIT_TIME = 8
    ROBOTS = 9

    @property
    def phrase(self) -> str:
        return "robots.txt" if self is Cause.ROBOTS else self.name.lower().replace("_", " ")
