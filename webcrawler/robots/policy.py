"""What an answer to a request for robots.txt means, and for how long: RFC 9309, section 2.3.

| the server                                   | the crawler                                  |
|----------------------------------------------|----------------------------------------------|
| 2xx                                          | obeys the rules, for a day at most           |
| 304, asked for with a validator              | obeys the rules it has, for a day more       |
| other 3xx: too many redirects, or to nowhere | may fetch everything ("unavailable")         |
| 4xx, also 401 and 403                        | may fetch everything ("unavailable")         |
| 429, 5xx, any other number, no answer        | may fetch nothing ("unreachable"), or obeys  |
|                                              | the rules it had; asks again before long     |
| ... for longer than `unreachable_secs`       | may fetch everything, as if unavailable      |

429 is among the 4xx of RFC 9309, but says "not now", not "there is none": Google, too, takes it
for a server error. An entry that said "unavailable" is no rules to fall back on: when the
server fails after that, nothing may be fetched.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from email.utils import mktime_tz, parsedate_tz
from types import MappingProxyType
from typing import TYPE_CHECKING

from webcrawler.robots.corrections import BODY_LIMIT
from webcrawler.robots.entry import EntryKind, RobotsEntry
from webcrawler.robots.rules import RobotsRules

if TYPE_CHECKING:
    from collections.abc import Mapping

_DAY = 86_400.0
# Failures last only while somebody looks: two of them a month apart are not a month of failure.
_PAUSE = 7 * _DAY
_HEADER_LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class RobotsPolicy:
    """How long what is known of a robots.txt is good for, in seconds.

    `min_fresh_secs` is the floor under Cache-Control: a site that forbids caching would
    otherwise be asked for robots.txt before every page, which nobody wants less than the site.
    While a robots.txt is unreachable it is asked for again after as long as that has lasted,
    within `retry_secs` and `max_retry_secs`; later where Retry-After says so, up to
    `max_retry_after_secs`. `keep_rules` goes on with known rules after
    `unreachable_secs`, which RFC 9309 allows as well, instead of allowing everything.
    """

    max_fresh_secs: float = _DAY
    min_fresh_secs: float = 600.0
    retry_secs: float = 300.0
    max_retry_secs: float = 4 * 3_600.0
    max_retry_after_secs: float = _DAY
    unreachable_secs: float = 30 * _DAY
    keep_rules: bool = False
    body_limit: int = BODY_LIMIT


@dataclass(frozen=True, slots=True)
class RobotsFetch:
    """What came of fetching a robots.txt, redirects followed.

    `status` is None and `error` says why where there was no answer. Of the headers, by lower
    case name, cache-control, expires, date, age and retry-after are read.
    """

    status: int | None = None
    error: str = ""
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    body: bytes = b""
    redirects: int = 0


def decide(
    previous: RobotsEntry | None,
    fetch: RobotsFetch,
    now: float,
    policy: RobotsPolicy = RobotsPolicy(),
) -> RobotsEntry:
    """The entry that takes the place of `previous`, which may be None, after a fetch."""
    status = 0 if fetch.status is None or fetch.error else fetch.status
    expires_at = now + fresh_secs(fetch.headers, now, policy)
    if 200 <= status < 300:
        rules = RobotsRules.parse(fetch.body, limit=policy.body_limit)
        return RobotsEntry(
            EntryKind.RULES,
            now,
            expires_at,
            status=status,
            problems=rules.problems,
            body=rules.body,
        )
    if status == 304:
        if previous is not None and previous.kind is EntryKind.RULES:
            return RobotsEntry(
                EntryKind.RULES,
                now,
                expires_at,
                status=status,
                problems=previous.problems,
                body=previous.body,
            )
    elif 300 <= status < 500 and status != 429:
        detail = f"status {status}"
        if fetch.redirects:
            detail += f" after {fetch.redirects} redirects"
        return RobotsEntry(EntryKind.ALLOW_ALL, now, expires_at, status=status, detail=detail)
    return _unreachable(previous, fetch, status, now, policy)


def fresh_secs(headers: Mapping[str, str], now: float, policy: RobotsPolicy) -> float:
    """For how long an answer with these headers is good."""
    lifetime = policy.max_fresh_secs
    max_age: float | None = None
    for directive in headers.get("cache-control", "")[:_HEADER_LIMIT].lower().split(","):
        name, _, value = directive.strip().partition("=")
        if name in ("no-cache", "no-store"):
            return min(policy.min_fresh_secs, policy.max_fresh_secs)
        if name == "max-age":
            max_age = _seconds(value)
    if max_age is not None:
        lifetime = max_age - (_seconds(headers.get("age", "")) or 0.0)
    elif "expires" in headers:
        expires_at = _http_date(headers["expires"])
        # A date that is none ("0", "-1") means: already expired.
        lifetime = (
            0.0 if expires_at is None else expires_at - (_http_date(headers.get("date", "")) or now)
        )
    return min(max(lifetime, policy.min_fresh_secs), policy.max_fresh_secs)


def _unreachable(
    previous: RobotsEntry | None,
    fetch: RobotsFetch,
    status: int,
    now: float,
    policy: RobotsPolicy,
) -> RobotsEntry:
    since = previous.unreachable_since if previous is not None else None
    if previous is None or since is None or not since <= now <= previous.expires_at + _PAUSE:
        since = now
    lasted = now - since
    retry = min(max(lasted, policy.retry_secs), policy.max_retry_secs)
    retry_after = _retry_after(fetch.headers.get("retry-after", ""), now)
    if retry_after is not None:
        retry = max(retry, min(retry_after, policy.max_retry_after_secs))
    detail = fetch.error or (f"status {status}" if status else "no answer")
    old_rules = previous is not None and previous.kind is EntryKind.RULES
    given_up = lasted >= policy.unreachable_secs
    if previous is not None and old_rules and (policy.keep_rules or not given_up):
        return RobotsEntry(
            EntryKind.RULES,
            previous.fetched_at,
            now + retry,
            since,
            status,
            detail,
            previous.problems,
            previous.body,
        )
    kind = EntryKind.ALLOW_ALL if given_up else EntryKind.DISALLOW_ALL
    return RobotsEntry(kind, now, now + retry, since, status, detail)


def _seconds(value: str) -> float | None:
    digits = value.strip().strip('"')
    # Twelve digits are thirty thousand years; more would only cost time.
    return float(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 12 else None


def _http_date(value: str) -> float | None:
    try:
        parsed = parsedate_tz(value[:64])
        return None if parsed is None else float(mktime_tz(parsed))
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


def _retry_after(value: str, now: float) -> float | None:
    seconds = _seconds(value)
    if seconds is not None:
        return seconds
    at = _http_date(value) if value else None
    return None if at is None else max(0.0, at - now)
