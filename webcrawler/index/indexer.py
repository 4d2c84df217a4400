"""What turns finished pages and their links into the index: the work of the index's thread.

    indexer.replay()                    # at every start: what a crash left undone
    indexer.receive()                   # anchors that other workers have found
    indexer.fold()                      # links of some hundred pages reach their targets
    indexer.index(notes)                # pages, with the anchors known of them so far
    indexer.commit()                    # found from here on; their notes are deleted
    indexer.refresh()                   # targets in the index get their new anchors
    indexer.refresh(is_final=True)      # all of them, and those that were never fetched

Everything that says "done" is written after the commit of the index, in one batch: notes deleted,
and for each target what the index was told of it. So whatever happens in between is done again, and
doing it again changes nothing.

A page that is in the index is added again for its anchors only when these say something new and
a quarter more pages link to it than last time: a page of a thousand links is added a few dozen
times, not a thousand. What is put off waits in a table of its own for the final refresh, as do the
targets that are not fetched yet, most of which will be.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from webcrawler.index.anchors import AnchorReader, digest
from webcrawler.index.fold import MAX_FOLD, changed_targets, fold, mark_changed
from webcrawler.index.journal import IndexedPage, IndexJournal, Note, fate
from webcrawler.index.language import detect_language
from webcrawler.index.layout import (
    INDEX_FATE,
    INDEX_NEW,
    INLINKS,
    INLINKS_LATER,
    INLINKS_NEW,
    INLINKS_OPEN,
    NUMBER,
    number_key,
)
from webcrawler.index.post import PostRoom
from webcrawler.index.sequence import Sequence
from webcrawler.tables import Batch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from webcrawler.index.fulltext import FullTextIndex
    from webcrawler.index.inlinks import Inlinks
    from webcrawler.index.post import Post
    from webcrawler.tables import Table

MAX_PENDING = 2000  # pages between two commits: what a restart does again, and what memory holds
_GROWTH = 1.25
_ROWS_AT_ONCE = 16  # notes of changed targets, some thousand targets each
_MANY_RUNS = 8
_TURNS = 16  # refreshes after which the runs of a target that is not fetched are looked at
_MAX_HOPS = 4


class Indexer:
    """Writes the index of one worker from the tables. Used by one thread; blocks.

    `commit` is the store's: it takes a batch and returns when it is written. With a `post` there
    are other workers, and a target belongs to the one that ended it.
    """

    def __init__(
        self,
        index: FullTextIndex,
        tables: Mapping[str, Table],
        commit: Callable[[Batch], None],
        *,
        journal: IndexJournal | None = None,
        sequence: Sequence | None = None,
        post: Post | None = None,
    ) -> None:
        self._index = index
        self._tables = tables
        self._commit = commit
        self._journal = journal or IndexJournal()
        self._sequence = sequence or Sequence()
        self._reader = AnchorReader(tables)
        self._post = post
        self._room = PostRoom(tables, post) if post is not None else None
        self._done = Batch()
        self._turn = 0
        self.counts: Counter[str] = Counter()  # what was done, for stats

    @property
    def folder(self) -> Path:
        return self._index.folder

    @property
    def pending(self) -> int:
        """How many pages wait for the next commit."""
        return self._index.pending

    def replay(self, before: int | None = None) -> int:
        """Index what the journal holds, or held before a number was given; the number of notes."""
        count = 0
        self._reopen()
        # By parts: what is committed is no longer there to be read.
        while notes := list(islice(self._left_over(before), MAX_PENDING)):
            self.index(notes)
            self.commit()
            count += len(notes)
        return count

    def _left_over(self, before: int | None) -> Iterator[Note]:
        notes = self._journal.waiting(self._tables[INDEX_NEW])
        if before is None:
            return notes
        end = number_key(before)
        return takewhile(lambda note: note.key < end, notes)

    def index(self, notes: Iterable[Note]) -> None:
        """Put pages into the index, or take them out, as their notes say."""
        for note in notes:
            if isinstance(note.work, IndexedPage):
                self._put(note.work)
            else:
                self.counts["removed"] += 1
                self._index.remove(note.work.fingerprint)
                if note.work.alias_of:
                    self._mark([note.work.alias_of])
            self._done.delete(INDEX_NEW, note.key)
            if self._index.pending >= MAX_PENDING:
                self.commit()

    def commit(self) -> None:
        """Commit the index, then write down that it was done."""
        self._index.commit()
        if self._done:
            done, self._done = self._done, Batch()
            self._commit(done)

    def fold(self, limit: int = MAX_FOLD) -> int:
        """Carry the links of finished pages to their targets; the number of pages."""
        batch = Batch()
        count = fold(self._tables, batch, run=self._sequence.next(), limit=limit)
        if count:
            self._commit(batch)
            self.counts["folded"] += count
        return count

    def receive(self) -> int:
        """Fold what other workers have sent; the number of parcels, 0 where none has come."""
        if self._room is None or self._post is None:
            return 0
        batch = Batch()
        count = self._room.receive(batch, self._sequence.next())
        if count:
            self._commit(batch)
            self._post.taken(count)
            self.counts["received"] += count
        return count

    def leave(self, *, is_idle: bool = False) -> None:
        """Tell other workers that this one ends."""
        if self._post is not None:
            self._post.leave(is_idle=is_idle)

    def is_over(self) -> bool:
        """Whether nothing more will come from other workers; waits a moment where it may."""
        return self._post is None or self._post.is_over()

    def refresh(self, *, is_final: bool = False, limit: int = _ROWS_AT_ONCE) -> int:
        """Give changed targets their new anchors; how many were looked at, 0 when none waits."""
        self.commit()
        self._turn += 1
        sizes = {INLINKS_NEW: limit}
        if is_final or self._room is not None:
            # What waits for another worker's fetch is asked about now and then.
            sizes[INLINKS_LATER] = limit if is_final else max(1, limit // 4)
        targets: dict[int, None] = {}
        for name, size in sizes.items():
            for key, row in islice(self._tables[name].scan(), size):
                targets.update(dict.fromkeys(changed_targets(row)))
                self._done.delete(name, key)
        later: list[int] = []
        ours = self._resolved(list(targets))
        if self._room is not None:
            ours = self._sort(self._room, ours, later, is_final=is_final)
        for target in ours:
            if not self._refresh(target, is_final):
                later.append(target)
            if self._index.pending >= MAX_PENDING:
                # The notes must stay until the last of their targets is done.
                self._index.commit()
        if later:
            # At the end, what is left over waits for the next start.
            table = INLINKS_OPEN if is_final else INLINKS_LATER
            mark_changed(self._done, later, run=self._sequence.next(), table=table)
        self.commit()
        return len(targets)

    def _put(self, page: IndexedPage) -> None:
        self.counts["put"] += 1
        language = detect_language(page.body, page.language)
        if language != page.language:
            page = replace(page, language=language)
        inlinks, keys = self._reader.inlinks(page.fingerprint)
        whole = self._reader.with_aliases(page.fingerprint, inlinks)
        anchors = self._reader.weigh(whole, page.url)
        self._index.put(page, anchors)
        if inlinks is not None:
            self._remember(inlinks, keys, digest(anchors))

    def _refresh(self, target: int, is_final: bool) -> bool:
        """Whether nothing is left to do for the target."""
        if self._index.is_pending(target):
            return True  # put a moment ago, with all that is known
        is_held = self._index.holds(target)
        if not is_held and not is_final:
            if (target + self._turn) % _TURNS == 0:
                self._merge_runs(*self._reader.inlinks(target))
            return False
        inlinks, keys = self._reader.inlinks(target)
        whole = self._reader.with_aliases(target, inlinks)
        if whole is None:
            return True
        if is_held and whole is inlinks and len(keys) == 1 and inlinks.digest:
            return True  # nothing came after what was indexed
        anchors = self._reader.weigh(whole)
        told = digest(anchors)
        if is_held and whole.digest == told:
            self._merge_runs(inlinks, keys)
            return True
        page = self._index.get(target) if is_held else IndexedPage(target, whole.url)
        if page is None or not page.url:
            return True
        if page.fetched_at and not is_final and whole.page_count < _GROWTH * whole.indexed_pages:
            self._merge_runs(inlinks, keys)
            return False
        if not page.fetched_at and not any(anchor.repeats for anchor in anchors):
            self._merge_runs(inlinks, keys)
            self._index.remove(target)  # known by nothing, or by nothing but noise
            return True
        self.counts["refreshed"] += 1
        self._index.put(page, anchors)
        if inlinks is not None:
            self._remember(inlinks, keys, told)
        return True

    def _merge_runs(self, inlinks: Inlinks | None, keys: list[bytes]) -> None:
        """Keep the rows of a target few, with what is remembered in them."""
        if inlinks is not None and len(keys) >= _MANY_RUNS:
            self._remember(inlinks, keys, inlinks.digest, inlinks.indexed_pages)

    def _remember(
        self, inlinks: Inlinks, keys: list[bytes], told: int, pages: int | None = None
    ) -> None:
        """Merge a target's runs into one, with what the index was told."""
        inlinks.digest = told
        inlinks.indexed_pages = inlinks.page_count if pages is None else pages
        for key in keys[:-1]:
            self._done.delete(INLINKS, key)
        self._done.put(INLINKS, keys[-1], inlinks.pack())

    def _sort(
        self, room: PostRoom, pages: list[int], later: list[int], *, is_final: bool
    ) -> list[int]:
        """The pages that are this worker's; what is known of others goes to their workers."""
        ours, theirs = room.sort(pages, is_final=is_final)
        unclaimed = [page for page, holder in theirs.items() if not holder]
        for page in unclaimed:
            del theirs[page]
            # Where nobody remembers who ended it, it is of the index that it is in.
            later.append(page)
            if self._index.holds(page):
                ours.append(page)
        unsent = set(room.send(theirs, self._done))
        later += unsent
        for page in theirs:
            if page not in unsent and self._index.holds(page):
                self._index.remove(page)
                self.counts["removed"] += 1
        self.counts["sent"] += len(theirs) - len(unsent)
        if is_final:
            # In the index though nobody has fetched them: once somebody does, they are his.
            later += [page for page in ours if page in room.unfetched]
        return ours

    def _reopen(self) -> None:
        """What nobody had fetched when this worker ended last, somebody may have since."""
        batch = Batch()
        for key, row in self._tables[INLINKS_OPEN].scan():
            batch.delete(INLINKS_OPEN, key)
            batch.put(INLINKS_LATER, key, row)
        if batch:
            self._commit(batch)

    def _resolved(self, targets: list[int]) -> list[int]:
        """The pages whose documents these targets belong to."""
        rows = self._tables[INDEX_FATE].get_many([NUMBER.pack(target) for target in targets])
        found: dict[int, None] = {}
        for target, row in zip(targets, rows, strict=True):
            page = target if row is None else self._resolve(row)
            if page:
                found[page] = None
        return list(found)

    def _resolve(self, row: bytes) -> int:
        """The page at the end of a chain of copies and redirects; 0 where there is none."""
        for _ in range(_MAX_HOPS):
            page = fate(row)
            if not page:
                return 0
            next_row = self._tables[INDEX_FATE].get(NUMBER.pack(page))
            if next_row is None:
                return page
            row = next_row
        return 0

    def _mark(self, targets: list[int]) -> None:
        mark_changed(self._done, targets, run=self._sequence.next())
