"""The form of a URL that says which page it is; two spellings of one page get one fingerprint.

The rules are those of w3lib's `canonicalize_url`, for URLs that `normalize` has been through:
query parameters sorted, blank values kept, each percent-escape written the one way or not at all.
Tracking and session parameters are left out. The form is for comparing, never for fetching.

Two things differ from w3lib. The order of parameters that hold escapes is that of their written
form, which changes no comparison. And a percent sign that starts no escape becomes `%25` in the
path as it does in the query, without which the form of a form could be yet another one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote_plus

from xxhash import xxh3_64_intdigest

if TYPE_CHECKING:
    from collections.abc import Iterable

#: What is dropped unless told otherwise. `*` at the end stands for any ending; case does not
#: matter. Only names that never choose the page: `sid`, `ref`, `session` or `id` often do.
DEFAULT_DROP_PARAMS: tuple[str, ...] = (
    # Where the click came from.
    "utm_*",  # Google Analytics, and everybody since
    "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "_ga", "_gl",  # Google
    "fbclid", "igshid",  # Facebook, Instagram
    "msclkid", "yclid", "twclid", "ttclid",  # Microsoft, Yandex, Twitter, TikTok
    "mc_cid", "mc_eid", "mkt_tok", "_hsenc", "_hsmi",  # Mailchimp, Marketo, HubSpot
    # Who clicked: session identifiers of servers for browsers without cookies.
    "jsessionid", "phpsessid", "cfid", "cftoken", "oscsid", "zenid",
)  # fmt: skip

_LETTERS_AND_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_UNRESERVED = frozenset(_LETTERS_AND_DIGITS + "-._~")
# What w3lib writes plainly in a path. Escaped "/", "?", ";" and "%" would mean something else then.
_PLAIN_IN_PATH = _UNRESERVED | frozenset("!$&'()*+,=:@[]|")


def _spellings(plain: frozenset[str], space: str) -> dict[str, str]:
    """Every way to write a byte in a URL, to the one way of the canonical form."""
    table = {"%": "%25"}
    for code in range(256):
        character, escape = chr(code), f"%{code:02X}"
        written = character if character in plain else space if code == 0x20 else escape
        for high in {escape[1], escape[1].lower()}:
            for low in {escape[2], escape[2].lower()}:
                table[f"%{high}{low}"] = written
        if code < 0x80 and character not in "%+":
            table[character] = written
    return table


_IN_PATH = _spellings(_PLAIN_IN_PATH, "%20")
_IN_QUERY = _spellings(_UNRESERVED, "+")
_PATH_ESCAPE = re.compile(r"%(?:[0-9A-Fa-f]{2})?").sub
_QUERY_ESCAPE = re.compile(r"%(?:[0-9A-Fa-f]{2})?|[^A-Za-z0-9._~+\x80-\U0010ffff-]").sub
# The first escape of a path that is not yet as it should be: seldom there, and fast to look for.
_ODD_PATH_ESCAPE = re.compile("%(?![0189A-F][0-9A-F]|2[0235F]|3[BCEF]|5[CE]|60|7[BDF])").search
_PATH_PARAMETER = re.compile(r";([^;/=]*)=[^;/]*").sub

_CACHED_NAMES = 8192
_CACHED_NAME_LENGTH = 64


class Canonicalizer:
    """Canonical forms and fingerprints of normalised URLs; never raises."""

    __slots__ = ("_dropped", "_dropped_starts", "_name", "drop_params")

    def __init__(self, drop_params: Iterable[str] = DEFAULT_DROP_PARAMS) -> None:
        self.drop_params = tuple(drop_params)
        self._dropped = frozenset(
            quote_plus(name).lower() for name in self.drop_params if not name.endswith("*")
        )
        self._dropped_starts = tuple(
            quote_plus(name[:-1]).lower() for name in self.drop_params if name.endswith("*")
        )
        self._name = lru_cache(maxsize=_CACHED_NAMES)(self._kept_name)

    def canonical(self, url: str) -> str:
        """The form by which the URL is told from others."""
        if "?" not in url and "%" not in url and ";" not in url:
            return url
        page, _, query = url.partition("?")
        if "%" in page:
            page = canonical_escapes(page)
        if ";" in page:
            page = _PATH_PARAMETER(self._path_parameter, page)
        if query and (query := self._query(query)):
            return f"{page}?{query}"
        return page

    def fingerprint(self, url: str) -> int:
        """The 64-bit number of the canonical form."""
        if "?" in url or "%" in url or ";" in url:
            url = self.canonical(url)
        try:
            return xxh3_64_intdigest(url.encode())
        except UnicodeEncodeError:  # half a surrogate pair; no normalised URL has one
            return xxh3_64_intdigest(url.encode("utf-8", "surrogatepass"))

    def fingerprints(self, urls: Iterable[str]) -> list[int]:
        """The fingerprints of many URLs, in their order."""
        canonical, digest = self.canonical, xxh3_64_intdigest
        urls = list(urls)
        try:
            return [
                digest((canonical(url) if "?" in url or "%" in url or ";" in url else url).encode())
                for url in urls
            ]
        except UnicodeEncodeError:
            return [self.fingerprint(url) for url in urls]

    def _query(self, query: str) -> str:
        pairs = []
        for parameter in query.split("&"):
            if not parameter:
                continue
            name, _, value = parameter.partition("=")
            kept = self._name(name) if len(name) <= _CACHED_NAME_LENGTH else self._kept_name(name)
            if kept is not None:
                if value and not (value.isalnum() and value.isascii()):
                    value = _QUERY_ESCAPE(_query_spelling, value)
                pairs.append((kept, value))
        if len(pairs) > 1:
            pairs.sort()
        return "&".join([f"{name}={value}" for name, value in pairs])

    def _kept_name(self, name: str) -> str | None:
        """The canonical name of a query parameter; None when it is to be dropped."""
        name = _QUERY_ESCAPE(_query_spelling, name)
        return None if self._is_dropped(name) else name

    def _path_parameter(self, found: re.Match[str]) -> str:
        return "" if self._is_dropped(found[1]) else found[0]

    def _is_dropped(self, name: str) -> bool:
        name = name.lower()
        return name in self._dropped or name.startswith(self._dropped_starts)


def canonical_escapes(path: str) -> str:
    """A path (or a URL without its query) with each percent-escape in its canonical spelling."""
    if _ODD_PATH_ESCAPE(path) is None:
        return path
    return _PATH_ESCAPE(_path_spelling, path)


def _path_spelling(found: re.Match[str]) -> str:
    return _IN_PATH[found[0]]


def _query_spelling(found: re.Match[str]) -> str:
    return _IN_QUERY[found[0]]
