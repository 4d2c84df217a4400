"""What an answer to a request for robots.txt means, by RFC 9309, and for how long."""

from __future__ import annotations

import pytest

from webcrawler.robots import EntryKind, RobotsEntry, RobotsFetch, RobotsPolicy, decide

NOW = 1_700_000_000.0
HOUR = 3_600.0
DAY = 24 * HOUR
POLICY = RobotsPolicy()
RULES = RobotsFetch(200, body=b"User-agent: *\nDisallow: /private\n")


def allowed(entry: RobotsEntry, path: str) -> bool:
    return entry.rules().allowed(f"http://h{path}", "webcrawler")


def test_an_answer_is_obeyed_for_a_day():
    entry = decide(None, RULES, NOW)
    assert entry.kind is EntryKind.RULES
    assert (allowed(entry, "/private"), allowed(entry, "/")) == (False, True)
    assert entry.is_fresh(NOW + DAY - 1)
    assert not entry.is_fresh(NOW + DAY)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451, 499])
def test_no_file_allows_everything(status):
    entry = decide(None, RobotsFetch(status, body=b"User-agent: *\nDisallow: /"), NOW)
    assert entry.kind is EntryKind.ALLOW_ALL
    assert allowed(entry, "/private")
    assert entry.is_fresh(NOW + DAY - 1)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_that_leads_nowhere_allows_everything(status):
    entry = decide(None, RobotsFetch(status, redirects=6), NOW)
    assert entry.kind is EntryKind.ALLOW_ALL
    assert "6 redirects" in entry.detail


@pytest.mark.parametrize(
    "fetch",
    [
        RobotsFetch(500),
        RobotsFetch(503),
        RobotsFetch(599),
        RobotsFetch(429),
        RobotsFetch(999),
        RobotsFetch(100),
        RobotsFetch(304),
        RobotsFetch(None, "timeout"),
        RobotsFetch(200, "connection lost", body=b"User-agent: *\nAllow: /"),
    ],
)
def test_failures_disallow_everything_and_are_tried_again_soon(fetch):
    entry = decide(None, fetch, NOW)
    assert entry.kind is EntryKind.DISALLOW_ALL
    assert not allowed(entry, "/")
    assert entry.unreachable_since == NOW
    assert entry.expires_at == NOW + POLICY.retry_secs
    assert entry.detail


def test_it_disallows_until_it_answers_or_thirty_days_have_passed():
    entry = None
    now = NOW
    while entry is None or entry.kind is EntryKind.DISALLOW_ALL:
        entry = decide(entry, RobotsFetch(503), now)
        assert POLICY.retry_secs <= entry.expires_at - now <= POLICY.max_retry_secs
        assert entry.unreachable_since == NOW
        lasted, now = now - NOW, entry.expires_at
    assert 30 * DAY <= lasted <= 30 * DAY + POLICY.max_retry_secs
    assert entry.kind is EntryKind.ALLOW_ALL
    # It stays so while it fails, and everything is as new once it answers.
    assert decide(entry, RobotsFetch(503), now).kind is EntryKind.ALLOW_ALL
    answered = decide(entry, RULES, now)
    assert (answered.kind, answered.unreachable_since) == (EntryKind.RULES, None)
    assert decide(answered, RobotsFetch(404), now).unreachable_since is None


def test_failures_far_apart_are_not_one_long_failure():
    first = decide(None, RobotsFetch(503), NOW)
    later = decide(first, RobotsFetch(503), NOW + 40 * DAY)
    assert later.kind is EntryKind.DISALLOW_ALL
    assert later.unreachable_since == NOW + 40 * DAY


def test_a_clock_that_went_back_does_not_shorten_the_wait():
    first = decide(None, RobotsFetch(503), NOW)
    assert decide(first, RobotsFetch(503), NOW - DAY).unreachable_since == NOW - DAY


def test_old_rules_stand_while_the_refetch_fails():
    entry = decide(None, RULES, NOW)
    now = NOW + DAY
    while entry.kind is EntryKind.RULES:
        assert (allowed(entry, "/private"), allowed(entry, "/")) == (False, True)
        assert entry.fetched_at == NOW
        entry, now = decide(entry, RobotsFetch(None, "refused"), now), now + 4 * HOUR
    assert entry.kind is EntryKind.ALLOW_ALL
    assert now - NOW >= 31 * DAY


def test_old_rules_may_be_kept_for_good():
    policy = RobotsPolicy(keep_rules=True)
    entry = decide(None, RULES, NOW, policy)
    for day in range(1, 60):
        entry = decide(entry, RobotsFetch(500), NOW + day * DAY, policy)
    assert not allowed(entry, "/private")


def test_no_file_is_no_rules_to_fall_back_on():
    entry = decide(None, RobotsFetch(404), NOW)
    assert decide(entry, RobotsFetch(500), NOW + DAY).kind is EntryKind.DISALLOW_ALL


def test_old_rules_end_when_the_file_is_gone():
    entry = decide(None, RULES, NOW)
    assert decide(entry, RobotsFetch(404), NOW + DAY).kind is EntryKind.ALLOW_ALL


def test_not_modified_renews_the_rules():
    entry = decide(decide(None, RULES, NOW), RobotsFetch(304), NOW + DAY)
    assert not allowed(entry, "/private")
    assert entry.expires_at == NOW + 2 * DAY


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, DAY),
        ({"cache-control": "max-age=3600"}, HOUR),
        ({"cache-control": 'Public, MAX-AGE="3600"'}, HOUR),
        ({"cache-control": "max-age=3600", "age": "600"}, 3000),
        ({"cache-control": "max-age=604800"}, DAY),
        ({"cache-control": "max-age=0"}, 600),
        ({"cache-control": "no-cache"}, 600),
        ({"cache-control": "max-age=3600, no-store"}, 600),
        ({"cache-control": "max-age=soon"}, DAY),
        ({"cache-control": "max-age=" + "9" * 9999}, DAY),
        ({"expires": "Tue, 14 Nov 2023 23:13:20 GMT"}, HOUR),
        ({"expires": "Tue, 14 Nov 2023 23:13:20 GMT", "cache-control": "max-age=7200"}, 2 * HOUR),
        (
            {
                "expires": "Mon, 01 Jan 2024 02:00:00 GMT",
                "date": "Mon, 01 Jan 2024 00:00:00 GMT",
            },
            2 * HOUR,
        ),
        ({"expires": "0"}, 600),
        ({"expires": "-1"}, 600),
        ({"expires": "Tue, 99 Zzz 9999 99:99:99"}, 600),
    ],
)
def test_cache_headers_shorten_a_day(headers, seconds):
    for status in (200, 404):
        assert decide(None, RobotsFetch(status, headers=headers), NOW).expires_at == NOW + seconds


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("3600", HOUR),
        ("1", 300),
        ("99999999", DAY),
        ("Tue, 14 Nov 2023 23:13:20 GMT", HOUR),
        ("Tue, 14 Nov 2000 23:13:20 GMT", 300),
        ("later", 300),
    ],
)
def test_retry_after_puts_the_next_try_off(value, seconds):
    entry = decide(None, RobotsFetch(503, headers={"retry-after": value}), NOW)
    assert entry.expires_at == NOW + seconds


def test_retry_after_is_obeyed_up_to_a_limit():
    policy = RobotsPolicy(retry_secs=1, max_retry_after_secs=2)
    entry = decide(None, RobotsFetch(503, headers={"retry-after": "86400"}), NOW, policy)
    assert entry.expires_at == NOW + 2


def test_an_error_page_is_said_to_be_one():
    entry = decide(None, RobotsFetch(200, body=b"<!doctype html><p>Not found"), NOW)
    assert entry.problems == ("html",)
    assert entry.body == b""
    assert entry.rules().explain("http://h/", "x").reason == "html"


def test_only_the_limit_is_kept():
    policy = RobotsPolicy(body_limit=1000)
    entry = decide(None, RobotsFetch(200, body=b"Disallow: /x\n" * 1000), NOW, policy)
    assert len(entry.body) <= 1000
    assert "truncated" in entry.problems
