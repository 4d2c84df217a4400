"""The robots.txt files of the sample web, and what they allow, by a reading of its own.

The reading follows RFC 9309 for the few things these files say; it shares nothing with the
crawler's, so that one can be held against the other.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from .response import Response

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .recipe import Recipe

MOVED_PATH: Final = "/robots-moved.txt"

_TEXT = "text/plain; charset=utf-8"
_BIG = 600_000
_PRIVATE = (("Disallow", "/private/"),)


class Group(NamedTuple):
    """The rules for some agents; `*` stands for all that no other group names."""

    agents: tuple[str, ...]
    rules: tuple[tuple[str, str], ...]
    delay: float | None = None


def groups(kind: str, recipe: Recipe) -> tuple[Group, ...]:
    """What a robots.txt of that kind says."""
    agent = recipe.agent
    if kind in ("directory", "crlf", "redirected"):
        return (Group(("*",), _PRIVATE),)
    if kind == "big":
        return (Group(("*",), _PRIVATE), Group(("otherbot",), ()))
    if kind == "delay":
        return (Group(("*",), (("Disallow", ""),), recipe.crawl_delay),)
    if kind in ("everything", "error"):
        # No answer is no permission.
        return (Group(("*",), (("Disallow", "/"),)),)
    if kind == "named":
        return (
            Group((agent, "otherbot"), _PRIVATE),
            Group(("*",), (("Disallow", "/"),)),
        )
    if kind == "banned":
        return (Group((agent,), (("Disallow", "/"),)), Group(("*",), (("Allow", "/"),)))
    if kind == "exceptions":
        rules = (*_PRIVATE, ("Allow", "/private/north/"), ("Disallow", "/*.pdf$"))
        return (Group(("*",), rules),)
    return (Group(("*",), (("Disallow", ""),)),)


def is_allowed(path: str, agent: str, said: Sequence[Group]) -> bool:
    """Whether the agent may fetch the path: the longest rule wins, Allow wins a tie."""
    group = _group(agent, said)
    longest, allowed = -1, True
    for directive, pattern in group.rules if group else ():
        if pattern and _matches(pattern, path):
            is_allow = directive == "Allow"
            if len(pattern) > longest or (len(pattern) == longest and is_allow):
                longest, allowed = len(pattern), is_allow
    return allowed


def crawl_delay(agent: str, said: Sequence[Group]) -> float | None:
    """The Crawl-delay for the agent; None where none is given."""
    group = _group(agent, said)
    return group.delay if group else None


def has_text(kind: str) -> bool:
    """Whether a robots.txt of that kind can name sitemaps."""
    return kind not in ("missing", "page", "forbidden", "error")


def respond(kind: str, path: str, recipe: Recipe, sitemaps: Sequence[str]) -> Response:
    """The answer for /robots.txt, or for the path it was moved to."""
    if kind == "missing" or (path == MOVED_PATH and kind != "redirected"):
        return Response(404, "text/html; charset=utf-8", b"<h1>Not found</h1>\n")
    if kind == "forbidden":
        return Response(403, "text/html; charset=utf-8", b"<h1>Forbidden</h1>\n")
    if kind == "error":
        return Response(500, "text/html; charset=utf-8", b"<h1>Server error</h1>\n")
    if kind == "page":
        page = (
            "<!DOCTYPE html>\n<html><head><title>Page not found</title></head><body>\n"
            "<p>Disallow is a word that this page merely mentions.</p>\n</body></html>\n"
        )
        return Response(200, "text/html; charset=utf-8", page.encode())
    if kind == "redirected" and path != MOVED_PATH:
        return Response(301, headers=(("Location", MOVED_PATH),))
    return Response(200, _TEXT, _text(kind, recipe, sitemaps))


def _text(kind: str, recipe: Recipe, sitemaps: Sequence[str]) -> bytes:
    blocks = []
    for group in groups(kind, recipe):
        lines = [f"User-agent: {agent}" for agent in group.agents]
        lines += [f"{directive}: {pattern}" for directive, pattern in group.rules]
        if group.delay is not None:
            lines.append(f"Crawl-delay: {group.delay:g}")
        blocks.append("\n".join(lines))
    if sitemaps:
        blocks.append("\n".join(f"Sitemap: {url}" for url in sitemaps))
    text = "\n\n".join(blocks) + "\n"
    if kind == "crlf":
        text = text.replace("User-agent", "# a comment\nuser-AGENT").replace(
            "Disallow:", "DISALLOW :"
        )
        return b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()
    if kind == "big":
        # After what matters, so that a reader who stops at 500 KiB misses nothing.
        line = "Disallow: /nowhere/{:06d}/\n"
        text += "".join(line.format(n) for n in range((_BIG - len(text)) // len(line.format(0))))
    return text.encode()


def _group(agent: str, said: Sequence[Group]) -> Group | None:
    agent = agent.lower()
    for group in said:
        if agent in group.agents:
            return group
    return next((group for group in said if "*" in group.agents), None)


def _matches(pattern: str, path: str) -> bool:
    is_anchored = pattern.endswith("$")
    parts = (pattern[:-1] if is_anchored else pattern).split("*")
    expression = ".*".join(re.escape(part) for part in parts)
    return re.match(expression + ("$" if is_anchored else ""), path) is not None
