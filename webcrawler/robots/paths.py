"""The two spellings in which a rule and a URL are compared.

RFC 9309 undoes needless percent-encoding on both sides before it compares (`/%7Ejoe` is
`/~joe`); Google's matcher compares what is written and only encodes a rule's bytes outside
ASCII. People rely on both. So where the two readings differ, the answer is no: an Allow rule
is compared *as written*, a Disallow rule in its *plain* spelling.
"""

from __future__ import annotations

import re
from urllib.parse import quote_from_bytes

# What a URL may hold unencoded and what needs no thought. "*" and "$" are absent: in a rule
# they are special, and "%2A" and "%24" are how a rule names them literally.
_ODD = re.compile(r"[^A-Za-z0-9\-._~/?=&+:;,@!()'\[\]]")
_ODD_OR_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})|[^A-Za-z0-9\-._~/?=&+:;,@!()'\[\]%]")
_ODD_OR_ESCAPE_IN_RULE = re.compile(r"%([0-9A-Fa-f]{2})|[^A-Za-z0-9\-._~/?=&+:;,@!()'\[\]%*]")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_ASCII = bytes(range(128))
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def path_of(url: str) -> str:
    """What rules are compared with: path and query, from the first slash, without fragment."""
    start = url.find("://")
    start = start + 3 if start >= 0 and url[0] != "/" else 0
    slash = url.find("/", start)
    query = url.find("?", start)
    if slash < 0 or 0 <= query < slash:
        path = "/" + url[query:] if query >= 0 else "/"
    else:
        path = url[slash:]
    return path if "#" not in path else path[: path.index("#")]


def is_plain(path: str) -> bool:
    """Whether the path is the same in both spellings."""
    return _ODD.search(path) is None


def written_path(path: str) -> str:
    return _ESCAPE.sub(_upper, path) if "%" in path else path


def plain_path(path: str) -> str:
    return _ODD_OR_ESCAPE.sub(_respell, path)


def written_rule(value: bytes) -> str:
    """A rule's value in ASCII: bytes beyond it encoded, the digits of escapes in upper case."""
    text = value.decode("ascii") if value.isascii() else quote_from_bytes(value, safe=_ASCII)
    return _ESCAPE.sub(_upper, text) if "%" in text else text


def plain_rule(written: str) -> str:
    """The plain spelling of a written rule; `*` and a final `$` keep their meaning."""
    if is_plain(written):
        return written
    if written.endswith("$"):
        return _ODD_OR_ESCAPE_IN_RULE.sub(_respell, written[:-1]) + "$"
    return _ODD_OR_ESCAPE_IN_RULE.sub(_respell, written)


def _upper(match: re.Match[str]) -> str:
    return match[0].upper()


def _respell(match: re.Match[str]) -> str:
    digits = match[1]
    if digits is None:
        # A lone surrogate cannot be encoded; it cannot be in a rule either.
        return quote_from_bytes(match[0].encode("utf-8", "replace"), safe=b"")
    character = chr(int(digits, 16))
    return character if character in _UNRESERVED else match[0].upper()
