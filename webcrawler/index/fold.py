"""From rows by source to rows by target, in bulk and in the background.

A page's ending writes two rows: its links, and a note that they are to be folded (`record_links`).
Writing to each of its targets there would cost a read and a write for every link. Instead some
hundred pages are folded at a time (`fold`): their targets overlap a great deal, so that few rows
are written a page, and none is read: a fold appends a run to each target, and the runs of a target
are merged when somebody needs them (inlinks.py).

A fold is one batch, which also deletes the notes. A crash before it is committed leaves the notes,
and folding the same page twice counts it once.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from struct import pack, unpack
from typing import TYPE_CHECKING

from webcrawler.index import evidence
from webcrawler.index.inlinks import GONE, NOFOLLOW, Inlinks
from webcrawler.index.layout import (
    INLINKS,
    INLINKS_NEW,
    LINKS,
    LINKS_NEW,
    PAGE,
    TEXTS,
    number_key,
    page_key,
    pair_key,
)
from webcrawler.index.links import pack_links, target_fingerprints, unpack_links

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from webcrawler.items import Link
    from webcrawler.tables import Batch, Table

MAX_FOLD = 512  # pages a fold: what is folded is held in memory, about 20 KB a page
_TARGETS_A_ROW = 4096


@dataclass(frozen=True, slots=True)
class Source:
    """A page that links: its fingerprint, URL and the hash of its site."""

    fingerprint: int
    url: str
    site: int

    @property
    def key(self) -> bytes:
        """Where its links are kept."""
        return page_key(self.site, self.fingerprint)


def record_links(
    batch: Batch,
    source: Source,
    links: Iterable[Link],
    fingerprint: Callable[[str], int],
    *,
    sequence: int,
    old: bytes | None = None,
    compress: bool = False,
) -> None:
    """Append what a page links to, to the batch of its ending.

    `old` is the page's row from an earlier fetch, to be read by the caller from `source.key` of the
    table `links` where there may have been one. `sequence` is a number that no other ending has.
    A page that is gone, or may not be followed any more, is recorded with no links.
    """
    row = pack_links(source.fingerprint, source.url, links, fingerprint, compress=compress)
    gone: set[int] = set()
    if old:
        gone = set(target_fingerprints(old)).difference(target_fingerprints(row))
    batch.put(LINKS, source.key, row)
    batch.put(LINKS_NEW, number_key(sequence), source.key + pack(f"<{len(gone)}Q", *gone))


def fold(
    tables: Mapping[str, Table],
    batch: Batch,
    *,
    run: int,
    limit: int = MAX_FOLD,
) -> int:
    """Fold the oldest pages that wait, into the batch; the number of pages, 0 where none waits.

    `run` is greater than that of every fold before.
    """
    notes: list[tuple[bytes, bytes]] = []
    for note in tables[LINKS_NEW].scan():
        notes.append(note)
        if len(notes) >= limit:
            break
    if not notes:
        return 0
    targets = _gather(notes, tables[LINKS].get_many([value[: PAGE.size] for _, value in notes]))
    add_run(tables, batch, targets, run=run)
    for key, _ in notes:
        batch.delete(LINKS_NEW, key)
    return len(notes)


def add_run(
    tables: Mapping[str, Table], batch: Batch, targets: dict[int, Inlinks], *, run: int
) -> None:
    """Append a run to each of these targets, and note that they have changed."""
    for target, inlinks in targets.items():
        batch.put(INLINKS, pair_key(target, run), inlinks.pack())
    _write_evidence(tables[TEXTS], batch, targets)
    mark_changed(batch, list(targets), run=run)


def mark_changed(batch: Batch, targets: list[int], *, run: int, table: str = INLINKS_NEW) -> None:
    """Note the targets whose anchors the index should look at again."""
    for number, start in enumerate(range(0, len(targets), _TARGETS_A_ROW)):
        part = targets[start : start + _TARGETS_A_ROW]
        batch.put(table, pair_key(run, number), pack(f"<{len(part)}Q", *part))


def changed_targets(row: bytes) -> tuple[int, ...]:
    """The targets of a note."""
    return unpack(f"<{len(row) // 8}Q", row)


def _gather(notes: list[tuple[bytes, bytes]], rows: list[bytes | None]) -> dict[int, Inlinks]:
    targets: dict[int, Inlinks] = {}
    for (_, value), packed in zip(notes, rows, strict=True):
        site, source = PAGE.unpack_from(value)
        current: tuple[int, ...] = ()
        if packed is not None:
            row = unpack_links(packed)
            current = row.fingerprints
            for target, url, texts in zip(current, row.urls, row.groups(), strict=True):
                inlinks = targets.get(target)
                if inlinks is None:
                    inlinks = targets[target] = Inlinks(url)
                inlinks.add(site, source, NOFOLLOW if texts is None else texts)
        # Of the row as it is now, which may be newer than the note: both notes then agree.
        for target in set(changed_targets(value[PAGE.size :])).difference(current):
            targets.setdefault(target, Inlinks("")).add(site, source, GONE)
    return targets


def _write_evidence(table: Table, batch: Batch, targets: dict[int, Inlinks]) -> None:
    members_of: dict[bytes, Iterable[int]] = {}
    for normal, uses in _ambiguous(targets).items():
        text = evidence.text_hash(normal)
        by_site: defaultdict[int, set[int]] = defaultdict(set)
        for site, target in uses:
            by_site[site].add(target)
        if len(by_site) > 1:
            members_of[evidence.sites_key(text)] = by_site
        for site, members in by_site.items():
            if len(members) > 1:
                members_of[evidence.targets_key(text, site)] = members
    keys = list(members_of)
    for key, row in zip(keys, table.get_many(keys), strict=True):
        filled = evidence.fill(row, members_of[key])
        if filled != row:
            batch.put(TEXTS, key, filled)


def _ambiguous(targets: dict[int, Inlinks]) -> dict[str, list[tuple[int, int]]]:
    """The texts in use for several targets, in their normal form, with (site, target)."""
    first: dict[str, tuple[int, int]] = {}
    more: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for target, inlinks in targets.items():
        for site, links in inlinks.sites.items():
            use = (site, target)
            for texts in set(links.sources.values()):
                for text in texts.split("\t"):
                    if first.setdefault(text, use) is not use:
                        more[text].append(use)
    found: dict[str, list[tuple[int, int]]] = {}
    for text, uses in more.items():
        if any(target != first[text][1] for _, target in uses) and (
            normal := evidence.normal_text(text)
        ):
            found.setdefault(normal, []).extend((first[text], *uses))
    return found
