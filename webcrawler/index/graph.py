"""The link graph as it is asked for: what a page links to, and what links to it.

The rows of the sources are the truth. The rows of the targets say where to look, and may name a
source that has changed its mind since; it is left out here. Links of pages that are not folded
yet are found as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from webcrawler.index.anchors import AnchorReader
from webcrawler.index.inlinks import Inlinks
from webcrawler.index.layout import LINKS, LINKS_NEW, PAGE, page_key
from webcrawler.index.links import target_fingerprints, unpack_links

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from webcrawler.index.links import LinkRow
    from webcrawler.tables import Table

_MAX_UNFOLDED = 10_000


@dataclass(frozen=True, slots=True)
class InLink:
    """A link that points at the page in question."""

    source: int
    url: str
    text: str
    rel: str


@dataclass(frozen=True, slots=True)
class Incoming:
    """The links to a page. `pages` and `sites` count, about, those that vouch for it.

    `is_whole` says whether every linking page is in `links`, or a fair sample of them.
    """

    links: list[InLink]
    pages: int
    sites: int
    is_whole: bool


def outgoing(tables: Mapping[str, Table], site: int, fingerprint: int) -> LinkRow | None:
    """What a page links to; None where the page was not fetched."""
    row = tables[LINKS].get(page_key(site, fingerprint))
    return None if row is None else unpack_links(row)


def incoming(tables: Mapping[str, Table], target: int, limit: int = 1000) -> Incoming:
    """What links to a page, from at most `limit` pages."""
    inlinks, _ = AnchorReader(tables).inlinks(target)
    inlinks = inlinks or Inlinks("")
    keys = dict.fromkeys(_unfolded(tables, target))
    for key in keys:
        site, source = PAGE.unpack(key)
        inlinks.add(site, source, "")
    for site, links in inlinks.sites.items():
        keys.update((page_key(site, source), None) for source in links.sources)
    is_whole = not inlinks.site_level and not any(s.level for s in inlinks.sites.values())
    chosen = list(islice(keys, limit))
    found: list[InLink] = []
    for key, row in zip(chosen, tables[LINKS].get_many(chosen), strict=True):
        if row is not None and target in target_fingerprints(row):
            page = unpack_links(row)
            source = PAGE.unpack(key)[1]
            found += [
                InLink(source, page.url, link.text, link.rel)
                for link in page
                if link.fingerprint == target
            ]
    is_whole = is_whole and len(chosen) == len(keys)
    return Incoming(found, inlinks.page_count, inlinks.site_count, is_whole)


def edges(tables: Mapping[str, Table]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Every page with its targets, for whoever computes ranks."""
    for key, row in tables[LINKS].scan(b""):
        yield PAGE.unpack(key)[1], target_fingerprints(row)


def _unfolded(tables: Mapping[str, Table], target: int) -> Iterator[bytes]:
    """The keys of pages that link to a target and are not folded yet."""
    keys = [v[: PAGE.size] for _, v in islice(tables[LINKS_NEW].scan(b""), _MAX_UNFOLDED)]
    for key, row in zip(keys, tables[LINKS].get_many(keys), strict=True):
        if row is not None and target in target_fingerprints(row):
            yield key
