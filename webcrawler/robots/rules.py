"""RobotsRules: what one robots.txt says, to whichever crawler asks."""

from __future__ import annotations

import re
from array import array
from typing import TYPE_CHECKING

from protego import Protego, RequestRate, VisitTime

from webcrawler.robots.corrections import (
    ALLOW,
    BODY_LIMIT,
    DISALLOW,
    compact,
    prepare,
    protego_text,
    read_group,
)
from webcrawler.robots.decision import Decision
from webcrawler.robots.matcher import RuleIndex, just_below, line_of, rank_of
from webcrawler.robots.paths import (
    is_plain,
    path_of,
    plain_path,
    plain_rule,
    written_path,
    written_rule,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webcrawler.robots.corrections import Group

__all__ = ["RequestRate", "RobotsRules", "VisitTime"]

# Different crawlers one set of rules is compiled for before the oldest is forgotten.
_AGENTS_LIMIT = 16
# Rules with `*` inside that are compared as written; ten times what any real file has. A
# Disallow beyond them ends at its first `*` and an Allow is dropped: never more is allowed.
_WILDCARDS_LIMIT = 5_000
_HTML_MARKS = (b"<!doctype", b"<html", b"<head", b"<body", b"<script", b"<?xml")


class RobotsRules:
    """The rules of a robots.txt: never raises, whatever the body was.

    `agent` is always a product token (`user_agent.product_token`), compared without case.
    Rules are compiled when a crawler first asks: one file may name thousands, and one asks.
    `/robots.txt` itself is decided by the rules like any other path, as Google's suite has it;
    the fetch of robots.txt that precedes all others needs nobody's leave.
    """

    __slots__ = ("_body", "_groups", "_offsets", "_problems", "_sitemaps", "_verdict")

    def __init__(
        self, body: bytes = b"", problems: Iterable[str] = (), verdict: Decision | None = None
    ) -> None:
        self._body = body
        self._problems = set(problems)
        self._groups: dict[str, _Compiled] = {}
        self._sitemaps: tuple[str, ...] | None = None
        self._verdict = verdict
        self._offsets: array[int] | None = None

    @classmethod
    def parse(cls, body: bytes, *, limit: int = BODY_LIMIT) -> RobotsRules:
        """The rules in a body as it was served; bytes beyond the limit are not read."""
        problems: set[str] = set()
        lines = compact(prepare(body, limit, problems), problems)
        start = body[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
        if start.startswith(b"<") and any(mark in start for mark in _HTML_MARKS):
            problems.add("html")
        elif not lines and start[:1] not in (b"", b"#"):
            problems.add("no_lines")
        return cls(lines, problems)

    @classmethod
    def allow_all(cls, reason: str = "unavailable") -> RobotsRules:
        return cls(verdict=Decision(True, reason))

    @classmethod
    def disallow_all(cls, reason: str = "unreachable") -> RobotsRules:
        return cls(verdict=Decision(False, reason))

    @property
    def body(self) -> bytes:
        """The lines that were understood, each at its number: enough to build the rules again."""
        return self._body

    @property
    def size(self) -> int:
        """Bytes of memory this may come to take when one crawler asks: an upper estimate."""
        return 2_048 + 10 * len(self._body)

    @property
    def problems(self) -> tuple[str, ...]:
        """What was wrong with the file, as short names: html, no_lines, truncated, utf16 ..."""
        return tuple(sorted(self._problems))

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The Sitemap lines' values, in order, limited in number and length; not yet URLs."""
        if self._sitemaps is None:
            self._compile("")
        return self._sitemaps or ()

    def allowed(self, url: str, agent: str) -> bool:
        """Whether the crawler may fetch the URL."""
        compiled = self._groups.get(agent) or self._compile(agent)
        if not compiled.has_disallow:
            return self._verdict is None or self._verdict.allowed
        path = path_of(url)
        if is_plain(path):
            disallow = compiled.disallow.find(path)
            return not disallow or compiled.allow.find(path, just_below(disallow)) > 0
        disallow = compiled.disallow.find(plain_path(path))
        return not disallow or compiled.allow.find(written_path(path), just_below(disallow)) > 0

    def explain(self, url: str, agent: str) -> Decision:
        """The same answer as `allowed`, with the group and the line that gave it."""
        compiled = self._groups.get(agent) or self._compile(agent)
        if self._verdict is not None:
            return self._verdict
        group = compiled.token
        if group is None:
            if "html" in self._problems:
                return Decision(True, "html")
            return Decision(True, "no_group" if self._body else "no_lines")
        path = path_of(url)
        disallow = compiled.disallow.find(plain_path(path))
        allow = compiled.allow.find(written_path(path), just_below(disallow) if disallow else 0)
        rank = allow or disallow
        if not rank:
            return Decision(True, "no_rule", group)
        line = line_of(rank)
        reason = "allow_rule" if allow else "disallow_rule"
        return Decision(bool(allow), reason, group, self._line(line), line)

    def crawl_delay(self, agent: str) -> float | None:
        """Seconds between fetches the site asks of this crawler; not capped."""
        return (self._groups.get(agent) or self._compile(agent)).crawl_delay

    def request_rate(self, agent: str) -> RequestRate | None:
        return (self._groups.get(agent) or self._compile(agent)).request_rate

    def visit_time(self, agent: str) -> VisitTime | None:
        return (self._groups.get(agent) or self._compile(agent)).visit_time

    def _compile(self, agent: str) -> _Compiled:
        group = read_group(self._body, agent)
        compiled = _Compiled(group)
        if self._sitemaps is None:
            self._sitemaps = tuple(group.sitemaps)
        if len(self._groups) >= _AGENTS_LIMIT:
            del self._groups[next(iter(self._groups))]
        self._groups[agent] = compiled
        return compiled

    def _line(self, number: int) -> str:
        offsets = self._offsets
        if offsets is None:
            offsets = array("L", [0])
            offsets.extend(match.end() for match in re.finditer(b"\n", self._body))
            offsets.append(len(self._body) + 1)
            self._offsets = offsets
        line = self._body[offsets[number - 1] : offsets[number] - 1]
        field, _, value = line.decode("utf-8", "replace").partition(":")
        return f"{field}: {value}"


class _Compiled:
    """One group, ready to answer."""

    __slots__ = (
        "allow",
        "crawl_delay",
        "disallow",
        "has_disallow",
        "request_rate",
        "token",
        "visit_time",
    )

    def __init__(self, group: Group) -> None:
        self.token = group.token
        self.allow = RuleIndex()
        self.disallow = RuleIndex()
        others = False
        for line, field, value in group.lines:
            if field == ALLOW:
                if value and self.allow.wildcards < _WILDCARDS_LIMIT:
                    _add_allow(self.allow, written_rule(value), line)
            elif field == DISALLOW:
                if value:
                    written = written_rule(value)
                    plain = plain_rule(written)
                    if self.disallow.wildcards >= _WILDCARDS_LIMIT:
                        plain = plain.partition("*")[0]
                    self.disallow.add(plain, rank_of(len(written), line))
            else:
                others = True
        self.allow.seal()
        self.disallow.seal()
        self.has_disallow = len(self.disallow) > 0
        self.crawl_delay: float | None = None
        self.request_rate: RequestRate | None = None
        self.visit_time: VisitTime | None = None
        if others:
            protego = Protego.parse(protego_text(group, with_rules=False))
            self.crawl_delay = protego.crawl_delay("*")
            self.request_rate = protego.request_rate("*")
            self.visit_time = protego.visit_time("*")


def _add_allow(index: RuleIndex, written: str, line: int) -> None:
    index.add(written, rank_of(len(written), line))
    # Whoever allows /folder/index.html allows /folder/, which is the same page.
    folder, slash, page = written.rpartition("/")
    if slash and page in ("index.html", "index.htm"):
        index.add(f"{folder}/$", rank_of(len(folder) + 2, line))
