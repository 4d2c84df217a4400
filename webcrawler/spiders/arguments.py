"""Spider arguments: strings from a command line or Scrapyd, parsed in this one place."""

from __future__ import annotations

import difflib
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawler.exceptions import ArgumentError
from webcrawler.job import is_job_name
from webcrawler.urls import complete_seed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NAMES = (
    "seeds",
    "max_pages",
    "max_depth",
    "max_seconds",
    "allow",
    "deny",
    "content_types",
    "job",
    "whole_domain",
)
CONTENT_TYPES = {
    "html": ("text/html", "application/xhtml+xml"),
    "text": ("text/plain",),
    "pdf": ("application/pdf",),
    "feed": ("application/rss+xml", "application/atom+xml"),
    # What a sitemap is called here, and what servers call it.
    "sitemap": ("application/x-sitemap+xml", "application/xml", "text/xml"),
}
_TYPE = re.compile(r"[\w.+-]+/[\w.+*-]+")


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a spider was asked to do. 0 and None mean: no limit, not said."""

    seeds: tuple[str, ...] = ()
    max_pages: int = 0
    max_depth: int | None = None
    max_seconds: float = 0.0
    allow: tuple[re.Pattern[str], ...] = ()
    deny: tuple[re.Pattern[str], ...] = ()
    content_types: frozenset[str] = frozenset(CONTENT_TYPES["html"])
    job: str = ""
    whole_domain: bool = False

    def wants(self, mime: str) -> bool:
        """Whether documents of this type are collected."""
        types = self.content_types
        return mime in types or f"{mime.partition('/')[0]}/*" in types

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> Arguments:
        """Understand the arguments among these that are ours; ArgumentError for a wrong one."""
        max_depth = given.get("max_depth")
        return cls(
            seeds=tuple(_seeds(given.get("seeds"))),
            max_pages=int(_number(given, "max_pages", "a whole number of pages, e.g. 1000")),
            max_depth=None
            if max_depth is None
            else int(_number(given, "max_depth", "a whole number of links, e.g. 3")),
            max_seconds=_number(given, "max_seconds", "a number of seconds, e.g. 3600", float),
            allow=_patterns(given, "allow"),
            deny=_patterns(given, "deny"),
            content_types=_content_types(given.get("content_types", "html")),
            job=_job(given.get("job", "")),
            whole_domain=_yes(given, "whole_domain"),
        )


def likely_typos(given: Iterable[str], known: Iterable[str] = NAMES) -> dict[str, str]:
    """Arguments nobody knows that look like one that is known."""
    names = list(known)
    typos = {}
    for name in given:
        if name not in names and not name.startswith("_"):
            close = difflib.get_close_matches(name, names, n=1, cutoff=0.7)
            if close:
                typos[name] = close[0]
    return typos


def _seeds(value: Any) -> list[str]:
    form = (
        "give URLs separated by commas (seeds=https://example.org/,example.com), a file of them, "
        "one a line (seeds=@urls.txt), or - for standard input"
    )
    if value is None or value in ("", [], ()):
        return []
    if isinstance(value, str):
        if value == "-":
            texts = list(sys.stdin)
        elif value.startswith("@"):
            texts = _lines(value, form)
        else:
            texts = value.split(",")
    elif isinstance(value, list | tuple):
        texts = [str(item) for item in value]
    else:
        raise ArgumentError("seeds", value, form)
    seeds = []
    for raw in texts:
        text = raw.strip()
        if not text or text.startswith("#"):
            continue
        seed = complete_seed(text)
        if seed is None:
            raise ArgumentError("seeds", text, f"this is no http or https URL; {form}")
        seeds.append(seed)
    if not seeds:
        raise ArgumentError("seeds", value, f"there is no URL in it; {form}")
    return seeds


def _lines(value: str, form: str) -> list[str]:
    try:
        with Path(value[1:]).open(encoding="utf-8-sig", errors="replace") as file:
            return list(file)
    except OSError as error:
        raise ArgumentError(
            "seeds", value, f"the file cannot be read ({error.strerror}); {form}"
        ) from None


def _number(
    given: Mapping[str, Any], name: str, form: str, kind: type[int] | type[float] = int
) -> float:
    value = given.get(name, 0)
    try:
        number = kind(value)
    except (TypeError, ValueError):
        number = -1
    if not 0 <= number < 1e15:
        raise ArgumentError(name, value, f"give {form}")
    return number


def _patterns(given: Mapping[str, Any], name: str) -> tuple[re.Pattern[str], ...]:
    value = given.get(name)
    if not value:
        return ()
    try:
        return (re.compile(value),)
    except (re.error, TypeError, RecursionError) as error:
        raise ArgumentError(
            name, value, rf"no regular expression ({error}); give one such as {name}=/docs/.*\.html"
        ) from None


def _content_types(value: Any) -> frozenset[str]:
    types: set[str] = set()
    names = value.split(",") if isinstance(value, str) else list(value or ())
    for raw in names:
        name = str(raw).strip().lower()
        if name in CONTENT_TYPES:
            types.update(CONTENT_TYPES[name])
        elif _TYPE.fullmatch(name):
            types.add(name)
        elif name:
            raise ArgumentError(
                "content_types",
                value,
                f"give MIME types (text/html,application/pdf) or {', '.join(CONTENT_TYPES)}",
            )
    if not types:
        raise ArgumentError("content_types", value, "give at least one MIME type")
    return frozenset(types)


def _job(value: Any) -> str:
    name = str(value)
    if name and not is_job_name(name):
        raise ArgumentError(
            "job", value, "give a name of letters, digits, and . _ - @ +, such as job=monday"
        )
    return name


def _yes(given: Mapping[str, Any], name: str) -> bool:
    value = str(given.get(name, "no")).strip().lower()
    if value in {"1", "yes", "true", "on"}:
        return True
    if value in {"", "0", "no", "false", "off"}:
        return False
    raise ArgumentError(name, given[name], f"give {name}=yes or {name}=no")
