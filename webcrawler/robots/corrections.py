"""What is put right in front of Protego: one reading of robots.txt, line by line, by RFC 9309.

Protego 0.7 differs from RFC 9309 and from Google's parser in these points. Each is corrected
here, before Protego (or the matcher) sees a line; beside it stands what would mend it upstream.

- A line with an unknown field between User-agent lines and their rules ends the group, so that
  a crawler escapes the rules meant for it. Upstream: remember as the previous field only
  Allow and Disallow (`previous_rule_field = field` for those alone). Crawl-delay, Request-rate
  and Visit-time do not end a list of User-agent lines either: they are not in RFC 9309, and
  other records "MUST NOT interfere" with those that are.
- A group is chosen when its token is found anywhere in our name, so `foo` rules `foo-bar` and
  "AB42bot" is a token. Upstream: cut the value at the first character that is no letter, "_"
  or "-", compare whole tokens, choose `*` only where no token is equal.
- A byte order mark, whole or cut, hides the first line. Upstream: drop it in `parse`.
- `str.splitlines` ends lines at form feeds, U+0085 and U+2028 too. Upstream: split at CR, LF
  and CRLF only.
- Bytes that are not UTF-8 must be decoded, and so changed, before they can be given to it.
  Upstream: accept bytes, and percent-encode what is not ASCII. (UTF-16 with its mark is read.)
- A field that only begins with a known one ("Disallows:") is unknown. Google reads it.
- Every rule is copied into each User-agent of its group: time and memory grow with the product.
  Upstream: share one list of rules within a group. Here one group only is handed on.
- `Allow: /a$` also allows `/a%24`, and escapes of reserved characters are undone; `/robots.txt`
  is allowed whatever the rules say. Nothing in front can mend these: see `matcher` and `paths`.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from webcrawler.robots.paths import written_rule
from webcrawler.robots.user_agent import line_token

if TYPE_CHECKING:
    from collections.abc import Iterator

BODY_LIMIT = 512 * 1024
"""Bytes of a robots.txt that are read; RFC 9309 asks for at least 500 KiB."""
LINE_LIMIT = 16_664
"""Bytes of a line that are read: eight times the longest URL browsers agree on, as Google."""
SITEMAPS_LIMIT = 1_000
SITEMAP_LENGTH_LIMIT = 2_048
_VALUE_LENGTH_LIMIT = 100

USER_AGENT, ALLOW, DISALLOW, SITEMAP = "User-agent", "Allow", "Disallow", "Sitemap"
CRAWL_DELAY, REQUEST_RATE, VISIT_TIME = "Crawl-delay", "Request-rate", "Visit-time"

# The spellings Protego and Google accept.
_SPELLINGS = {
    USER_AGENT: (b"user-agent", b"useragent", b"user agent"),
    ALLOW: (b"allow",),
    DISALLOW: (b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw"),
    SITEMAP: (b"sitemap", b"sitemaps", b"site-map"),
    CRAWL_DELAY: (b"crawl-delay", b"crawl delay"),
    REQUEST_RATE: (b"request-rate", b"request rate"),
    VISIT_TIME: (b"visit-time", b"visit time"),
}
_FIELDS = {spelling: field for field, spellings in _SPELLINGS.items() for spelling in spellings}
_COMPACT = {field.encode(): field for field in _SPELLINGS}
# Google's parser looks only at how a key begins.
_BEGINNINGS = [
    (spelling, field)
    for field in (USER_AGENT, ALLOW, DISALLOW, SITEMAP)
    for spelling in _SPELLINGS[field]
]
_BEGINNINGS_TUPLE = tuple(spelling for spelling, _ in _BEGINNINGS)

Line: TypeAlias = tuple[int, str, bytes]
"""A line that was understood: its number, from 1, in the file as served, its field, its value."""


class Group(NamedTuple):
    """The lines that speak to one crawler; `token` is None where no group does."""

    token: str | None
    lines: list[Line]
    sitemaps: list[str]


def prepare(body: bytes, limit: int, problems: set[str]) -> bytes:
    """Cut the body to the limit, at the end of a line, and give it in UTF-8 without its mark."""
    if len(body) > limit:
        problems.add("truncated")
        body = body[:limit]
    if body[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        problems.add("utf16")
        body = body.decode("utf-16", "replace").encode("utf-8")
    for mark in (b"\xef\xbb\xbf", b"\xef\xbb", b"\xef"):
        if body.startswith(mark):
            body = body[len(mark) :]
            break
    if "truncated" in problems:
        # Half a line would be another rule than the one that was written, unless it is so long
        # that the rest of it would not be read anyway.
        end = max(body.rfind(b"\n"), body.rfind(b"\r")) + 1
        if len(body) - end < LINE_LIMIT:
            body = body[:end]
    return body


def read_lines(body: bytes, problems: set[str]) -> Iterator[Line]:
    """The lines of a prepared body that have a known field, in order."""
    if b"\r" in body:
        body = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    for number, raw in enumerate(body.split(b"\n"), 1):
        if not raw:
            continue
        line = raw
        if len(line) > LINE_LIMIT:
            problems.add("long_line")
            line = line[:LINE_LIMIT]
        if b"\0" in line:
            problems.add("nul")
            line = line[: line.index(b"\0")]
        if b"#" in line:
            line = line[: line.index(b"#")]
        field, value = _split(line)
        if field is None:
            continue
        if field == ALLOW and len(raw) > LINE_LIMIT:
            continue  # Cut short, it would allow more than was written.
        yield number, field, value


def compact(body: bytes, problems: set[str]) -> bytes:
    """The prepared body without what nobody reads; every kept line keeps its number."""
    kept: list[bytes] = []
    last = 1
    sitemaps = 0
    for number, field, value in read_lines(body, problems):
        if field == SITEMAP:
            sitemaps += 1
            if sitemaps > SITEMAPS_LIMIT or len(value) > SITEMAP_LENGTH_LIMIT:
                problems.add("sitemaps_limit")
                continue
        kept.append(b"\n" * (number - last) + field.encode() + b":" + value)
        last = number
    return b"".join(kept)


def read_compact(body: bytes) -> Iterator[Line]:
    """The lines of a compact body: the same as those it was made from."""
    for number, line in enumerate(body.split(b"\n"), 1):
        if line:
            key, _, value = line.partition(b":")
            field = _COMPACT.get(key)
            if field is not None:
                yield number, field, value


def read_group(body: bytes, agent: str) -> Group:
    """From a compact body, the lines of all groups for a product token, or else for `*`."""
    agent = agent.lower()
    own: list[Line] = []
    general: list[Line] = []
    sitemaps: list[str] = []
    own_seen = general_seen = own_open = general_open = rule_seen = False
    for line in read_compact(body):
        _, field, value = line
        if field == USER_AGENT:
            if rule_seen:
                own_open = general_open = rule_seen = False
            token = line_token(value)
            if token == "*":  # noqa: S105 - a product token, not a secret
                general_open = general_seen = True
            elif token and token == agent:
                own_open = own_seen = True
        elif field == SITEMAP:
            url = value.decode("utf-8", "replace")
            if url and url.isprintable():
                sitemaps.append(url)
        else:
            rule_seen = rule_seen or field in (ALLOW, DISALLOW)
            if own_open:
                own.append(line)
            if general_open:
                general.append(line)
    if own_seen:
        return Group(agent, own, sitemaps)
    return Group("*" if general_seen else None, general, sitemaps)


def protego_text(group: Group, *, with_rules: bool = True) -> str:
    """The group as a robots.txt without any of the faults above: what Protego is given."""
    lines = ["User-agent: *"] if group.token is not None else []
    if with_rules:
        lines += [f"Sitemap: {url}" for url in group.sitemaps]
    for _, field, value in group.lines:
        if field in (ALLOW, DISALLOW):
            if with_rules:
                lines.append(f"{field}: {_printable(written_rule(value))}")
        elif len(value) <= _VALUE_LENGTH_LIMIT:
            lines.append(f"{field}: {_printable(value.decode('utf-8', 'replace'))}")
    return "\n".join(lines)


def _split(line: bytes) -> tuple[str | None, bytes]:
    key, colon, value = line.partition(b":")
    key = key.strip().lower()
    if colon:
        field = _FIELDS.get(key)
        if field is None and key.startswith(_BEGINNINGS_TUPLE) and b" " not in key:
            field = next(known for spelling, known in _BEGINNINGS if key.startswith(spelling))
        if field is not None:
            value = value.strip()
            if b"\xa0" in value:  # Perhaps a no-break space, pasted from a web page.
                value = (
                    value.decode("utf-8", "surrogateescape")
                    .strip()
                    .encode("utf-8", "surrogateescape")
                )
            return field, value
        if not value or value[:1].isspace():
            return None, b""
    # No colon, or one inside the value ("Sitemap https://..."): the field and one word.
    words = line.split(None, 3)
    if len(words) == 2:
        return _FIELDS.get(words[0].lower()), words[1]
    if len(words) == 3:
        return _FIELDS.get(b" ".join(words[:2]).lower()), words[2]
    return None, b""


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "%00" for character in text)
