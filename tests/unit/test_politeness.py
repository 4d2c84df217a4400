"""When a host may be hit again."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawler.frontier.host import Host
from webcrawler.politeness import (
    AddressBook,
    DelayPolicy,
    Fetch,
    Policies,
    parse_retry_after,
)
from webcrawler.politeness.cause import Cause
from webcrawler.politeness.fetch import NOT_SENT

NOW = 1_700_000_000.0


def after(fetch: Fetch, policy: DelayPolicy | None = None, host: Host | None = None) -> Host:
    host = host or Host("h.test", 1)
    (policy or DelayPolicy()).after(host, fetch, NOW, Random(1))
    return host


@pytest.mark.parametrize(
    ("seconds", "crawl_delay", "wait", "cause"),
    [
        (0.1, 0.0, 1.0, Cause.MINIMUM_DELAY),
        (3.0, 0.0, 3.0, Cause.FETCH_TIME),
        (500.0, 0.0, 60.0, Cause.FETCH_TIME),
        (0.1, 7.0, 7.0, Cause.CRAWL_DELAY),
        (9.0, 7.0, 9.0, Cause.FETCH_TIME),
        (0.1, 9999.0, 120.0, Cause.CRAWL_DELAY),
    ],
)
def test_delay_is_the_longest_of_three_each_capped(seconds, crawl_delay, wait, cause):
    host = Host("h.test", 1)
    host.crawl_delay = crawl_delay
    after(Fetch(seconds=seconds), host=host)
    assert host.next_at == NOW + wait
    assert host.cause == cause


def test_no_delay_at_all():
    host = after(Fetch(seconds=2.0), DelayPolicy(minimum=0, factor=0))
    assert host.next_at == NOW


def test_failures_back_off_exponentially_and_park_with_one_try_between():
    policy = DelayPolicy(back_off=1, park_after=4, park_secs=1000, park_maximum=3000)
    host = Host("h.test", 1)
    waits, causes = [], []
    for _ in range(7):
        host.next_at = 0.0
        after(Fetch(status=500), policy, host)
        waits.append(host.next_at - NOW)
        causes.append(host.cause)
    assert waits == [1, 2, 4, 1000, 2000, 3000, 3000]
    assert causes[3:] == [Cause.PARKED] * 4
    after(Fetch(status=200), policy, host)
    assert (host.failures, host.parkings) == (0, 0)


@pytest.mark.parametrize("status", [0, 429, 500, 502, 503, 599])
def test_what_counts_as_failure(status):
    assert after(Fetch(status=status)).failures == 1


@pytest.mark.parametrize("status", [200, 204, 301, 304, 403, 404, 410])
def test_what_does_not(status):
    assert after(Fetch(status=status)).failures == 0


def test_retry_after_pushes_the_host_back_up_to_its_cap():
    assert after(Fetch(status=503, retry_after=77.0)).next_at == NOW + 77
    host = after(Fetch(status=429, retry_after=1e9))
    assert host.next_at == NOW + 86_400
    assert host.cause == Cause.RETRY_AFTER


def test_what_was_not_sent_costs_nothing():
    host = Host("h.test", 1)
    host.next_at = 5.0
    after(NOT_SENT, host=host)
    assert host.next_at == 5.0


def test_a_time_already_set_is_never_brought_forward():
    host = Host("h.test", 1)
    host.next_at, host.cause = NOW + 500, Cause.RETRY_AFTER
    after(Fetch(), host=host)
    assert host.next_at == NOW + 500
    assert host.cause == Cause.RETRY_AFTER


@given(st.floats(0, 10), st.floats(0, 5))
def test_jitter_only_lengthens(jitter, seconds):
    plain = after(Fetch(seconds=seconds)).next_at
    jittered = after(Fetch(seconds=seconds), DelayPolicy(jitter=jitter)).next_at
    assert plain <= jittered <= NOW + (plain - NOW) * (1 + jitter) + 1e-3


def test_restart_counts_as_the_end_of_a_fetch():
    host = Host("h.test", 1)
    host.delay = 9.0
    DelayPolicy().after_restart(host, NOW)
    assert (host.next_at, host.cause) == (NOW + 9.0, Cause.RESTART)
    host.next_at = NOW + 50
    DelayPolicy().after_restart(host, NOW)
    assert host.next_at == NOW + 50


def test_overrides_by_host_and_domain_most_specific_first():
    policies = Policies(
        DelayPolicy(),
        {
            "*.example.org": {"minimum": 2.0},
            "*.deep.example.org": {"minimum": 3.0},
            "www.example.org": {"minimum": 4.0},
            "www.example.org:81": {"minimum": 5.0},
        },
    )
    minimum = {
        "example.org": 2.0,
        "a.example.org": 2.0,
        "a.deep.example.org": 3.0,
        "www.example.org": 4.0,
        "www.example.org:80": 4.0,
        "www.example.org:81": 5.0,
        "notexample.org": 1.0,
        "[::1]": 1.0,
        "[::1]:8000": 1.0,
    }
    assert {host: policies.of(host).minimum for host in minimum} == minimum


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (b"120", 120.0),
        (" 5 ", 5.0),
        (b"Tue, 14 Nov 2023 22:14:20 GMT", 60.0),
        ("Tue, 14 Nov 2023 22:13:00 GMT", 0.0),
        (b"Tuesday, 14-Nov-23 22:14:20 GMT", 60.0),
        (b"Tue Nov 14 22:14:20 2023", 60.0),
        (b"Fri, 31 Dec 9999 23:59:59 GMT", 251_702_300_799.0),
        (None, None),
        (b"", None),
        (b"soon", None),
        (b"-5", None),
        (b"\xff\xfe", None),
        ("²", None),
        (b"99999999999999999999", 999999999999.0),
        ("Tue, 99 Foo 9999 99:99:99 GMT", None),
    ],
)
def test_retry_after(value, seconds):
    assert parse_retry_after(value, NOW) == seconds


@given(st.binary(max_size=60))
def test_retry_after_never_raises(value):
    parse_retry_after(value, NOW)


def test_an_address_counts_as_hit_just_before_a_crawl_went_on():
    book = AddressBook(2.0, NOW)
    assert book.wait_until("1.2.3.4", NOW + 1) == NOW + 2
    assert book.wait_until("1.2.3.4", NOW + 2) is None
    book.start("1.2.3.4")
    book.end("1.2.3.4", NOW + 3)
    assert book.wait_until("1.2.3.4", NOW + 4) == NOW + 5


def test_address_book_is_one_at_a_time_with_a_delay():
    book = AddressBook(2.0)
    assert book.wait_until("1.2.3.4", NOW) is None
    book.start("1.2.3.4")
    assert book.wait_until("1.2.3.4", NOW) == float("inf")
    assert book.wait_until("1.2.3.5", NOW) is None
    book.wait("1.2.3.4", 7)
    assert book.end("1.2.3.4", NOW) == [7]
    assert book.wait_until("1.2.3.4", NOW + 1) == NOW + 2
    assert book.wait_until("1.2.3.4", NOW + 2) is None
