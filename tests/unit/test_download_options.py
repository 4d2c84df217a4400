from __future__ import annotations

import gc
import ssl
import weakref
from typing import Any

import pytest
from scrapy import Spider
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from webcrawler.download import CachedResolver, download_options, get_client, get_resolver
from webcrawler.download.options import DownloadOptions, parse_hosts
from webcrawler.download.tls import make_tls_context
from webcrawler.exceptions import SettingError


def options(**settings: Any) -> DownloadOptions:
    return download_options(Settings(settings))


def test_defaults() -> None:
    made = options()
    assert made.verify_certificates
    assert made.dns_timeout == 10.0
    assert made.dns_ttl == 3600.0
    assert made.dns_negative_ttl == 60.0
    assert not made.deny_private
    assert made.limits.total_secs == 180.0
    assert made.limits.max_size == 1024**3
    assert made.limits.fail_on_data_loss
    assert made.idle_size >= 8


def test_values_are_taken_over() -> None:
    made = options(
        DNS_TTL="7",
        DNS_NEGATIVE_TTL=3,
        DNS_TIMEOUT=4,
        DNS_CACHE_SIZE=5,
        DNS_HOSTS="a.test=127.0.0.1, *.b.test = ::1",
        DNS_DENY_PRIVATE=True,
        DOWNLOAD_TIMEOUT=9,
        DOWNLOAD_FIRST_BYTE_TIMEOUT=8,
        DOWNLOAD_MAXSIZE=0,
        DOWNLOAD_MAX_HEADER_BYTES=2048,
        DOWNLOAD_VERIFY_CERTIFICATES=False,
        DOWNLOAD_TLS_MIN_VERSION="TLSv1.2",
        DOWNLOAD_BIND_ADDRESS="127.0.0.3",
        CONCURRENT_REQUESTS=11,
        ARCHIVE_ENABLED=True,
    )
    assert (made.dns_ttl, made.dns_negative_ttl, made.dns_timeout, made.dns_cache_size) == (
        *(7.0, 3.0, 4.0, 5),
    )
    assert made.dns_hosts == {"a.test": "127.0.0.1", "*.b.test": "::1"}
    assert made.deny_private
    assert not made.verify_certificates
    assert (made.limits.total_secs, made.limits.first_byte_secs) == (9.0, 8.0)
    assert (made.limits.max_size, made.limits.max_header_bytes) == (0, 2048)
    assert made.tls_min_version == "TLSv1.2"
    assert made.bind_address == ("127.0.0.3", 0)
    assert made.pool_size == 11
    assert made.keep_wire
    assert not options(ARCHIVE_ENABLED=False).keep_wire


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DNS_TTL", "soon"),
        ("DNS_TTL", 0),
        ("DNS_TIMEOUT", -1),
        ("DNS_CACHE_SIZE", 0),
        ("DNS_HOSTS", "a.test"),
        ("DNS_HOSTS", "a.test=nowhere"),
        ("DNS_HOSTS", {"a.*.test": "127.0.0.1"}),
        ("DNS_HOSTS", ["a"]),
        ("DOWNLOAD_TIMEOUT", "x"),
        ("DOWNLOAD_FIRST_BYTE_TIMEOUT", 0),
        ("DOWNLOAD_MAXSIZE", -1),
        ("DOWNLOAD_MAX_HEADER_BYTES", 10),
        ("DOWNLOAD_TLS_MIN_VERSION", "SSLv3"),
        ("CONCURRENT_REQUESTS", "many"),
    ],
)
def test_a_wrong_value_names_the_setting(name: str, value: object) -> None:
    with pytest.raises(SettingError, match=name):
        options(**{name: value})


def test_hosts_from_a_dict() -> None:
    assert parse_hosts({"*.sample.test": "127.0.0.1"}) == {"*.sample.test": "127.0.0.1"}
    assert parse_hosts(None) == parse_hosts("") == {}


def test_tls_verifies_unless_told_otherwise() -> None:
    strict, lax = make_tls_context(), make_tls_context(verify=False, max_version="TLSv1.2")
    assert strict.verify_mode is ssl.CERT_REQUIRED
    assert strict.check_hostname
    assert lax.verify_mode is ssl.CERT_NONE
    assert lax.maximum_version is ssl.TLSVersion.TLSv1_2
    with pytest.raises(ValueError, match="SSLv2"):
        make_tls_context(min_version="SSLv2")
    with pytest.raises(ValueError, match="no TLS cipher"):
        make_tls_context(ciphers="ROT13")


def test_one_resolver_and_one_client_for_each_crawl() -> None:
    settings = {"DNS_HOSTS": {"a.test": "127.0.0.9"}, "TWISTED_REACTOR_ENABLED": False}
    first, second = get_crawler(Spider, settings), get_crawler(Spider, settings)
    resolver = get_resolver(first)
    assert isinstance(resolver, CachedResolver)
    assert resolver.peek("x.a.test") is None
    assert resolver.peek("a.test") == "127.0.0.9"
    assert get_resolver(first) is resolver
    assert get_client(first) is get_client(first)
    assert get_client(first).resolver is resolver
    assert get_resolver(second) is not resolver


def test_they_end_with_their_crawl() -> None:
    class Crawl:  # Scrapy's log handler keeps a real crawler until its engine has stopped
        settings = Settings()

    crawler: Any = Crawl()
    client = weakref.ref(get_client(crawler))
    del crawler
    gc.collect()
    assert client() is None
