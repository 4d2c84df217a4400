"""Decision: an answer together with the group and the line that gave it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decision:
    """May a crawler fetch a URL, and why.

    `group` is the product token whose group was obeyed, `*`, or None where no group speaks to
    the crawler. `rule` and `line` are the rule that decided, as written, and its number in the
    file; None where no rule did. `reason` is a short name for logs and counters: allow_rule,
    disallow_rule, no_rule, no_group, no_lines (nothing in the file says anything), html (an
    error page in the place of the file), or what the lack of a file means: unavailable,
    unreachable.
    """

    allowed: bool
    reason: str
    group: str | None = None
    rule: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        verdict = "allowed" if self.allowed else "disallowed"
        if self.rule is not None:
            return f"{verdict} by line {self.line} ({self.rule}) of the group for {self.group}"
        return f"{verdict}: {_SENTENCES.get(self.reason, self.reason).format(group=self.group)}"


_SENTENCES = {
    "no_rule": "no rule of the group for {group} matches",
    "no_group": "no group speaks to this crawler",
    "no_lines": "robots.txt says nothing to crawlers",
    "html": "a web page was served in the place of robots.txt",
    "unavailable": "there is no robots.txt",
    "unreachable": "robots.txt cannot be reached",
}
