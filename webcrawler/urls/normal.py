"""From the text of a link to an absolute URL, as browsers do it (the WHATWG URL Standard).

ada-url decides what every text means. Most links of real pages are so plain, though, that the
answer is the base's directory and the text put together: these are recognised by one regular
expression and joined here, in a third of the time that a call into the parser takes. What is
plain is chosen narrowly, so that both ways always give the same answer (a test compares them).
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv6Address

from ada_url import join_url, normalize_url

# Four parts, each possibly empty: scheme and authority; climbing up; path; query. The characters
# of path and query are those that the parser copies; a path that starts with a dot is not plain.
_PLAIN = re.compile(
    r"(https?://[a-z0-9._:-]{1,300}+|)"
    r"((?:\.\.?/)*+)"
    r"((?!\.)[!$-;=@-\[\]_a-z|~]*+)"
    r"(\?[!$-&(-;=?-~]*+|)"
    r"(?:#|\Z)"
).match

_SURROGATE = re.compile("[\ud800-\udfff]")

# A page's links share its base, so the last few are kept. Longer bases are left to the parser.
_CACHED_BASES = 64
_PLAIN_BASE_LENGTH = 4096
_ANCESTORS = 32

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE).match
_PORT = re.compile(r"[^/?#:@\s]+:[0-9]+(?:[/?#]|\Z)").match


class Resolver:
    """Resolves the links of one document against its base URL.

    A base that is no URL counts as none: absolute links are still understood.
    """

    __slots__ = ("_ancestors", "_document", "_is_plain", "_origin", "_page", "_scheme", "base")

    def __init__(self, base: str | None = None) -> None:
        self.base = base = _parsed(base, None) if base else None
        self._is_plain = False
        self._page = self._document = self._origin = self._scheme = ""
        self._ancestors: list[str] = []
        if base and base.startswith(("http://", "https://")) and len(base) <= _PLAIN_BASE_LENGTH:
            self._is_plain = True
            self._page = base
            self._document = base.partition("?")[0]
            self._origin = "/".join(base.split("/", 3)[:3])
            self._scheme = base.partition("/")[0]
            folder = self._document.rpartition("/")[0]
            # The document's directory first, the root last; what climbs higher is not plain.
            while len(folder) >= len(self._origin) and len(self._ancestors) < _ANCESTORS:
                self._ancestors.append(f"{folder}/")
                folder = folder.rpartition("/")[0]

    def resolve(self, text: str) -> str | None:
        """The absolute, normalised URL of a link; None when it is no URL. Never raises.

        The fragment is dropped, and so are a user name and password (see `normalize`).
        """
        try:
            plain = _PLAIN(text)
        except TypeError:
            return None
        if plain is not None:
            authority, climb, path, query = plain.groups()
            if "/." in path or ("%" in path and "%2e" in path.lower()):
                pass  # may hold "." or ".." as a segment
            elif authority:
                if (not path or path[0] == "/") and _is_normal(authority):
                    return f"{authority}{path or '/'}{query}"
            elif not self._is_plain:
                pass
            elif climb:
                height = climb.count("..")
                if height < len(self._ancestors):
                    return f"{self._ancestors[height]}{path}{query}"
            elif path:
                if path[0] != "/":
                    if ":" not in path:
                        return f"{self._ancestors[0]}{path}{query}"
                elif path[:2] != "//":
                    return f"{self._origin}{path}{query}"
                else:
                    return self.resolve(f"{self._scheme}{text}")
            else:
                return f"{self._document}{query}" if query else self._page
        return _parsed(text, self.base)


def normalize(url: str, base: str | None = None) -> str | None:
    """Resolve `url` against `base` and normalise it; None when it is no URL. Never raises.

    Everything is as in browsers, with two parts left out. The fragment, because it names a place
    within a page. A user name and password, because whoever wrote the link is not who may hand
    out credentials: they would end in logs and archives, and would make one page two. A site
    that wants them gets them from the spider's own settings, never from a URL.

    Other schemes (mailto:, javascript:, data:) are URLs too; the URL filter refuses them.
    """
    if not base:
        return _WITHOUT_BASE.resolve(url)
    if len(base) > _PLAIN_BASE_LENGTH:
        return Resolver(base).resolve(url)
    return _resolver(base).resolve(url)


def complete_seed(text: str) -> str | None:
    """The URL that a person means by a seed, https where none is said; None when it is none.

    `example.org`, `localhost:8000/x`, `//a/b`, `[::1]:80`, `::1` and whole http(s) URLs are
    understood; other schemes, mail addresses, paths and bare numbers are refused.
    """
    text = text.strip()
    if text.startswith("//") and text[2:3] not in "/\\":
        text = f"https:{text}"
    elif _is_ipv6(text):
        text = f"https://[{text}]"
    elif not _SCHEME(text) or _PORT(text):
        name = re.split(r"[/?#\\]", text, maxsplit=1)[0]
        if "@" in name or not name.strip(".") or name.isdigit():
            return None
        text = f"https://{text}"
    url = normalize(text)
    if url is None or not url.startswith(("http://", "https://")):
        return None
    return url if url.split("/", 3)[2].strip(".") else None


def _parsed(text: str, base: str | None) -> str | None:
    """What ada-url makes of the text, without fragment, user name and password."""
    try:
        url: str = join_url(base, text) if base else normalize_url(text)
    except ValueError:
        # Browsers read half a surrogate pair as the replacement character; ada-url refuses it.
        mended = _SURROGATE.sub("\ufffd", text)
        return None if mended == text else _parsed(mended, base)
    if "#" in url:
        url = url.partition("#")[0]
    return _without_credentials(url) if "@" in url else url


def _without_credentials(url: str) -> str:
    scheme, _, rest = url.partition(":")
    if not rest.startswith("//"):
        return url
    end = re.search(r"[/?]|\Z", rest[2:])
    assert end is not None  # the pattern matches the end of any text
    authority = rest[2 : 2 + end.start()]
    return f"{scheme}://{authority.rpartition('@')[2]}{rest[2 + end.start() :]}"


@lru_cache(maxsize=16384)
def _is_normal(authority: str) -> bool:
    """Whether the parser would leave this `scheme://host:port` as it is."""
    return _parsed(authority, None) == f"{authority}/"


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return "%" not in text  # a zone means something on one machine only


_WITHOUT_BASE = Resolver()
_resolver = lru_cache(maxsize=_CACHED_BASES)(Resolver)
