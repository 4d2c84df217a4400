"""Who links to a target, and by which words: bounded, mergeable, never counted twice.

Sources are kept by site, and of a source only its fingerprint and its texts. Where there are too
many, a sample is kept that any two rows agree on: at level n, the sources whose fingerprints start
with n zero bits. So a merge is a union, a page folded twice is one entry, a page that was fetched
again replaces its past, and 2 to the power of n times what is kept estimates what there is. Counts
are exact up to the bounds. The same holds for sites.

The texts of a source are one string, joined by tabs: most sources of a target use the same, and a
row keeps it once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct, pack, unpack_from
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_SITES = 256
MAX_SOURCES_OF_SITE = 64
MAX_SOURCES = 2048
MAX_TEXT_BYTES = 65536

#: Instead of texts: a link that does not count, and a link that is no longer there.
NOFOLLOW, GONE = "\x01", "\x02"
_NOT_COUNTED = (NOFOLLOW, GONE)

_SOURCE_BITS, _SITE_BITS = 64, 32
# kind of row, level of sites, sites, sources, distinct groups, length of URL, digest, pages indexed
_HEADER = Struct("<BBHHHHQI")
_KIND = 1


@dataclass(slots=True)
class SiteLinks:
    """The sources of one site: fingerprint to texts."""

    level: int = 0
    sources: dict[int, str] = field(default_factory=dict)

    def raise_level(self) -> None:
        self.level += 1
        limit = 1 << (_SOURCE_BITS - self.level)
        self.sources = {s: texts for s, texts in self.sources.items() if s < limit}

    @property
    def pages(self) -> int:
        """About how many pages of the site link to the target, for what that counts."""
        kept = sum(texts not in _NOT_COUNTED for texts in self.sources.values())
        return kept << self.level


@dataclass(slots=True)
class Inlinks:
    """All links to one target, as far as they are known and kept.

    `digest` and `indexed_pages` say what the index was given last (0: nothing), so that a target
    is indexed again only when there is something new to say of it.
    """

    url: str
    sites: dict[int, SiteLinks] = field(default_factory=dict)
    site_level: int = 0
    digest: int = 0
    indexed_pages: int = 0

    def add(self, site: int, source: int, texts: str) -> None:
        """A link from a page of a site; it replaces what the page said before."""
        links = self.sites.get(site)
        if links is None:
            if site >> (_SITE_BITS - self.site_level):
                return
            links = self.sites[site] = SiteLinks()
            if len(self.sites) > MAX_SITES:
                self._raise_site_level()
        elif source >> (_SOURCE_BITS - links.level):
            return
        links.sources[source] = texts
        while len(links.sources) > MAX_SOURCES_OF_SITE:
            links.raise_level()

    def update(self, newer: Inlinks) -> None:
        """What a newer row says is added, and wins where both speak of the same page."""
        while self.site_level < newer.site_level:
            self._raise_site_level()
        for site, links in newer.sites.items():
            if site >> (_SITE_BITS - self.site_level):
                continue
            mine = self.sites.get(site)
            if mine is None:
                self.sites[site] = SiteLinks(links.level, dict(links.sources))
            else:
                while mine.level < links.level:
                    mine.raise_level()
                limit = 1 << (_SOURCE_BITS - mine.level)
                mine.sources.update((s, t) for s, t in links.sources.items() if s < limit)
                while len(mine.sources) > MAX_SOURCES_OF_SITE:
                    mine.raise_level()
        while len(self.sites) > MAX_SITES:
            self._raise_site_level()
        self.url = newer.url or self.url
        if newer.digest:
            self.digest, self.indexed_pages = newer.digest, newer.indexed_pages

    def settle(self) -> None:
        """Forget the links that are gone, once nothing older can bring them back."""
        for site, links in list(self.sites.items()):
            if GONE in links.sources.values():
                links.sources = {s: texts for s, texts in links.sources.items() if texts != GONE}
            if not links.sources:
                del self.sites[site]

    @property
    def page_count(self) -> int:
        return sum(links.pages for links in self.sites.values()) << self.site_level

    @property
    def site_count(self) -> int:
        return sum(links.pages > 0 for links in self.sites.values()) << self.site_level

    def pack(self) -> bytes:
        self._bound()
        parts = list(self.sites.values())
        sources = [source for links in parts for source in links.sources]
        texts = [texts for links in parts for texts in links.sources.values()]
        groups = dict.fromkeys(texts)
        if sum(map(len, groups)) > MAX_TEXT_BYTES:
            texts = _cut(texts)
            groups = dict.fromkeys(texts)
        number_of = dict(zip(groups, range(len(groups)), strict=True))
        group_of = [number_of[texts] for texts in texts]
        url = self.url.encode("utf-8", "replace")
        header = _HEADER.pack(
            _KIND,
            self.site_level,
            len(parts),
            len(sources),
            len(groups),
            len(url),
            self.digest,
            min(self.indexed_pages, 0xFFFFFFFF),
        )
        return b"".join(
            (
                header,
                pack(f"<{len(parts)}I", *self.sites),
                bytes([links.level for links in parts]),
                bytes([len(links.sources) for links in parts]),
                pack(f"<{len(sources)}Q", *sources),
                bytes(group_of) if len(groups) <= 256 else pack(f"<{len(group_of)}H", *group_of),
                url,
                "\n".join(groups).encode("utf-8", "replace"),
            )
        )

    @classmethod
    def unpack(cls, row: bytes) -> Inlinks:
        """The contents of a row; ValueError where it is none."""
        kind, site_level, size, total, groups, url_size, digest, pages = _HEADER.unpack_from(row)
        if kind != _KIND:
            raise ValueError(f"a row of incoming links of an unknown kind: {kind}")
        at = _HEADER.size
        sites = unpack_from(f"<{size}I", row, at)
        at += 4 * size
        levels, counts = row[at : at + size], row[at + size : at + 2 * size]
        at += 2 * size
        sources = unpack_from(f"<{total}Q", row, at)
        at += 8 * total
        group_of: Iterable[int]
        if groups <= 256:
            group_of = row[at : at + total]
            at += total
        else:
            group_of = unpack_from(f"<{total}H", row, at)
            at += 2 * total
        texts = row[at + url_size :].decode("utf-8").split("\n")
        pairs = zip(sources, [texts[number] for number in group_of], strict=True)
        found = cls(row[at : at + url_size].decode("utf-8"), {}, site_level, digest, pages)
        for site, level, count in zip(sites, levels, counts, strict=True):
            found.sites[site] = SiteLinks(level, dict([next(pairs) for _ in range(count)]))
        return found

    def _bound(self) -> None:
        if len(self.sites) * MAX_SOURCES_OF_SITE <= MAX_SOURCES:
            return
        total = sum(len(links.sources) for links in self.sites.values())
        while total > MAX_SOURCES:
            largest = max(self.sites.values(), key=lambda links: len(links.sources))
            total -= len(largest.sources)
            largest.raise_level()
            total += len(largest.sources)

    def _raise_site_level(self) -> None:
        self.site_level += 1
        limit = 1 << (_SITE_BITS - self.site_level)
        self.sites = {site: links for site, links in self.sites.items() if site < limit}


def row_url(row: bytes) -> str:
    """Only the target's URL of a row."""
    _, _, sites, sources, groups, size, _, _ = _HEADER.unpack_from(row)
    at = _HEADER.size + 6 * sites + sources * (9 if groups <= 256 else 10)
    return row[at : at + size].decode("utf-8")


def _cut(groups: list[str]) -> list[str]:
    """What exceeds the room for texts is left out: those pages still count, their words do not."""
    room = MAX_TEXT_BYTES
    kept: set[str] = {GONE, NOFOLLOW}
    for group in dict.fromkeys(groups):
        room -= len(group)
        if room >= 0:
            kept.add(group)
    return [group if group in kept else "" for group in groups]


def merge(rows: Iterable[bytes]) -> Inlinks | None:
    """The rows of one target, oldest first, as one; None where there are none."""
    whole: Inlinks | None = None
    for row in rows:
        part = Inlinks.unpack(row)
        if whole is None:
            whole = part
        else:
            whole.update(part)
    return whole
