"""What people type: words, "phrases", site:, title:, url:, anchor:, and - before what is unwanted.

All words must be in a page or its anchors. A colon after another word, a stray dash or an asterisk
mean nothing: there is no syntax that makes a query expensive.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from webcrawler.index.errors import QueryError
from webcrawler.index.language import WORDS, analyzer
from webcrawler.urls import parse_host

MAX_LENGTH = 1000
MAX_CLAUSES = 32
MAX_PHRASE = 32  # tokens

#: What may stand before a colon, and the fields it looks in; none: title, anchors and body.
FIELDS = {"title": "title", "anchor": "anchors", "url": "url", "site": "host"}

_CLAUSE = re.compile(
    r'(?P<minus>-)?(?:(?P<field>title|anchor|url|site):)?(?:"(?P<phrase>[^"]*)(?P<end>"?)|(?P<word>[^\s"]+))?',
    re.IGNORECASE,
)
_QUOTES = str.maketrans("“”„‟«»", '""""""')
_DASHES = re.compile(r"(?:^|(?<=\s))[\u2010-\u2015\u2212](?=\S)")


@dataclass(frozen=True, slots=True)
class Clause:
    """One thing that a page must or must not have. `field` is empty for words anywhere."""

    text: str
    field: str = ""
    is_excluded: bool = False


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """The clauses of a query; at least one of them says what is wanted."""

    clauses: tuple[Clause, ...]

    @property
    def wanted(self) -> tuple[Clause, ...]:
        return tuple(clause for clause in self.clauses if not clause.is_excluded)


def parse_query(text: str) -> ParsedQuery:
    """The clauses of what was typed. Raises QueryError, one sentence, where it makes no sense."""
    if len(text) > MAX_LENGTH:
        raise QueryError(f"the query has {len(text)} characters, and {MAX_LENGTH} are allowed")
    text = _DASHES.sub("-", text.translate(_QUOTES)).strip()
    if not text:
        raise QueryError("the query is empty: type the words to search for")
    clauses: list[Clause] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        match = _CLAUSE.match(text, at)
        assert match is not None, "every part of the pattern is optional"
        clause = _read(match)
        if clause is not None:
            clauses.append(clause)
        at = max(match.end(), at + 1)
    if len(clauses) > MAX_CLAUSES:
        raise QueryError(f"the query has {len(clauses)} parts, and {MAX_CLAUSES} are allowed")
    query = ParsedQuery(tuple(clauses))
    if not clauses:
        raise QueryError(f"there is no word to search for in {text!r:.80}")
    if not query.wanted:
        raise QueryError("the query only says what is not wanted: add a word that is")
    return query


def _read(match: re.Match[str]) -> Clause | None:
    field = (match["field"] or "").lower()
    value = match["word"] if match["phrase"] is None else match["phrase"]
    if match["phrase"] is not None and not match["end"]:
        raise QueryError(
            f'the quotation mark before {value[:40]!r} is not closed: add a " after it'
        )
    if not field and not value:
        return None  # a dash on its own
    is_excluded = match["minus"] is not None
    if field == "site":
        return Clause(_host(value or ""), FIELDS[field], is_excluded)
    tokens = analyzer(WORDS).analyze(value or "")
    if len(tokens) > MAX_PHRASE:
        raise QueryError(f"a phrase has {len(tokens)} words, and {MAX_PHRASE} are allowed")
    if field and not tokens:
        raise QueryError(f"there is no word after {field}: in the query")
    return Clause(value, FIELDS.get(field, ""), is_excluded) if tokens else None


def _host(value: str) -> str:
    bare = value.strip().removeprefix("*.").strip(".")
    try:
        if not bare or any(character.isspace() for character in bare):
            raise ValueError(value)
        return parse_host(bare)
    except ValueError:
        raise QueryError(f"site: needs a host or a domain, and {value[:40]!r} is none") from None
