"""DNS_DENY_PRIVATE=auto: a crawl of public sites connects to no private address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from scrapy.crawler import Crawler

from webcrawler.download.dns import PrivateAddressError
from webcrawler.download.options import download_options
from webcrawler.download.shared import get_resolver
from webcrawler.exceptions import SettingError
from webcrawler.spiders.web import WebSpider

if TYPE_CHECKING:
    from pathlib import Path


def resolver(folder: Path, seeds: str, **settings: Any) -> Any:
    own = {"JOBDIR": str(folder / "job"), "FRONTIER_BACKEND": "memory", **settings}
    crawler = Crawler(WebSpider, own)
    crawler.spider = WebSpider.from_crawler(crawler, seeds=seeds)
    return get_resolver(crawler)


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.1.2.3", "192.168.0.1", "169.254.169.254", "::1"]
)
def test_public_seeds_lead_to_no_private_address(tmp_path: Path, address: str) -> None:
    made = resolver(tmp_path, "https://example.org/,https://example.com/")
    with pytest.raises(PrivateAddressError):
        made.check_literal(address)
    made.check_literal("93.184.216.34")


@pytest.mark.parametrize(
    "seeds",
    ["http://127.0.0.1:8000/", "http://10.0.0.7/", "localhost:8000", "http://[::1]/", "a.test"],
)
def test_a_crawl_of_private_hosts_may_go_to_others(tmp_path: Path, seeds: str) -> None:
    made = resolver(tmp_path, f"https://example.org/,{seeds}", DNS_HOSTS="*.test=127.0.0.1")
    made.check_literal("192.168.0.1")


def test_who_says_so_is_heard(tmp_path: Path) -> None:
    resolver(tmp_path / "off", "https://example.org/", DNS_DENY_PRIVATE="0").check_literal(
        "10.0.0.1"
    )
    made = resolver(tmp_path / "on", "http://127.0.0.1/", DNS_DENY_PRIVATE="1")
    made.check_literal("127.0.0.1")  # a seed
    with pytest.raises(PrivateAddressError):
        made.check_literal("127.0.0.2")


def test_a_wrong_value(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="DNS_DENY_PRIVATE"):
        download_options(Crawler(WebSpider, {"DNS_DENY_PRIVATE": "perhaps"}).settings)
