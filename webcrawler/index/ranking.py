"""From a parsed query to tantivy's, with weights that are the same over all parts and folders.

A part weighs a word by how rare it is in that part. The parts of an index, and the indexes of
several workers, are pieces of one collection, so each word's weight is corrected to its rarity in
the whole (BM25 is linear in it, so the correction is exact but for deleted pages).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tantivy import Occur, Query

from webcrawler.index.language import WORDS, analyzer
from webcrawler.index.schema import TEXT_FIELDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tantivy import Schema, Searcher

    from webcrawler.index.query import Clause, ParsedQuery

_MAX_CORRECTION = 16.0


@dataclass(frozen=True, slots=True)
class Weights:
    """What a word counts in each field; 0 leaves the field out."""

    title: float = 3.0
    anchors: float = 2.0
    body: float = 1.0

    def __post_init__(self) -> None:
        values = (self.title, self.anchors, self.body)
        if not all(0 <= value < 1e6 for value in values) or not any(values):
            raise ValueError(f"weights must be 0 or more, and one of them above: {values}")


@dataclass(frozen=True, slots=True)
class View:
    """A part of an index as it was at one commit."""

    analysis: str
    schema: Schema
    searcher: Searcher

    def tokens(self, clause: Clause) -> list[str]:
        analysis = WORDS if clause.field == "url" else self.analysis
        return analyzer(analysis).analyze(clause.text)


def compile_query(
    query: ParsedQuery, view: View, views: Sequence[View], weights: Weights
) -> Query | None:
    """The query for one view among all; None where nothing in it can match."""
    parts: list[tuple[Occur, Query]] = []
    for clause in query.clauses:
        compiled = _compile(clause, view, views, weights)
        if compiled is not None:
            parts.append((Occur.MustNot if clause.is_excluded else Occur.Must, compiled))
        elif not clause.is_excluded:
            return None
    return Query.boolean_query(parts)


def _compile(clause: Clause, view: View, views: Sequence[View], weights: Weights) -> Query | None:
    if clause.field == "host":
        return Query.const_score_query(
            Query.term_query(view.schema, "host", clause.text, "basic"), 0.0
        )
    tokens = view.tokens(clause)
    if not tokens:
        return None
    if clause.field == "url":
        return Query.const_score_query(_match(view, "url", tokens), 0.0)
    fields = (clause.field,) if clause.field else TEXT_FIELDS
    found: list[tuple[Occur, Query]] = []
    for field in fields:
        weight = getattr(weights, field) or (1.0 if clause.field else 0.0)
        counts = [view.searcher.doc_freq(field, token) for token in tokens]
        if weight and all(counts):
            boost = weight * _correction(clause, field, view, views, counts)
            found.append((Occur.Should, Query.boost_query(_match(view, field, tokens), boost)))
    return Query.boolean_query(found) if found else None


def _match(view: View, field: str, tokens: list[str]) -> Query:
    if len(tokens) == 1:
        return Query.term_query(view.schema, field, tokens[0], "freq")
    return Query.phrase_query(view.schema, field, list(tokens))


def _correction(
    clause: Clause, field: str, view: View, views: Sequence[View], counts: list[int]
) -> float:
    if len(views) == 1:
        return 1.0
    totals = [0] * len(counts)
    for other in views:
        tokens = other.tokens(clause)
        if len(tokens) == len(counts):
            for index, token in enumerate(tokens):
                totals[index] += other.searcher.doc_freq(field, token)
    size = sum(other.searcher.num_docs for other in views)
    here = sum(_rarity(count, view.searcher.num_docs) for count in counts)
    everywhere = sum(_rarity(count, size) for count in totals)
    return min(_MAX_CORRECTION, max(1 / _MAX_CORRECTION, everywhere / here))


def _rarity(count: int, size: int) -> float:
    """BM25's inverse document frequency, as tantivy has it."""
    size = max(size, count)
    return math.log1p((size - count + 0.5) / (count + 0.5))
