"""The links of one page as one compact row: source, targets, rel and anchor texts.

The row is written once a page and holds everything: the link graph is read from it, and the
anchors are folded from it later (fold.py). It is columns, not records: all fingerprints, then
all URLs, then all texts, each packed and unpacked by one call. The store compresses its blocks,
and rows of one site lie side by side there, so that their shared navigation costs next to
nothing; a store that does not compress asks for rows that are (`compress`).
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from struct import Struct, pack, unpack_from
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from webcrawler.items import Link

MAX_TARGETS = 2000
MAX_TEXTS = 8  # distinct texts by which one page points at one target
MAX_TEXT = 120
MAX_RELS = 255
MAX_URL = 4096

_PLAIN, _COMPRESSED = 1, 2
# kind of row, targets, texts, lengths of: source URL, target URLs, rels
_HEADER = Struct("<BHHHII")
_UNCOUNTED = frozenset({"nofollow", "ugc", "sponsored"})


@dataclass(frozen=True, slots=True)
class OutLink:
    """One link of a stored page."""

    fingerprint: int
    url: str
    text: str
    rel: str


@dataclass(frozen=True, slots=True)
class LinkRow:
    """The links of a page as read back: `texts` holds `counts[i]` entries for target i, and
    `rels[rel_of[j]]` is the rel attribute of text j."""

    url: str
    fingerprints: tuple[int, ...]
    urls: list[str]
    counts: bytes
    texts: list[str]
    rel_of: bytes
    rels: list[str]

    def __iter__(self) -> Iterator[OutLink]:
        start = 0
        for fingerprint, url, count in zip(self.fingerprints, self.urls, self.counts, strict=True):
            for index in range(start, start + count):
                rel = self.rels[self.rel_of[index]]
                yield OutLink(fingerprint, url, self.texts[index], rel)
            start += count

    def groups(self) -> list[str | None]:
        """For each target its texts joined by tabs; None where no link of it counts."""
        uncounted = {index for index, rel in enumerate(self.rels) if rel and not counts(rel)}
        texts, start = self.texts, 0
        groups: list[str | None] = []
        for count in self.counts:
            end = start + count
            if uncounted and not uncounted.isdisjoint(self.rel_of[start:end]):
                counted = [texts[i] for i in range(start, end) if self.rel_of[i] not in uncounted]
                groups.append("\t".join(counted) if counted else None)
            else:
                groups.append(texts[start] if count == 1 else "\t".join(texts[start:end]))
            start = end
        return groups


def counts(rel: str) -> bool:
    """Whether a link with this rel attribute vouches for its target."""
    return _UNCOUNTED.isdisjoint(rel.split())


def pack_links(
    source: int,
    url: str,
    links: Iterable[Link],
    fingerprint: Callable[[str], int],
    *,
    compress: bool = False,
) -> bytes:
    """The row of a page. `fingerprint` is asked once for each distinct URL.

    Links to the page itself are left out. A text is kept once for a target, and what exceeds the
    bounds above is dropped, the last links first.
    """
    by_url: dict[str, dict[str, str]] = {}
    for target, text, rel, _ in links:
        texts = by_url.get(target)
        if texts is None:
            if len(by_url) < MAX_TARGETS and len(target) <= MAX_URL:
                by_url[target] = {text: rel}
        elif text not in texts:
            if len(texts) < MAX_TEXTS:
                texts[text] = rel
        elif not rel:
            texts[text] = rel  # one link that counts makes the text count
    targets: dict[int, tuple[str, dict[str, str]]] = {}
    for target, texts in by_url.items():
        number = fingerprint(target)
        known = targets.get(number)
        if known is not None:  # another spelling of a page that is linked already
            known[1].update({k: texts[k] for k in list(texts)[: MAX_TEXTS - len(known[1])]})
        elif number != source:
            targets[number] = (target, texts)
    row = _pack(url, targets)
    return bytes((_COMPRESSED,)) + zlib.compress(row, 1) if compress else row


def unpack_links(row: bytes) -> LinkRow:
    """The links of a row; ValueError where it is none."""
    if row[:1] == bytes((_COMPRESSED,)):
        row = zlib.decompress(row[1:])
    kind, targets, texts, source, urls, rels = _HEADER.unpack_from(row)
    if kind != _PLAIN:
        raise ValueError(f"a row of links of an unknown kind: {kind}")
    at = _HEADER.size
    fingerprints = unpack_from(f"<{targets}Q", row, at)
    at += 8 * targets
    counts = row[at : at + targets]
    at += targets
    rel_of = row[at : at + texts]
    at += texts
    words = row[at:].decode("utf-8")
    if len(words) != len(row) - at:  # lengths are in bytes: cut again where they differ
        parts = (row[at : at + source], row[at + source : at + source + urls])
        page, targets_text = (part.decode("utf-8") for part in parts)
        at += source + urls
        rels_text, words = row[at : at + rels].decode("utf-8"), row[at + rels :].decode("utf-8")
    else:
        page, targets_text = words[:source], words[source : source + urls]
        rels_text, words = words[source + urls :][:rels], words[source + urls + rels :]
    known_rels = rels_text.split("\t")
    return LinkRow(
        page,
        fingerprints,
        targets_text.split("\n") if targets else [],
        counts,
        words.split("\t") if texts else [],
        rel_of,
        known_rels,
    )


def target_fingerprints(row: bytes) -> tuple[int, ...]:
    """Only the targets of a row."""
    if row[:1] == bytes((_COMPRESSED,)):
        row = zlib.decompress(row[1:])
    return unpack_from(f"<{_HEADER.unpack_from(row)[1]}Q", row, _HEADER.size)


def _pack(url: str, targets: dict[int, tuple[str, dict[str, str]]]) -> bytes:
    urls = [target for target, _ in targets.values()]
    texts = [text for _, texts in targets.values() for text in texts]
    rels = [rel for _, texts in targets.values() for rel in texts.values()]
    known_rels = [
        "",
        *sorted({rel for rel in rels if rel and len(rel) <= MAX_TEXT})[: MAX_RELS - 1],
    ]
    number_of = {rel: number for number, rel in enumerate(known_rels)}
    columns = (
        pack(f"<{len(targets)}Q", *targets),
        bytes([len(texts) for _, texts in targets.values()]),
        bytes([number_of.get(rel, 0) for rel in rels]) if len(known_rels) > 1 else bytes(len(rels)),
        url[:MAX_URL].encode("utf-8", "replace"),
        _joined("\n", urls),
        _joined("\t", known_rels),
        _joined("\t", texts if max(map(len, texts), default=0) <= MAX_TEXT else _cut(texts)),
    )
    lengths = [len(column) for column in columns[3:6]]
    return b"".join((_HEADER.pack(_PLAIN, len(targets), len(texts), *lengths), *columns))


def _cut(texts: list[str]) -> list[str]:
    return [text[:MAX_TEXT] for text in texts]


def _joined(separator: str, parts: list[str]) -> bytes:
    """The parts with a separator between, also where a hostile part holds it."""
    text = separator.join(parts)
    if text.count(separator) != max(0, len(parts) - 1):
        text = separator.join([part.replace(separator, " ") for part in parts])
    return text.encode("utf-8", "replace")
