"""Document: what every type of body is asked for, each answer made when first asked for."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast, overload

from webcrawler.documents.options import DEFAULTS, Options
from webcrawler.urls import normalize

if TYPE_CHECKING:
    from collections.abc import Callable

    from webcrawler.items import Link

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Refresh(NamedTuple):
    """A document that sends its reader elsewhere: after `seconds`, to `url` (its own: reload)."""

    seconds: int
    url: str


class Lazy(Generic[T]):
    """A property computed once. Bytes that its method chokes on give `default()` and a problem.

    Not functools.cached_property: that one lets errors through, and locks in Python 3.11.
    """

    def __init__(self, method: Callable[[Any], T], default: Callable[[], Any]) -> None:
        self.method = method
        self.default = default
        self.name = method.__name__
        self.__doc__ = method.__doc__

    def __set_name__(self, owner: type[object], name: str) -> None:
        self.name = name

    @overload
    def __get__(self, document: None, owner: type[object]) -> Lazy[T]: ...

    @overload
    def __get__(self, document: Document, owner: type[object]) -> T: ...

    def __get__(self, document: Document | None, owner: type[object]) -> Lazy[T] | T:
        if document is None:
            return self
        try:
            value = self.method(document)
        except Exception:
            # The bytes are hostile and the parsers many: whatever they raise is this document's
            # problem, counted by the caller, and never the crawl's.
            logger.debug("%s of %s", self.name, document.url, exc_info=True)
            document.note("unparseable")
            value = cast(T, self.default())
        document.__dict__[self.name] = value
        return value


def lazy(default: Callable[[], Any]) -> Callable[[Callable[[Any], T]], Lazy[T]]:
    """Make a method a `Lazy` property: `@lazy(str)`."""

    def decorate(method: Callable[[Any], T]) -> Lazy[T]:
        return Lazy(method, default)

    return decorate


def nothing() -> None:
    """The default of properties that may have no answer."""


class Document:
    """A body, its URL and its type. This base class knows a type that says nothing.

    Nothing is parsed before an answer is asked for, and no answer raises. `problems` names, once
    each, what was wrong with the answers given so far: `encoding` (bytes that mean no character
    were replaced), `truncated` (a limit was met, or the body ends too early), `nested` (markup
    made to exhaust a parser was left out), `encrypted`, `unparseable`.
    """

    def __init__(
        self,
        body: bytes,
        url: str,
        mime: str = "application/octet-stream",
        charset: str = "",
        *,
        options: Options = DEFAULTS,
        content_language: str = "",
    ) -> None:
        self.body = body
        self.mime = mime
        self.charset = charset
        self.options = options
        self.content_language = content_language
        self.problems: list[str] = []
        self._given_url = url

    def settle(self) -> None:
        """Let go of what answers are made from. Those given stay; others mean parsing again."""

    def note(self, problem: str) -> None:
        """Remember a problem, once."""
        if problem not in self.problems:
            self.problems.append(problem)

    @lazy(str)
    def url(self) -> str:
        """The document's own URL, normalised where it is one."""
        return normalize(self._given_url) or self._given_url

    @lazy(str)
    def encoding(self) -> str:
        """The WHATWG name of the character encoding, lower case; "" where there is none."""
        return ""

    @lazy(str)
    def base_url(self) -> str:
        """What the document's links are relative to."""
        return self.url

    @lazy(str)
    def title(self) -> str:
        """The title, white space folded; "" without one."""
        return ""

    @lazy(str)
    def text(self) -> str:
        """All text a reader sees, white space folded."""
        return ""

    @lazy(str)
    def main_text(self) -> str:
        """The text without navigation and the like, where the type can tell; else `text`."""
        return self.text

    @lazy(str)
    def language(self) -> str:
        """A language tag, lower case (`en`, `pt-br`), as declared, else as detected; "" unknown."""
        return ""

    @lazy(list)
    def links(self) -> list[Link]:
        """The links in the order of the document, repetitions kept, those to itself left out."""
        return []

    @lazy(list)
    def robots_meta(self) -> list[tuple[str, str]]:
        """(name, content) of what may be directives to robots, both lower case and stripped."""
        return []

    @lazy(nothing)
    def canonical(self) -> str | None:
        """The URL the document says it should be known by."""
        return None

    @lazy(nothing)
    def refresh(self) -> Refresh | None:
        """Where the document sends its reader."""
        return None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.mime} {len(self.body)} bytes {self._given_url}>"
