"""Finding pages again: by their own words, and by the words with which others point at them.

When a page ends, its batch receives two things. `record_links` writes its links as one row, and a
note that they are to be folded. `IndexJournal.add` writes what is to be indexed of it. Both are
part of the page's atomic ending; nothing else happens on the event loop.

The rest is done by the index's thread (`IndexThread` around an `Indexer`). It folds the links of
some hundred pages at a time to rows by target (`fold`, `Inlinks`), whether the target was fetched
before, will be later, or never is. It weighs the texts of a target against the evidence of how
they are used (`AnchorReader`, `Anchor`), and puts page and anchors into the full-text index
(`FullTextIndex`). After each commit of the index the notes are deleted; after a crash those that
are left are done again. Targets whose anchors changed are put anew now and then, and at the end
also those that were never fetched.

A search (`search`, `IndexReader`) parses what people type (`parse_query`), asks every part of every
index folder, and merges. `outgoing` and `incoming` read the link graph. `build_index` makes one
index from the archives and the tables of any number of crawls.

Bounded: the texts of a page, the texts, sites and sources of a target (counts are exact up to 64
pages of a site and 256 sites, estimates beyond), the length and the parts of a query.
"""

from __future__ import annotations

from webcrawler.index.anchors import Anchor, AnchorReader
from webcrawler.index.build import Built, JoinedTable, build_index
from webcrawler.index.errors import IndexUnusableError, QueryError
from webcrawler.index.fold import Source, fold, record_links
from webcrawler.index.fulltext import FullTextIndex
from webcrawler.index.graph import Incoming, InLink, edges, incoming, outgoing
from webcrawler.index.indexer import Indexer
from webcrawler.index.inlinks import Inlinks
from webcrawler.index.journal import IndexedPage, IndexJournal, Note, Removal
from webcrawler.index.language import analysis_of, detect_language
from webcrawler.index.layout import LINKS, TABLES, site_hash
from webcrawler.index.links import LinkRow, OutLink, pack_links, unpack_links
from webcrawler.index.query import parse_query
from webcrawler.index.ranking import Weights
from webcrawler.index.search import Hit, IndexReader, Results, search
from webcrawler.index.sequence import Sequence
from webcrawler.index.snippets import Snippet, printable
from webcrawler.index.thread import IndexThread

__all__ = [
    "LINKS",
    "TABLES",
    "Anchor",
    "AnchorReader",
    "Built",
    "FullTextIndex",
    "Hit",
    "InLink",
    "Incoming",
    "IndexJournal",
    "IndexReader",
    "IndexThread",
    "IndexUnusableError",
    "IndexedPage",
    "Indexer",
    "Inlinks",
    "JoinedTable",
    "LinkRow",
    "Note",
    "OutLink",
    "QueryError",
    "Removal",
    "Results",
    "Sequence",
    "Snippet",
    "Source",
    "Weights",
    "analysis_of",
    "build_index",
    "detect_language",
    "edges",
    "fold",
    "incoming",
    "outgoing",
    "pack_links",
    "parse_query",
    "printable",
    "record_links",
    "search",
    "site_hash",
    "unpack_links",
]
