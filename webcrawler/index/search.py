"""Searching: one query over all parts of all index folders, the best hits first.

A page that is in several folders (fetched by two workers, or fetched by one and only linked to as
seen by another) is one hit: the fetched one, the newest. The index may be written to meanwhile: a
reader sees it as of a commit.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from webcrawler.index.fulltext import check_folder, open_part, part_names
from webcrawler.index.query import parse_query
from webcrawler.index.ranking import View, Weights, compile_query
from webcrawler.index.schema import TEXT_FIELDS, read_anchors, read_page
from webcrawler.index.snippets import Snippet, make_snippet, printable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tantivy import DocAddress

    from webcrawler.index.anchors import Anchor
    from webcrawler.index.query import ParsedQuery

MAX_HITS = 1000
_SPARE = 10  # hits read beyond those asked for, in case some are the same page


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that was found. `fetched_at` is 0 for one known by its anchors only."""

    title: str
    url: str
    snippet: Snippet
    score: float
    anchors: tuple[Anchor, ...]
    fetched_at: float
    language: str
    fingerprint: int

    @property
    def is_fetched(self) -> bool:
        return self.fetched_at > 0


@dataclass(frozen=True, slots=True)
class Results:
    """The hits asked for; how many pages match in all (a page in two folders counts twice)."""

    hits: list[Hit] = field(default_factory=list)
    total: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class _Found:
    score: float
    fetched_at: float
    fingerprint: int
    view: View
    address: DocAddress


class IndexReader:
    """Index folders opened for searching, as they were when opened or last reloaded."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._indexes = []
        for folder in folders:
            check_folder(folder)
            self._indexes += [(name, open_part(folder, name)) for name in part_names(folder)]
        self._views = self._look()

    @property
    def page_count(self) -> int:
        return sum(view.searcher.num_docs for view in self._views)

    def reload(self) -> None:
        """See what was committed since, but not languages that are new since."""
        for _, index in self._indexes:
            index.reload()
        self._views = self._look()

    def search(
        self,
        query: str,
        limit: int = 10,
        weights: Weights | None = None,
        *,
        offset: int = 0,
        by_rank: bool = False,
    ) -> Results:
        """The pages that match; QueryError where the query cannot be understood.

        `by_rank` raises pages of a higher rank, by the logarithm of it.
        """
        started = time.perf_counter()
        parsed = parse_query(query)
        limit = max(0, min(limit, MAX_HITS))
        offset = max(0, min(offset, MAX_HITS))
        found: list[_Found] = []
        total = 0
        for view in self._views:
            compiled = compile_query(parsed, view, self._views, weights or Weights())
            if compiled is None:
                continue
            result = view.searcher.search(
                compiled,
                limit + offset + _SPARE,
                weight_by_field="rank" if by_rank else None,
            )
            total += result.count  # type: ignore[attr-defined]  # not in tantivy's stubs
            found += _described(view, result.hits)
        chosen = _once(found)[offset : offset + limit]
        hits = [_hit(parsed, one) for one in chosen]
        return Results(hits, total, time.perf_counter() - started)

    def _look(self) -> list[View]:
        return [View(name, index.schema, index.searcher()) for name, index in self._indexes]


def search(
    folders: Sequence[Path], query: str, limit: int = 10, weights: Weights | None = None
) -> Results:
    """Open, search, forget: for commands. `IndexReader` is for those who search often."""
    parse_query(query)  # what is wrong with the query is said before what is wrong with a folder
    return IndexReader(folders).search(query, limit, weights)


def _described(view: View, hits: list[tuple[float, DocAddress]]) -> list[_Found]:
    addresses = [address for _, address in hits]
    fingerprints = view.searcher.fast_field_values("fingerprint", addresses)
    times = view.searcher.fast_field_values("fetched_at", addresses)
    return [
        _Found(score, float(fetched_at or 0), int(fingerprint or 0), view, address)
        for (score, address), fingerprint, fetched_at in zip(hits, fingerprints, times, strict=True)
    ]


def _once(found: list[_Found]) -> list[_Found]:
    """Each page once, as it was fetched last, the best first."""
    newest: dict[int, _Found] = {}
    for one in found:
        other = newest.get(one.fingerprint)
        if other is None or one.fetched_at > other.fetched_at:
            newest[one.fingerprint] = one
    return sorted(newest.values(), key=lambda one: (-one.score, one.fingerprint))


def _hit(query: ParsedQuery, one: _Found) -> Hit:
    document = one.view.searcher.doc(one.address)
    page = read_page(document)
    words = [clause for clause in query.wanted if clause.field in ("", *TEXT_FIELDS)]
    tokens = frozenset(token for clause in words for token in one.view.tokens(clause))
    literals = [clause.text for clause in words]
    return Hit(
        printable(page.title),
        printable(page.url),
        make_snippet(page.body, tokens, one.view.analysis, literals),
        one.score,
        tuple(replace(anchor, text=printable(anchor.text)) for anchor in read_anchors(document)),
        page.fetched_at,
        page.language,
        page.fingerprint,
    )
