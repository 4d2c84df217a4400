"""How the parts of a crawl are joined where it goes on from what a job folder has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from scrapy.settings import Settings

from webcrawler.crawl import Crawl
from webcrawler.crawl_log import CrawlLog
from webcrawler.exceptions import StoreError
from webcrawler.frontier.record import Record
from webcrawler.politeness import Fetch
from webcrawler.politeness.cause import Cause

if TYPE_CHECKING:
    from pathlib import Path


def open_crawl(folder: Path) -> Crawl:
    settings = {"USER_AGENT": "webcrawler/1", "JOBDIR": str(folder), "POLITENESS_ADDRESS_DELAY": 9}
    crawl = Crawl(Settings(settings))
    crawl.open()
    crawl.frontier.address_of = lambda host: "10.0.0.1"
    return crawl


def test_an_address_is_left_alone_after_a_restart(tmp_path: Path):
    """Another name of it may have been fetched from just before."""
    crawl = open_crawl(tmp_path)
    now = crawl.clock()
    crawl.frontier.put([Record(f"http://{name}/", n, name) for n, name in enumerate("ab", 1)])
    record = crawl.frontier.next(now)
    assert record is not None
    crawl.frontier.release(record, Fetch(address="10.0.0.1"), now)
    crawl.close()
    crawl = open_crawl(tmp_path)
    now = crawl.clock()
    assert crawl.frontier.next(now) is None
    assert crawl.frontier.next(now + 9) is not None
    crawl.close()


def test_a_log_that_cannot_be_is_said(tmp_path: Path):
    (tmp_path / "crawl.log").mkdir()
    with pytest.raises(StoreError, match=r"cannot write .*crawl\.log: Is a directory"):
        CrawlLog(tmp_path)


def test_a_host_in_hand_at_a_crash_is_left_alone(tmp_path: Path):
    """Its fetch may have ended just before. A test with processes would start too slowly to see."""
    crawl = open_crawl(tmp_path)
    crawl.frontier.put([Record(f"http://a/{n}", n, "a") for n in (1, 2)])
    assert crawl.frontier.next(crawl.clock()) is not None
    kept: Any = crawl.store
    kept._handles.clear()
    kept.kv.close()  # what a killed process leaves: nothing was given back
    before = crawl.clock()
    crawl = open_crawl(tmp_path)
    host = crawl.store.host("a")
    assert host is not None
    assert host.cause is Cause.RESTART
    assert host.next_at >= before + crawl.frontier.policies.default.minimum > before
    assert crawl.frontier.next(crawl.clock()) is None
    crawl.close()
