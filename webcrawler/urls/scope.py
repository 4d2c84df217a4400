"""Where a crawl may go: anywhere, some hosts, some sites, or some directories.

Scopes judge normalised URLs. The scheme never matters, since http and https of a host are one
place. Host names are taken exactly: www.example.org is not example.org.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from webcrawler.urls.canonical import canonical_escapes
from webcrawler.urls.hosts import directory, host_key, parse_host, site_key
from webcrawler.urls.normal import complete_seed

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAMES_SHOWN = 5


class Scope(Protocol):
    """A part of the web; `str()` of it is for people."""

    def allows(self, url: str) -> bool:
        """Whether a normalised URL lies within."""
        ...


class Anywhere:
    """The whole web."""

    __slots__ = ()

    def allows(self, url: str) -> bool:
        return True

    def __str__(self) -> str:
        return "anywhere"


class Hosts:
    """Some hosts, each with its port; names or whole URLs may be given.

    Raises ValueError for what is no host.
    """

    __slots__ = ("hosts",)

    def __init__(self, hosts: Iterable[str]) -> None:
        self.hosts = frozenset(map(parse_host, hosts))

    def allows(self, url: str) -> bool:
        return host_key(url) in self.hosts

    def __str__(self) -> str:
        return _described("host", "hosts", self.hosts)


class Sites:
    """Some registered domains with all their hosts; any host or URL of a site stands for it.

    Raises ValueError for what is no host.
    """

    __slots__ = ("sites",)

    def __init__(self, sites: Iterable[str]) -> None:
        self.sites = frozenset(site_key(parse_host(site)) for site in sites)

    def allows(self, url: str) -> bool:
        return site_key(host_key(url)) in self.sites

    def __str__(self) -> str:
        return _described("site", "sites", self.sites)


class Directories:
    """What lies below some directories; any URL in a directory stands for it.

    `https://a/docs` names the directory `https://a/`, as a relative link in that page would see
    it; write `https://a/docs/` for the one below. Raises ValueError for what is no http(s) URL.
    """

    __slots__ = ("_paths", "directories")

    def __init__(self, prefixes: Iterable[str]) -> None:
        places: dict[str, set[str]] = {}
        for prefix in prefixes:
            url = complete_seed(prefix)
            if url is None:
                raise ValueError(f"not a directory of a web site: {prefix!r:.120}")
            path = canonical_escapes(directory(url)).split("/", 3)[3]
            places.setdefault(host_key(url), set()).add(path)
        self.directories = frozenset(
            f"{host}/{path}" for host, paths in places.items() for path in paths
        )
        # By host, so that a thousand seeds cost no more than one.
        self._paths = {host: tuple(paths) for host, paths in places.items()}

    def allows(self, url: str) -> bool:
        paths = self._paths.get(host_key(url))
        if paths is None:
            return False
        if "%" in url:
            url = canonical_escapes(url)
        # A directory ends in a slash and holds no "?", so a query cannot be taken for one.
        return url.split("/", 3)[3].startswith(paths)

    def __str__(self) -> str:
        return _described("directory", "directories", self.directories)


def _described(one: str, many: str, names: frozenset[str]) -> str:
    shown = sorted(names)[:_NAMES_SHOWN]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    return f"{one if len(names) == 1 else many} {', '.join(shown) or '(none)'}{more}"
