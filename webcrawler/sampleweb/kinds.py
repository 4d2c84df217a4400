"""What a page of the sample web can be, and the variants each kind goes through in turn.

The n-th page of a kind takes variant n modulo their number, so that a web which is large enough
has all of them, whatever its seed.
"""

from __future__ import annotations

from typing import Final, NamedTuple

HTML: Final = "html"
XHTML: Final = "xhtml"
BROKEN: Final = "broken"
ENCODED: Final = "encoded"
WRONG_CHARSET: Final = "wrong_charset"
DIRECTIVE: Final = "directive"
SLOW: Final = "slow"
FLAKY: Final = "flaky"
SESSION: Final = "session"
ISLAND: Final = "island"
DUPLICATE: Final = "duplicate"
NEAR_DUPLICATE: Final = "near_duplicate"
CANONICAL: Final = "canonical"
REDIRECT: Final = "redirect"
REFRESH: Final = "refresh"
FILE: Final = "file"
ERROR: Final = "error"
RESET: Final = "reset"
TRUNCATED: Final = "truncated"
# Not numbered pages:
ROBOTS: Final = "robots"
SITEMAP: Final = "sitemap"
TRAP: Final = "trap"
MISSING: Final = "missing"

# Every page but an island hangs on a page of these kinds, so that it can be reached.
PARENTS: Final = frozenset({HTML, XHTML, BROKEN, ENCODED, SLOW})
# Pages with links of their own.
LINKING: Final = PARENTS | {WRONG_CHARSET, DIRECTIVE, FLAKY, SESSION, ISLAND}
# Pages made after the pattern of another one.
COPIES: Final = frozenset({DUPLICATE, NEAR_DUPLICATE, CANONICAL})

# status and where it leads
REDIRECTS: Final = (
    (301, "page"),
    (302, "page"),
    (307, "host"),
    (308, "page"),
    (301, "home"),
    (302, "next"),  # this and the next two make a chain
    (301, "next"),
    (307, "page"),
    (302, "next"),  # this and the next one make a loop
    (301, "previous"),
    (308, "itself"),
    (302, "missing"),
)

ERRORS: Final = (404, 503, 410, 500, 429, 403)

# extension and content type
FILES: Final = (
    (".txt", "text/plain; charset=utf-8"),
    (".pdf", "application/pdf"),
    (".rss", "application/rss+xml"),
    (".png", "image/png"),
    (".atom", "application/atom+xml"),
    (".bin", "application/octet-stream"),
)

FLAKY_ANSWERS: Final = (503, 500, 0)  # 0: the connection is reset


class Encoding(NamedTuple):
    """How a page is written and what it says about that; None says nothing."""

    codec: str
    header: str | None
    meta: str | None
    mark: bytes = b""


ENCODINGS: Final = (
    Encoding("iso-8859-1", "iso-8859-1", None),
    Encoding("cp1252", None, "windows-1252"),
    Encoding("utf-16-le", None, None, b"\xff\xfe"),
    Encoding("utf-8", None, None, b"\xef\xbb\xbf"),
    Encoding("iso-8859-15", "ISO-8859-15", None),
    Encoding("utf-16-be", None, None, b"\xfe\xff"),
)

WRONG_CHARSETS: Final = (
    Encoding("cp1252", "utf-8", None),
    Encoding("utf-8", "iso-8859-1", None),
    Encoding("utf-8", "no-such-charset", None),
    Encoding("cp1252", None, "utf-8"),
)


class Directive(NamedTuple):
    """A robots directive: in a meta element or in X-Robots-Tag, for one agent or for all."""

    place: str
    agent: str
    content: str

    def says(self, word: str, agent: str) -> bool:
        """Whether it tells the agent noindex or nofollow."""
        if self.agent and self.agent != agent:
            return False
        said = {part.strip() for part in self.content.lower().split(",")}
        return word in said or "none" in said


DIRECTIVES: Final = (
    Directive("meta", "", "noindex"),
    Directive("meta", "", "nofollow"),
    Directive("header", "", "noindex"),
    Directive("header", "", "nofollow"),
    Directive("meta", "", "NoIndex,  NOFOLLOW"),
    Directive("header", "otherbot", "none"),
    Directive("meta", "otherbot", "noindex"),
    Directive("header", "", "noarchive, noindex"),
    Directive("meta", "", "none"),
)
