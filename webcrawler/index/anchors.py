"""Anchor text: what the others call a page, weighed by how far that can be trusted.

A text's weight is the sum over the sites that use it. A site has one vote, a little more where
many of its pages use the text (navigation is on every page), half of one where it speaks of its
own pages. The vote shrinks with evidence against the text: the site uses it for many targets
("click here", "next"), or many sites use it and few of them mean this target ("contact"). A
short list of empty phrases and the look of a bare URL are only what is known before there is any
evidence.

    candidates = count_texts(inlinks)
    keys = evidence_keys(candidates)
    anchors = weigh(inlinks, candidates, dict(zip(keys, texts.get_many(keys))), own_site)
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xxhash import xxh3_64_intdigest

from webcrawler.index import evidence
from webcrawler.index.inlinks import GONE, NOFOLLOW, Inlinks, merge
from webcrawler.index.layout import (
    INDEX_ALIASES,
    INDEX_FATE,
    INLINKS,
    NUMBER,
    TEXTS,
    site_hash,
)
from webcrawler.urls import host_key, site_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from webcrawler.tables import Table

MAX_ANCHORS = 24  # texts kept for a target
MAX_ALIASES = 16
MAX_REPEATS = 8
_MAX_CANDIDATES = 32
_SITES_ASKED = 8  # sites of a text whose evidence is read; they speak for the rest

_OWN_SITE = 0.5
_EMPTY_PHRASE = 0.25
_BARE_URL = 0.125
_WORDLESS = ("", NOFOLLOW, GONE)
_LEAST = 0.25  # below this a text is not indexed

_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*://|www\.)\S*|[\w.-]+\.[a-z]{2,}(?:/\S*)?", re.IGNORECASE)
# fmt: off
_EMPTY = frozenset((
    "click here", "here", "click", "this", "this page", "this link", "link", "links", "more",
    "read more", "learn more", "see more", "more info", "details", "continue", "continue reading",
    "go", "next", "previous", "prev", "back", "up", "top", "home", "download", "website", "site",
    "view", "open", "source", "image", "skip to content", "skip to main content",
    "hier", "hier klicken", "mehr", "weiter", "weiterlesen", "mehr erfahren", "zurück",
    "startseite", "ici", "cliquez ici", "lire la suite", "en savoir plus", "suivant", "précédent",
    "accueil",
    "aquí", "haga clic aquí", "leer más", "más", "siguiente", "anterior", "inicio",
    "qui", "clicca qui", "leggi tutto", "aqui", "clique aqui", "leia mais", "saiba mais",
    "здесь", "тут", "далее", "подробнее", "читать далее", "назад", "главная",
    "这里", "点击这里", "更多", "下一页", "上一页", "首页",
    "こちら", "続きを読む", "もっと見る", "次へ", "前へ", "ホーム", "여기", "더보기",
))
# fmt: on


@dataclass(frozen=True, slots=True)
class Anchor:
    """A text that points at a page: its weight, and the pages and sites that use it."""

    text: str
    weight: float
    pages: int
    sites: int

    @property
    def repeats(self) -> int:
        """How often the text is put into the page's anchors: its weight as a term frequency."""
        return 0 if self.weight < _LEAST else max(1, min(MAX_REPEATS, round(2 * self.weight)))


@dataclass(slots=True)
class Candidate:
    """A text in its normal form, with its spellings and the pages of each site that use it."""

    normal: str
    spellings: dict[str, int]
    pages: dict[int, int]
    keys: list[bytes] = field(default_factory=list)

    def choose_keys(self) -> list[bytes]:
        """The evidence that is asked for: on all sites together, then on some of those here."""
        text = evidence.text_hash(self.normal)
        asked = self.pages if len(self.pages) <= _SITES_ASKED else sorted(self.pages)[:_SITES_ASKED]
        self.keys = [evidence.sites_key(text)]
        self.keys += [evidence.targets_key(text, site) for site in asked]
        return self.keys


def count_texts(inlinks: Inlinks) -> list[Candidate]:
    """The texts of a target, the most used first, as many as are worth weighing."""
    found: dict[str, Candidate] = {}
    for site, links in inlinks.sites.items():
        for texts, count in Counter(links.sources.values()).items():
            if texts in _WORDLESS:
                continue
            spelled: dict[str, str] = {}  # a page that spells a text in two ways is one page
            for text in texts.split("\t"):
                spelled.setdefault(evidence.normal_text(text), text)
            for normal, text in spelled.items():
                candidate = found.get(normal)
                if candidate is None:
                    found[normal] = Candidate(normal, {text: count}, {site: count << links.level})
                    continue
                spellings, pages = candidate.spellings, candidate.pages
                spellings[text] = spellings.get(text, 0) + count
                pages[site] = pages.get(site, 0) + (count << links.level)
    found.pop("", None)  # arrows and dots
    if len(found) <= 1:
        return list(found.values())
    order = sorted(found.values(), key=lambda c: (-len(c.pages), -sum(c.pages.values()), c.normal))
    return order[:_MAX_CANDIDATES]


def evidence_keys(candidates: Iterable[Candidate]) -> list[bytes]:
    """What is to be read from the table `texts` before weighing."""
    return [key for candidate in candidates for key in candidate.choose_keys()]


def weigh(
    inlinks: Inlinks,
    candidates: Sequence[Candidate],
    rows: Mapping[bytes, bytes | None],
    own_site: int,
) -> list[Anchor]:
    """The anchors of a target, the weightiest first. `own_site` is the hash of its own site."""
    anchors = []
    for candidate in candidates:
        pages = candidate.pages
        sites = len(pages) << inlinks.site_level
        shared = _share(evidence.size(rows.get(candidate.keys[0])) / sites)
        votes = 0.0
        for key in candidate.keys[1:]:
            site = evidence.site_of(key)
            row = rows.get(key)
            vote = 1 + math.log2(pages[site]) / 8
            vote *= min(shared, _share(evidence.size(row))) if row else shared
            votes += vote * _OWN_SITE if site == own_site else vote
        weight = votes * sites / (len(candidate.keys) - 1) * _prior(candidate.normal)
        spellings = candidate.spellings
        text = next(iter(spellings))
        if len(spellings) > 1:
            text = max(sorted(spellings), key=spellings.__getitem__)
        in_all = sum(pages.values()) << inlinks.site_level
        anchors.append(Anchor(text, round(weight, 4), in_all, sites))
    anchors.sort(key=lambda anchor: (-anchor.weight, anchor.text))
    return anchors[:MAX_ANCHORS]


def digest(anchors: Iterable[Anchor]) -> int:
    """Changes when the index would hold other words or other frequencies; never 0."""
    told = "\n".join(
        sorted([f"{anchor.repeats}{anchor.text}" for anchor in anchors if anchor.repeats])
    )
    return xxh3_64_intdigest(told.encode("utf-8", "replace")) or 1


class AnchorReader:
    """The anchors of targets, out of the tables; for the index's thread and for commands."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self._inlinks = tables[INLINKS]
        self._texts = tables[TEXTS]
        self._aliases = tables[INDEX_ALIASES]
        self._fate = tables[INDEX_FATE]

    def inlinks(self, target: int) -> tuple[Inlinks | None, list[bytes]]:
        """Everything that links to a target, and the keys of its rows, oldest first."""
        found = list(self._inlinks.scan(NUMBER.pack(target)))
        if not found:
            return None, []
        whole = merge([row for _, row in found])
        if whole is not None:
            whole.settle()
        return whole, [key for key, _ in found]

    def with_aliases(self, target: int, inlinks: Inlinks | None) -> Inlinks | None:
        """The same with the links to its copies and to the URLs that redirect to it."""
        whole: Inlinks | None = None
        for count, (key, _) in enumerate(self._aliases.scan(NUMBER.pack(target))):
            if count >= MAX_ALIASES:
                break
            # A page that was a copy once and is itself again keeps its anchors.
            if self._fate.get(key[NUMBER.size :]) != NUMBER.pack(target):
                continue
            other, _ = self.inlinks(NUMBER.unpack_from(key, NUMBER.size)[0])
            if other is None:
                continue
            other.digest = 0
            if whole is None:
                # A copy: what is known of the target itself goes back to its row unmixed.
                whole = Inlinks("") if inlinks is None else Inlinks.unpack(inlinks.pack())
            other.url = whole.url or other.url
            whole.update(other)
        return whole or inlinks

    def weigh(self, inlinks: Inlinks | None, url: str = "") -> list[Anchor]:
        """The anchors of a target whose links were read."""
        if inlinks is None:
            return []
        candidates = count_texts(inlinks)
        keys = evidence_keys(candidates)
        rows = dict(zip(keys, self._texts.get_many(keys), strict=True))
        own = site_hash(site_key(host_key(url or inlinks.url)))
        return weigh(inlinks, candidates, rows, own)

    def anchors(self, target: int, url: str = "") -> list[Anchor]:
        """The anchors of a target, aliases included."""
        inlinks, _ = self.inlinks(target)
        return self.weigh(self.with_aliases(target, inlinks), url)


def _share(uses: float) -> float:
    """1 for up to two uses, then less with the logarithm of their number."""
    return 1.0 if uses <= 2 else 1 / math.log2(uses)


def _prior(normal: str) -> float:
    if normal in _EMPTY:
        return _EMPTY_PHRASE
    return _BARE_URL if "." in normal and _URL.fullmatch(normal) else 1.0
