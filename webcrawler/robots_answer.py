"""What is said of one robots.txt and of some URLs: as plain data, and as people read it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from webcrawler.command_text import harmless
from webcrawler.robots import EntryKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawler.robots import RobotsEntry, RobotsRules

_SITEMAPS_SHOWN = 10


def make_answer(
    entry: RobotsEntry,
    urls: list[str],
    agent: str,
    source: dict[str, Any],
    *,
    crawl_delay_max: float,
    now: float,
) -> dict[str, Any]:
    """Everything there is to say, for a product token.

    `source` says where the entry is from (`from`: site, job or file; `robots`: its URL or name).
    """
    rules = entry.rules()
    rate, hours = rules.request_rate(agent), rules.visit_time(agent)
    answer: dict[str, Any] = {**source, "kind": entry.kind.name.lower()}
    if source["from"] != "file":
        answer |= {
            "status": entry.status or None,
            "fetched_at": datetime.fromtimestamp(entry.fetched_at, UTC).isoformat(),
            "age_secs": round(max(0.0, now - entry.fetched_at), 1),
            "good_for_secs": round(entry.expires_at - now, 1),
            "is_fresh": entry.is_fresh(now),
            "failure": entry.detail or None,
        }
    return answer | {
        "problems": list(entry.problems),
        "group": rules.explain("/", agent).group,
        "crawl_delay": rules.crawl_delay(agent),
        "crawl_delay_max": crawl_delay_max,
        "request_rate": {"requests": rate.requests, "seconds": rate.seconds} if rate else None,
        "visit_time": [f"{hours.start_time:%H:%M}", f"{hours.end_time:%H:%M}"] if hours else None,
        "sitemaps": list(rules.sitemaps),
        "urls": [_verdict(rules, url, agent) for url in urls],
    }


def _verdict(rules: RobotsRules, url: str, agent: str) -> dict[str, Any]:
    decision = rules.explain(url, agent)
    return {
        "url": url,
        "allowed": decision.allowed,
        "reason": decision.reason,
        "group": decision.group,
        "line": decision.line,
        "rule": decision.rule,
        "sentence": str(decision),
    }


def answer_lines(answer: dict[str, Any], agent: str) -> list[str]:
    """An answer as people read it."""
    lines = [harmless(answer["robots"]), *(f"  {line}" for line in _story(answer, agent))]
    lines += [f"  sitemap {url}" for url in answer["sitemaps"][:_SITEMAPS_SHOWN]]
    hidden = len(answer["sitemaps"]) - _SITEMAPS_SHOWN
    if hidden > 0:
        lines.append(f"  and {hidden:,} more sitemaps")
    for url in answer["urls"]:
        lines += [f"  {harmless(url['url'])}", f"    {harmless(url['sentence'])}"]
    return lines


def _story(answer: dict[str, Any], agent: str) -> Iterator[str]:
    if answer["from"] != "file":
        yield harmless(_origin(answer))
        yield f"{_age(answer)}; {_trust(answer)}"
    if answer["kind"] == EntryKind.RULES.name.lower():
        group = answer["group"]
        yield f"{agent} obeys the group for {group}" if group else f"no group speaks to {agent}"
    if answer["problems"]:
        yield f"what is odd about it: {', '.join(answer['problems'])}"
    delay = answer["crawl_delay"]
    if delay is not None:
        longest = answer["crawl_delay_max"]
        cap = f", of which {longest:g} s are obeyed" if delay > longest else ""
        yield f"crawl-delay {delay:g} s{cap}"
    rate = answer["request_rate"]
    if rate is not None:
        yield f"request-rate {rate['requests']} in {rate['seconds']} s"
    if answer["visit_time"] is not None:
        yield "visit-time {} to {} UTC".format(*answer["visit_time"])


def _origin(answer: dict[str, Any]) -> str:
    status, failure = answer["status"], answer["failure"]
    if answer["kind"] == EntryKind.DISALLOW_ALL.name.lower():
        text = f"cannot be had ({failure}): nothing may be fetched until it answers"
    elif answer["kind"] == EntryKind.ALLOW_ALL.name.lower():
        text = f"there is none ({failure or f'status {status}'}): everything may be fetched"
    elif failure:
        text = f"cannot be had ({failure}): the rules of the last time stand"
    else:
        text = f"status {status}"
    if "redirects" in answer:
        count = answer["redirects"]
        text += f", after {count} redirect{'s' if count > 1 else ''} to {answer['redirected_to']}"
    return text


def _age(answer: dict[str, Any]) -> str:
    if answer["from"] == "job":
        return f"the crawl asked for it {_duration(answer['age_secs'])} ago"
    if "not_in_job" in answer:
        return "the crawl has not asked for it; asked for just now"
    return "asked for just now"


def _trust(answer: dict[str, Any]) -> str:
    left = answer["good_for_secs"]
    if answer["kind"] == EntryKind.DISALLOW_ALL.name.lower():
        return f"to be asked again in {_duration(left)}" if left > 0 else "to be asked again now"
    return f"believed for {_duration(left)}" if answer["is_fresh"] else "to be asked again first"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
