"""The full-text index: a folder with one part for each analysis, each a tantivy index.

A page lies in exactly one part, that of its language. Parts, not fields for each language, because
BM25 takes the average length of a field over all documents of an index: with fields for ten
languages, most of them empty in most documents, every page would look a hundred times too long.
Parts also keep the stems of one language from matching words of another. `search` reads all parts
of all folders and weighs words over all of them.

Tantivy analyses and writes in threads of its own, without the interpreter's lock. What is put is
found after `commit`, by this process and by every other; until then it is as if it were not there,
and gone after a crash (journal.py makes up for that). One thread uses an object of this class.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tantivy import Index, Query

from webcrawler.index.errors import IndexUnusableError
from webcrawler.index.language import ANALYSES, WORDS, analysis_of, analyzer
from webcrawler.index.schema import ANALYSIS, FORMAT, PLAIN, build_schema, make_document, read_page

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType

    from tantivy import DocAddress, IndexWriter

    from webcrawler.index.anchors import Anchor
    from webcrawler.index.journal import IndexedPage

DEFAULT_HEAP = 40_000_000
MIN_HEAP = 15_000_000  # tantivy's own least
MAX_WRITERS = 4  # an open part costs 7 threads and 8 MB
_FORMAT_FILE = "format.json"


class FullTextIndex:
    """An index that is written to; only one at a time, in whatever process, for a folder."""

    def __init__(
        self,
        folder: Path,
        *,
        default_language: str = "en",
        heap_bytes: int = DEFAULT_HEAP,
        threads: int = 1,
        max_writers: int = MAX_WRITERS,
    ) -> None:
        self.folder = folder
        self._default_language = default_language
        self._heap_bytes = max(heap_bytes, MIN_HEAP * threads)
        self._threads = threads
        self._max_writers = max_writers
        _make_folder(folder)
        self._parts = {name: _Part(open_part(folder, name)) for name in part_names(folder)}
        self._pending: dict[int, str] = {}  # what was put or removed since the last commit

    @property
    def pending(self) -> int:
        """How many pages wait for the next commit."""
        return len(self._pending)

    def put(self, page: IndexedPage, anchors: Sequence[Anchor] = ()) -> None:
        """Put a page in, in place of what was there of it."""
        text = page.body or page.title or " ".join([anchor.text for anchor in anchors])
        name = analysis_of(page.language, text, self._default_language)
        self.remove(page.fingerprint)
        part = self._parts.get(name)
        if part is None:
            part = self._parts[name] = _Part(open_part(self.folder, name, create=True))
        self._writer(part).add_document(make_document(page, anchors))
        self._pending[page.fingerprint] = name

    def remove(self, fingerprint: int) -> None:
        """Take a page out; nothing happens where it is not in."""
        put_in = self._pending.get(fingerprint)
        for name, part in self._parts.items():
            if name == put_in or part.may_hold(fingerprint):
                # By query: deleting by term does nothing to unsigned fields in tantivy-py 0.27.
                self._writer(part).delete_documents_by_query(part.query(fingerprint))
                self._pending[fingerprint] = ""

    def get(self, fingerprint: int) -> IndexedPage | None:
        """A page as last committed; None where there is none."""
        for part in self._parts.values():
            page = part.get(fingerprint)
            if page is not None:
                return page
        return None

    def holds(self, fingerprint: int) -> bool:
        """Whether a page, fetched or not, is in the index as last committed."""
        return any(part.holds(fingerprint) for part in self._parts.values())

    def is_pending(self, fingerprint: int) -> bool:
        """Whether the page was put or removed since the last commit."""
        return fingerprint in self._pending

    def commit(self) -> int:
        """Make what was put found, durably. The number of pages that were waiting."""
        count = len(self._pending)
        busy = [part for part in self._parts.values() if part.is_changed]
        for part in busy:
            part.commit()
        self._pending.clear()
        idle = [p for p in self._parts.values() if p.writer is not None and p not in busy]
        for part in idle[: max(0, len(busy) + len(idle) - self._max_writers)]:
            part.close()
        return count

    def page_count(self) -> int:
        """How many pages are in the index, fetched or not, as last committed."""
        return sum(part.searcher.num_docs for part in self._parts.values())

    def close(self) -> None:
        """Commit, and let merges that are under way finish."""
        self.commit()
        for part in self._parts.values():
            part.close()

    def __enter__(self) -> FullTextIndex:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()

    def _writer(self, part: _Part) -> IndexWriter:
        part.is_changed = True
        if part.writer is None:
            try:
                part.writer = part.index.writer(self._heap_bytes, self._threads)
            except ValueError as error:
                reason = "another process is writing to it" if "Lock" in str(error) else str(error)
                raise IndexUnusableError(self.folder, reason) from error
        return part.writer


class _Part:
    """One tantivy index with its writer, opened when needed, and a view of the last commit."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.writer: IndexWriter | None = None
        self.is_changed = False
        self.searcher = index.searcher()

    def may_hold(self, fingerprint: int) -> bool:
        return bool(self.searcher.doc_freq("fingerprint", fingerprint))

    def holds(self, fingerprint: int) -> bool:
        # The first look also sees what was deleted and not yet merged away.
        return self.may_hold(fingerprint) and self._find(fingerprint) is not None

    def get(self, fingerprint: int) -> IndexedPage | None:
        address = self._find(fingerprint) if self.may_hold(fingerprint) else None
        return None if address is None else read_page(self.searcher.doc(address))

    def query(self, fingerprint: int) -> Query:
        return Query.term_query(self.index.schema, "fingerprint", fingerprint)

    def commit(self) -> None:
        if self.writer is not None:
            self.writer.commit()
        self.index.reload()
        self.searcher = self.index.searcher()
        self.is_changed = False

    def close(self) -> None:
        if self.writer is not None:
            self.writer.wait_merging_threads()  # consumes the writer
            self.writer = None

    def _find(self, fingerprint: int) -> DocAddress | None:
        hits = self.searcher.search(self.query(fingerprint), 1, count=False).hits
        return hits[0][1] if hits else None


def part_names(folder: Path) -> list[str]:
    """The parts that a folder has."""
    return [name for name in ANALYSES if (folder / name / "meta.json").exists()]


def open_part(folder: Path, name: str, *, create: bool = False) -> Index:
    """A part of an index, ready to be searched or written to."""
    path = folder / name
    try:
        if create:
            path.mkdir(exist_ok=True)
        index = Index(build_schema(), str(path)) if create else Index.open(str(path))
        index.config_reader("manual")  # no thread that watches the folder
    except (ValueError, OSError) as error:
        raise IndexUnusableError(folder, str(error)) from error
    index.register_tokenizer(ANALYSIS, analyzer(name))
    index.register_tokenizer(PLAIN, analyzer(WORDS))
    return index


def check_folder(folder: Path) -> None:
    """IndexUnusableError where the folder is no index that this version can read."""
    try:
        found = json.loads((folder / _FORMAT_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise IndexUnusableError(folder, "there is no index") from None
    except (OSError, ValueError) as error:
        raise IndexUnusableError(folder, str(error)) from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise IndexUnusableError(folder, f"its format is not {FORMAT}: build it anew")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / _FORMAT_FILE).exists():
            temporary = folder / (_FORMAT_FILE + ".new")
            temporary.write_text(json.dumps({"format": FORMAT}), encoding="utf-8")
            temporary.replace(folder / _FORMAT_FILE)
    except OSError as error:
        raise IndexUnusableError(folder, str(error)) from error
    check_folder(folder)
