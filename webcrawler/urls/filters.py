"""The URL filter: which links are not worth a place in the frontier, and why."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from webcrawler.urls.extensions import DEFAULT_DENIED_EXTENSIONS
from webcrawler.urls.hosts import host_key, is_within, parse_host, without_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

DEFAULT_SCHEMES = ("http", "https")
DEFAULT_MAX_LENGTH = 2048
DEFAULT_MAX_REPEATS = 4
DEFAULT_MAX_SEGMENTS = 32
DEFAULT_MAX_PARAMETERS = 32

_CACHED_HOSTS = 16384


class URLFilter:
    """Judges normalised URLs; built from plain values, it never changes.

    `reason` gives the first of these words that applies, in this order:

    - `length`: longer than `max_length` characters
    - `scheme`: not one of `schemes`
    - `extension`: the path's last segment ends in one of `denied_extensions`
    - `trap`: one path segment occurs more than `max_repeats` times, or there are more than
      `max_segments` segments or `max_parameters` query parameters: what servers that link to
      ever new pages make
    - `domain`: not in or below `allowed_domains` (none means all), or in or below `denied_domains`
    - `prefix`: starts with none of `prefixes` (none means all)
    - `deny`: a `deny` expression is found in it
    - `allow`: no `allow` expression is found in it (none means all)

    Raises `re.error` for a bad expression and ValueError for a domain that is none.
    """

    __slots__ = (
        "_extensions",
        "_max_ampersands",
        "_max_length",
        "_max_repeats",
        "_max_slashes",
        "_rules",
        "_schemes",
        "_unrepeated_slashes",
    )

    def __init__(
        self,
        *,
        schemes: Iterable[str] = DEFAULT_SCHEMES,
        max_length: int = DEFAULT_MAX_LENGTH,
        denied_extensions: Iterable[str] = DEFAULT_DENIED_EXTENSIONS,
        allow: Iterable[str | re.Pattern[str]] = (),
        deny: Iterable[str | re.Pattern[str]] = (),
        allowed_domains: Iterable[str] = (),
        denied_domains: Iterable[str] = (),
        prefixes: Iterable[str] = (),
        max_repeats: int = DEFAULT_MAX_REPEATS,
        max_segments: int = DEFAULT_MAX_SEGMENTS,
        max_parameters: int = DEFAULT_MAX_PARAMETERS,
    ) -> None:
        self._schemes = tuple(f"{scheme.lower()}:" for scheme in schemes)
        self._max_length = max_length
        self._extensions = frozenset(name.lower().lstrip(".") for name in denied_extensions)
        self._max_repeats = max_repeats
        # "scheme://host" has two slashes, then every segment has one before it.
        self._max_slashes = 2 + max_segments
        self._unrepeated_slashes = 2 + min(max_repeats, max_segments)
        self._max_ampersands = max_parameters - 1
        # Rules that were not asked for are not there, and cost nothing.
        rules: list[tuple[str, Callable[[str], bool]]] = []
        if denied := _domains(denied_domains):
            rules.append(("domain", _host_rule(lambda host: not is_within(host, denied))))
        if allowed := _domains(allowed_domains):
            rules.append(("domain", _host_rule(lambda host: is_within(host, allowed))))
        if starts := tuple(prefixes):
            rules.append(("prefix", lambda url: url.startswith(starts)))
        if denials := compile_patterns(deny):
            rules.append(("deny", lambda url: not _is_found(denials, url)))
        if allowances := compile_patterns(allow):
            rules.append(("allow", lambda url: _is_found(allowances, url)))
        self._rules = tuple(rules)

    def reason(self, url: str) -> str | None:
        """Why the URL is not to be followed, in one word; None when it may be."""
        if len(url) > self._max_length:
            return "length"
        if not url.startswith(self._schemes):
            return "scheme"
        page = url
        if "?" in url:
            page, _, query = url.partition("?")
            if query.count("&") > self._max_ampersands:
                return "trap"
        # What follows the last dot is no extension where it holds a slash: none is in the set.
        ending = page.rpartition(".")[2]
        if ending in self._extensions or ending.lower() in self._extensions:
            return "extension"
        if ";" in ending and ending.partition(";")[0].lower() in self._extensions:
            return "extension"
        if page.count("/") > self._unrepeated_slashes and self._is_trap(page):
            return "trap"
        for reason, passes in self._rules:
            if not passes(url):
                return reason
        return None

    def _is_trap(self, page: str) -> bool:
        segments = page.split("/")[3:]
        if len(segments) + 2 > self._max_slashes:
            return True
        if len(segments) - len(set(segments)) < self._max_repeats:
            return False
        return Counter(segments).most_common(1)[0][1] > self._max_repeats


def compile_patterns(patterns: Iterable[str | re.Pattern[str]]) -> list[re.Pattern[str]]:
    """Regular expressions from texts; compiled ones stay as they are. Raises `re.error`."""
    return [re.compile(pattern) for pattern in patterns]


def _is_found(patterns: list[re.Pattern[str]], url: str) -> bool:
    for pattern in patterns:  # noqa: SIM110 - any() costs twice as much, and this is per link
        if pattern.search(url):
            return True
    return False


def _domains(names: Iterable[str]) -> frozenset[str]:
    return frozenset(without_port(parse_host(name.strip().lstrip("."))) for name in names)


def _host_rule(passes: Callable[[str], bool]) -> Callable[[str], bool]:
    cached = lru_cache(maxsize=_CACHED_HOSTS)(passes)
    return lambda url: cached(host_key(url))
