"""The robots gate: what the scheduler asks before a URL is fetched.

Robots.txt is fetched by its host's own turn: when a URL is due and the rules of its authority are
not known or stale, the scheduler sends the gate's errand in its place, and the URL is first in its
host's back queue again. So the fetch counts against the host's delay, is made once however many
URLs wait, and costs no slot that other hosts could use. A redirect on the same host is followed at
the host's next turn. One to another host becomes a record there and waits for that host's turn;
where that host itself waits for rules from elsewhere, its turn is lent to the errand, or two hosts
that redirect to each other would wait for ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote_from_bytes

import xxhash

from webcrawler.frontier.record import ROBOTS, SITEMAP, Record
from webcrawler.politeness.cause import Cause
from webcrawler.robots import (
    TABLE,
    EntryKind,
    RobotsCache,
    RobotsFetch,
    RobotsPolicy,
    authority_of,
    decide,
    robots_url,
)
from webcrawler.tables import Batch
from webcrawler.urls import host_key, normalize

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.http import Response

    from webcrawler.frontier.store import Store
    from webcrawler.robots import Decision, RobotsEntry, RobotsRules

_MAX_HOPS = 5
_ABROAD_SECS = 2.0  # how often a host asks whether the answer from elsewhere has come
_ABROAD_PATIENCE = 300.0
_MAX_SITEMAPS = 1000
_MAX_URL = 2048
_LONGEST_DELAY = 1e6  # more has no meaning, and no place in a host's row
_ASCII = bytes(range(128))
_HEADERS = ("Cache-Control", "Expires", "Date", "Age", "Retry-After")
_KINDS = {
    EntryKind.RULES: "rules",
    EntryKind.ALLOW_ALL: "absent",
    EntryKind.DISALLOW_ALL: "unreachable",
}
READ_BYTES = 1 << 20  # RFC 9309 wants 500 KiB at least; what comes after this is not read
INFLATED_BYTES = 16 * READ_BYTES  # a compressed one that becomes more than this is a bomb


@dataclass(slots=True)
class Errand:
    """A robots.txt on its way. `abroad_since` is set while another host is asked for it."""

    authority: str
    url: str
    hops: int = 0
    abroad_since: float = 0.0

    @property
    def host(self) -> str:
        return host_key(robots_url(self.authority))


@dataclass(frozen=True, slots=True)
class Wait:
    """The URL's host has to wait until then."""

    until: float
    cause: Cause


class Learned(NamedTuple):
    """What an errand brought: records to be put, and the delay its authority asks for.

    `delay` is None where nothing was learned: the errand goes on, or has failed.
    """

    records: list[Record]
    delay: float | None = None


class RobotsGate:
    """Knows the rules of each authority, or what to do to learn them.

    `fingerprint` is the identity of a URL in the frontier: a sitemap is fetched once, even where
    pages link to it. `tell` gets the sentences a person should read, `count` the names of what is
    counted.
    """

    def __init__(
        self,
        store: Store,
        agent: str,
        policy: RobotsPolicy,
        fingerprint: Callable[[str], int],
        *,
        memory: int = 32 << 20,
        sitemaps: bool = True,
        tell: Callable[[str], None] = lambda sentence: None,
        count: Callable[[str], object] = lambda name: None,
    ) -> None:
        self.agent = agent
        self._store = store
        self._policy = policy
        self._fingerprint = fingerprint
        self._cache = RobotsCache(memory, store.table(TABLE))
        self._errands: dict[str, Errand] = {}
        self._guests: dict[str, list[Errand]] = {}  # by the host whose turn they are lent
        self._failures: dict[str, str] = {}
        self._sitemaps = sitemaps
        self._tell = tell
        self._count = count
        self._has_told = False

    def ask(self, url: str, now: float) -> Errand | Wait | None:
        """None: its rules are known. Else what has to be done, or waited for, first."""
        if self._guests and (host := host_key(url)) in self._guests:
            return self._guest(host)
        authority = authority_of(url)
        robots = self._cache.get(authority, now)
        if robots is not None and robots.entry.is_fresh(now):
            if robots.entry.kind is EntryKind.DISALLOW_ALL:
                return Wait(robots.entry.expires_at, Cause.ROBOTS)
            return self._visit_time(robots.rules, now)
        errand = self._errands.get(authority)
        if errand is None:
            errand = self._errands[authority] = Errand(authority, robots_url(authority))
        if not errand.abroad_since:
            return errand
        if now < errand.abroad_since + _ABROAD_PATIENCE:
            return Wait(now + _ABROAD_SECS, Cause.ROBOTS)
        self._decide(errand, RobotsFetch(error="no answer to a redirect"), now)
        return self.ask(url, now)

    def explain(self, url: str, now: float) -> Decision | None:
        """Why the URL is refused; None where it may be fetched, or nothing is known yet."""
        robots = self._cache.get(authority_of(url), now)
        if robots is None or robots.rules.allowed(url, self.agent):
            return None
        return robots.rules.explain(url, self.agent)

    def errand_of(self, record: Record, now: float) -> Errand:
        """The errand that a record made abroad stands for."""
        authority, _, hops = record.errand.rpartition(" ")
        errand = Errand(authority, record.url, int(hops), abroad_since=now)
        return self._errands.setdefault(authority, errand)

    def answered(
        self, errand: Errand, url: str, result: Response | Exception, now: float
    ) -> Learned:
        """An errand came back: remember what it says."""
        if isinstance(result, Exception):
            return self._decide(errand, RobotsFetch(error=type(result).__name__), now)
        location = result.headers.get("Location")
        if 300 <= result.status < 400 and location and errand.hops < _MAX_HOPS:
            # Bytes that are not ASCII are kept as they are, as browsers do.
            target = normalize(quote_from_bytes(location, safe=_ASCII), url)
            is_web = target is not None and target.startswith(("http://", "https://"))
            if target is not None and is_web and len(target) <= _MAX_URL:
                errand.hops += 1
                return Learned(self._redirected(errand, target, now))
        headers = {
            name.lower(): (result.headers.get(name) or b"").decode("latin-1")
            for name in _HEADERS
            if name in result.headers
        }
        fetch = RobotsFetch(result.status, "", headers, result.body[:READ_BYTES], errand.hops)
        return self._decide(errand, fetch, now)

    def take_failure(self, url: str) -> str:
        """Why robots.txt could not be had, once for each time; "" where that is not so.

        Whoever takes it counts it against the URL that waited.
        """
        return self._failures.pop(authority_of(url), "") if self._failures else ""

    # -- inside

    def _guest(self, host: str) -> Errand:
        """An errand of another host that is run in this host's turn."""
        guests = self._guests[host]
        errand = guests.pop()
        if not guests:
            del self._guests[host]
        return errand

    def _redirected(self, errand: Errand, target: str, now: float) -> list[Record]:
        """Where the errand goes on: at home, in another host's turn, or as a record there."""
        errand.url = target
        host = host_key(target)
        if host == errand.host:
            errand.abroad_since = 0.0
            return []
        errand.abroad_since = errand.abroad_since or now
        if any(other.abroad_since and other.host == host for other in self._errands.values()):
            self._guests.setdefault(host, []).append(errand)
            return []
        key = f"robots {errand.authority} {errand.hops} {target} {now}"
        return [
            Record(
                target,
                xxhash.xxh3_64_intdigest(key.encode()),
                host,
                payload=ROBOTS + f"{errand.authority} {errand.hops}".encode(),
            )
        ]

    def _decide(self, errand: Errand, fetch: RobotsFetch, now: float) -> Learned:
        authority = errand.authority
        self._errands.pop(authority, None)
        previous = self._cache.get(authority, now)
        old = previous.entry if previous is not None else None
        entry = decide(old, fetch, now, self._policy)
        batch = Batch()
        robots = self._cache.put(authority, entry, batch)
        self._store.commit(batch)
        self._count(f"robots/{_KINDS[entry.kind]}")
        for problem in entry.problems:
            self._count(f"robots/problem/{problem}")
        if entry.kind is EntryKind.DISALLOW_ALL:
            self._failures[authority] = entry.detail
            self._complain(authority, entry, now)
            return Learned([])
        self._failures.pop(authority, None)
        delay = self._crawl_delay(errand.host, now)
        if entry.kind is not EntryKind.RULES or not self._sitemaps:
            return Learned([], delay)
        return Learned(
            [
                sitemap_record(url, self._fingerprint(url), errand.host)
                for url in map(normalize, robots.rules.sitemaps[:_MAX_SITEMAPS])
                if url is not None and url.startswith(("http://", "https://"))
            ],
            delay,
        )

    def _complain(self, authority: str, entry: RobotsEntry, now: float) -> None:
        """A crawl of the web meets such hosts all day: the first in full, the others counted."""
        if not self._has_told:
            self._has_told = True
            self._tell(
                f"{robots_url(authority)} cannot be had ({entry.detail}): nothing of it is fetched "
                f"until it answers; next try in {entry.expires_at - now:.0f} s (said once; all of "
                f"them are counted as robots/unreachable)"
            )

    def _crawl_delay(self, host: str, now: float) -> float:
        """The longest delay that http and https of a host ask for: they share its turns."""
        has_port = ":" in host.rpartition("]")[2]
        authorities = [
            f"{scheme}://{host}" if has_port else f"{scheme}://{host}:{port}"
            for scheme, port in (("http", 80), ("https", 443))
        ]
        delay = 0.0
        for authority in authorities:
            robots = self._cache.get(authority, now)
            if robots is None:
                continue
            delay = max(delay, robots.rules.crawl_delay(self.agent) or 0.0)
            rate = robots.rules.request_rate(self.agent)
            if rate is not None and rate.requests > 0:
                delay = max(delay, rate.seconds / rate.requests)
        return min(delay, _LONGEST_DELAY)

    def _visit_time(self, rules: RobotsRules, now: float) -> Wait | None:
        window = rules.visit_time(self.agent)
        if window is None:
            return None
        moment = datetime.fromtimestamp(now, UTC)
        time = moment.time()
        begin, end = window.start_time, window.end_time
        is_open = begin <= time <= end if begin <= end else time >= begin or time <= end
        if is_open:
            return None
        opens = datetime.combine(moment.date(), begin, UTC)
        if opens <= moment:
            opens += timedelta(days=1)
        return Wait(opens.timestamp(), Cause.VISIT_TIME)


def sitemap_record(
    url: str, fingerprint: int, owner: str, level: int = 0, depth: int = 1, hops: int = 0
) -> Record:
    """A sitemap to be fetched; it speaks for the URLs of its owner's host.

    `depth` is that of its URLs, or its own if it turns out to be a page: as far from a seed as what
    the front page links to.
    """
    return Record(
        url,
        fingerprint,
        host_key(url),
        depth=depth,
        hops=hops,
        payload=SITEMAP + f"{owner} {level}".encode(),
    )


def redirected_sitemap(record: Record, url: str, fingerprint: int) -> Record:
    """The sitemap that another one was moved to."""
    owner, _, level = record.errand.rpartition(" ")
    return sitemap_record(url, fingerprint, owner, int(level), record.depth, record.hops + 1)
