"""Names of places: host, site, authority and directory of a URL.

URLs are taken as `normalize` leaves them: `scheme://host:port/path?query`, lower case and
punycode in the host, no default port, always a path. So cutting at slashes is enough. A text that
has no host (`mailto:`) has the empty host.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from xxhash import xxh3_64_intdigest

from webcrawler.urls.normal import complete_seed

if TYPE_CHECKING:
    from tldextract import TLDExtract

_CACHED_HOSTS = 16384


def host_key(url: str) -> str:
    """The host, with `:port` where it is not the scheme's own: what politeness is counted by.

    `example.org.` is `example.org`: the same server, whose delay no dot may halve.
    """
    try:
        scheme, nothing, host, _ = url.split("/", 3)
    except ValueError:
        return ""
    if nothing or scheme[-1:] != ":":
        return ""
    if host[-1:] == "." or ".:" in host:
        name, colon, port = host.partition(":")
        return f"{name.rstrip('.') or name}{colon}{port}"
    return host


def host_id(host: str) -> int:
    """The 64-bit number of a host key."""
    return xxh3_64_intdigest(host.encode("utf-8", "surrogatepass"))


@lru_cache(maxsize=_CACHED_HOSTS)
def site_key(host: str) -> str:
    """The registered domain a host key belongs to; the key itself where there is none.

    The list of public suffixes is the copy inside tldextract, private ones included, as browsers
    have it: alice.github.io and bob.github.io are two sites. A suffix the list does not know is one
    label long, as the list itself prescribes. Ports do not part sites, but an address, a single
    label or a public suffix stays as it is, port and all.
    """
    name = without_port(host).rstrip(".")
    labels = name.split(".")
    if len(labels) < 2 or name.startswith("[") or labels[-1].isdigit():
        return host
    found = _suffixes().extract_str(name)
    if not found.suffix:
        return ".".join(labels[-2:]) if labels[-2] and labels[-1] else host
    return found.top_domain_under_public_suffix or host


def authority(url: str) -> str:
    """`scheme://host:port`: what has one robots.txt."""
    return "/".join(url.split("/", 3)[:3])


def directory(url: str) -> str:
    """The URL up to and including the last slash of its path, without the query."""
    path = url.partition("?")[0]
    return path[: path.rfind("/") + 1]


def without_port(host: str) -> str:
    """The bare name or address of a host key."""
    if ":" not in host or host.endswith("]"):
        return host
    return host.rpartition(":")[0]


def is_within(host: str, domains: frozenset[str]) -> bool:
    """Whether a host key is one of the domains or below one; ports do not matter."""
    name = without_port(host)
    while name not in domains:
        _, dot, name = name.partition(".")
        if not dot:
            return False
    return True


def parse_host(text: str) -> str:
    """The host key that a person means (`Example.org`, `bücher.example:8080`, a whole URL).

    Raises ValueError when it is no host.
    """
    url = complete_seed(text)
    if url is None:
        raise ValueError(f"not a host name: {text!r:.120}")
    return host_key(url)


@cache
def _suffixes() -> TLDExtract:
    # Imported late: it costs a third of a second, which a crawl of one host need not spend.
    from tldextract import TLDExtract

    return TLDExtract(
        suffix_list_urls=(),  # never downloaded
        cache_dir=None,  # never written
        fallback_to_snapshot=True,
        include_psl_private_domains=True,
    )
