"""Anchors for pages that another worker holds: how they reach that worker's index.

Each worker folds the links of the pages that it fetched, whoever has their targets. The worker
that ended a target is the one that answers for it: it has the text, or knows why there is none.
Whatever others have gathered for that target moves there, in parcels:

    sender    rows of the target -> parcel in the receiver's box -> rows deleted
    receiver  parcel -> rows of the target, noted as changed -> parcel out of the box

A crash between two of these steps repeats the first, and folding a link twice counts it once. A
target that is not fetched yet stays where it is and is asked about again; one that never is, is
given to one of the workers when they end, so that it is in one index with all of its anchors.
"""

from __future__ import annotations

from collections import defaultdict
from struct import Struct
from typing import TYPE_CHECKING, Protocol

from webcrawler.index.fold import add_run
from webcrawler.index.inlinks import Inlinks, merge, row_url
from webcrawler.index.layout import INDEX_ALIASES, INDEX_FATE, INLINKS, NUMBER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from webcrawler.tables import Batch, Table

_PARCEL_BYTES = 1 << 20
_ITEM = Struct("<QI")


class Post(Protocol):
    """What carries parcels between workers, each known by its number (from 1)."""

    @property
    def number(self) -> int:
        """This worker's own."""

    def holders(self, targets: Sequence[tuple[int, str]]) -> list[int]:
        """Who ended these targets, given with a URL ("" if unknown); 0: nobody, as far as can
        be told now."""

    def heirs(self, targets: Sequence[int]) -> list[int]:
        """Who shall answer for targets that nobody has fetched, now that this worker ends."""

    def send(self, worker: int, parcel: bytes) -> bool:
        """Put a parcel into a worker's box; false where it is full or out of reach."""

    def take(self) -> list[bytes]:
        """The parcels that have come, oldest first, a bounded number; they stay in the box."""

    def taken(self, count: int) -> None:
        """The oldest parcels have been kept and may go."""

    def leave(self, *, is_idle: bool) -> None:
        """Tell the others that this worker ends, and whether it has nothing to do now."""

    def is_over(self) -> bool:
        """Whether nobody will send anything to this worker any more; waits a moment if not."""


class PostRoom:
    """A worker's side of the post: what to send where, and what has come."""

    def __init__(self, tables: Mapping[str, Table], post: Post) -> None:
        self._tables = tables
        self._inlinks = tables[INLINKS]
        self._post = post
        self.unfetched: set[int] = set()  # of the pages sorted last, those that nobody has ended

    def receive(self, batch: Batch, run: int) -> int:
        """Fold parcels that have come into the batch; how many, to be told to `post.taken`."""
        parcels = self._post.take()
        targets: dict[int, Inlinks] = {}
        for parcel in parcels:
            for target, row in unpack_parcel(parcel):
                inlinks = Inlinks.unpack(row)
                if target in targets:
                    targets[target].update(inlinks)
                else:
                    targets[target] = inlinks
        if targets:
            add_run(self._tables, batch, targets, run=run)
        return len(parcels)

    def sort(self, pages: Iterable[int], *, is_final: bool) -> tuple[list[int], dict[int, int]]:
        """Pages that are this worker's, and of the others whose they are; 0: not known yet."""
        asked = [(page, self._url(page)) for page in pages]
        holder_of = {
            page: holder for (page, _), holder in zip(asked, self._post.holders(asked), strict=True)
        }
        self.unfetched = {page for page, holder in holder_of.items() if not holder}
        if is_final:
            open_pages = list(self.unfetched)
            holder_of.update(zip(open_pages, self._post.heirs(open_pages), strict=True))
        number = self._post.number
        ours = [page for page, holder in holder_of.items() if holder == number]
        return ours, {page: holder for page, holder in holder_of.items() if holder != number}

    def send(self, theirs: Mapping[int, int], batch: Batch) -> list[int]:
        """Send what there is of these pages to their workers; those that could not be sent.

        The batch receives the deletion of what was sent.
        """
        by_worker: defaultdict[int, list[int]] = defaultdict(list)
        for page, worker in theirs.items():
            by_worker[worker].append(page)
        kept: list[int] = []
        for worker, pages in by_worker.items():
            parcel: list[bytes] = []
            size = 0
            members: list[tuple[int, list[bytes]]] = []
            for at, page in enumerate(pages, 1):
                keys, row = self._whole(page)
                if row:
                    parcel += (_ITEM.pack(page, len(row)), row)
                    size += len(row)
                    members.append((page, keys))
                if members and (size >= _PARCEL_BYTES or at == len(pages)):
                    if self._post.send(worker, b"".join(parcel)):
                        for _, sent in members:
                            for key in sent:
                                batch.delete(INLINKS, key)
                    else:
                        kept += [number for number, _ in members]
                    parcel, size, members = [], 0, []
        return kept

    def _whole(self, page: int) -> tuple[list[bytes], bytes]:
        """All rows of a page and of what leads to it, as one, with the links that are gone."""
        own = NUMBER.pack(page)
        rows = list(self._inlinks.scan(own))
        for key, _ in self._tables[INDEX_ALIASES].scan(own):
            alias = key[NUMBER.size :]
            if self._tables[INDEX_FATE].get(alias) == own:
                rows += self._inlinks.scan(alias)
        whole = merge([row for _, row in rows])
        if whole is None:
            return [], b""
        whole.url = self._url(page)
        whole.digest = whole.indexed_pages = 0  # what our index was told, not theirs
        return [key for key, _ in rows], whole.pack()

    def _url(self, page: int) -> str:
        for _, row in self._inlinks.scan(NUMBER.pack(page)):
            if url := row_url(row):
                return url
        return ""


def unpack_parcel(parcel: bytes) -> Iterable[tuple[int, bytes]]:
    at = 0
    while at < len(parcel):
        target, size = _ITEM.unpack_from(parcel, at)
        at += _ITEM.size
        yield target, parcel[at : at + size]
        at += size
