"""What a site says about being crawled: robots.txt, robots meta tags and X-Robots-Tag.

Before the first page of an authority (scheme, host and port) its robots.txt is fetched, by
somebody else. `decide` says what the answer means, and until when: a `RobotsEntry` with rules,
or one that allows or disallows everything. The entry goes into the crawl's store, where other
workers find it, and its parsed rules into a `RobotsCache`. From then on `RobotsRules` answers,
for a URL and our product token, whether we may fetch it, which line says so, and how slowly.
When the entry is stale robots.txt is fetched again, and where that fails the old rules stand.

A body goes three steps: `corrections` reads its lines by RFC 9309, in front of Protego and
instead of it where it is wrong; Protego reads what the group asks for beside its rules
(Crawl-delay, Request-rate, Visit-time); `matcher` finds the rule that decides a path, because
Protego cannot say which line it was, and is held against Protego by tests.

After the page has come, `parse_headers` and `parse_meta` give its `Directives`; `may_have_meta`
and `meta_pairs` find the meta tags without parsing the page.
"""

from __future__ import annotations

from webcrawler.robots.cache import TABLE, CachedRobots, RobotsCache, authority_of, robots_url
from webcrawler.robots.corrections import BODY_LIMIT
from webcrawler.robots.decision import Decision
from webcrawler.robots.directives import Directives, parse_headers, parse_meta
from webcrawler.robots.entry import EntryKind, RobotsEntry
from webcrawler.robots.policy import RobotsFetch, RobotsPolicy, decide
from webcrawler.robots.quick_meta import may_have_meta, meta_pairs
from webcrawler.robots.rules import RequestRate, RobotsRules, VisitTime
from webcrawler.robots.user_agent import product_token

__all__ = [
    "BODY_LIMIT",
    "TABLE",
    "CachedRobots",
    "Decision",
    "Directives",
    "EntryKind",
    "RequestRate",
    "RobotsCache",
    "RobotsEntry",
    "RobotsFetch",
    "RobotsPolicy",
    "RobotsRules",
    "VisitTime",
    "authority_of",
    "decide",
    "may_have_meta",
    "meta_pairs",
    "parse_headers",
    "parse_meta",
    "product_token",
    "robots_url",
]
