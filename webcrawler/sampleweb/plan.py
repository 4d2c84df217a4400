"""Which pages there are: hosts and their sizes, what each page is, and what hangs on what."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from . import kinds
from .draws import below, number
from .recipe import PAGE_FRACTIONS
from .vocabulary import SECTIONS, SLUGS, SUBSECTIONS, title_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .recipe import Recipe


class Place(NamedTuple):
    """A page's identity: the host's number and the page's number on that host; 0 is its front."""

    host: int
    page: int


class Card(NamedTuple):
    """What others can know of a page without reading it."""

    path: str
    title: str
    language: str


_MOST_SPECIAL = 0.8  # so many of the pages at most are not good HTML
_NUMBERED = re.compile(r"/[a-z/]+-([1-9][0-9]{0,8})(?:\.[a-z]+)?")


class Plan:
    """Everything about a web that is decided before any page is written.

    A plain web's plan takes memory for its hosts only, however many pages it has.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.names = _host_names(recipe)
        self.numbers = {name: host for host, name in enumerate(self.names)}
        self.sizes = _host_sizes(recipe)
        self.originals: dict[Place, Place] = {}
        self.redirects: list[Place] = []
        self._special: dict[Place, tuple[str, int]] = {}
        self._assign()
        self.patterns = frozenset(self.originals.values())
        self.is_special = bool(self._special)
        self.has_islands = recipe.islands > 0
        self._special_hosts = {place.host for place in self._special}
        self.card = lru_cache(maxsize=1 << 16)(self._card)
        self.parents = lru_cache(maxsize=None)(self._parents)
        self._others = lru_cache(maxsize=None)(self._find_others)

    def kind(self, place: Place) -> str:
        """What the page is."""
        special = self._special.get(place)
        return special[0] if special else kinds.HTML

    def turn(self, place: Place) -> int:
        """The how-manieth of its kind the page is; good HTML pages are not counted."""
        special = self._special.get(place)
        return special[1] if special else 0

    def pattern(self, place: Place) -> Place:
        """The page whose text and links this one has: itself, unless it is a copy."""
        return self.originals.get(place, place)

    def find(self, host: int, path: str) -> Place | None:
        """The page at that path, without a query; None where none is."""
        if path == "/":
            return Place(host, 0)
        match = _NUMBERED.fullmatch(path)
        if match is None or (page := int(match[1])) >= self.sizes[host]:
            return None
        place = Place(host, page)
        return place if self.card(place).path == path else None

    def children(self, place: Place) -> list[Place]:
        """The pages that hang on this one: on each host a tree, and a tree of front pages."""
        host, page = place
        parents = self.parents(host)
        position = bisect_left(parents, page)
        if position == len(parents) or parents[position] != page:
            return []
        fanout = self.recipe.fanout
        first = position * fanout + 1
        children = [Place(host, child) for child in parents[first : first + fanout]]
        children += [Place(host, child) for child in self._others(host)[position :: len(parents)]]
        if page == 0:
            first = host * fanout + 1
            children += [
                Place(child, 0) for child in range(first, min(first + fanout, len(self.names)))
            ]
        return children

    def pages(self, host: int) -> range:
        """The numbers of the host's pages."""
        return range(self.sizes[host])

    def _parents(self, host: int) -> Sequence[int]:
        pages = self.pages(host)
        if host not in self._special_hosts:
            return pages
        return [page for page in pages if self.kind(Place(host, page)) in kinds.PARENTS]

    def _find_others(self, host: int) -> Sequence[int]:
        if host not in self._special_hosts:
            return ()
        unlinked = kinds.PARENTS | {kinds.ISLAND}
        return [page for page in self.pages(host) if self.kind(Place(host, page)) not in unlinked]

    def _card(self, place: Place) -> Card:
        recipe = self.recipe
        host, page = place
        bits = number(f"{recipe.seed}:card:{host}:{page}")
        languages = recipe.languages
        # Every host has a language of its own; one page in eight is written in another.
        language = languages[(host if bits & 7 else bits >> 3) % len(languages)]
        words = title_words(language)
        title = " ".join(
            words[(bits >> shift) % len(words)] for shift in range(8, 24 + (bits >> 61) * 4, 8)
        ).capitalize()
        if page == 0:
            return Card("/", title, language)
        section = SECTIONS[(bits >> 40) & 7]
        if not (bits >> 43) & 3:
            section += "/" + SUBSECTIONS[(bits >> 45) & 3]
        slug = SLUGS[(bits >> 47) % len(SLUGS)]
        return Card(f"/{section}/{slug}-{page}{self._extension(place)}", title, language)

    def _extension(self, place: Place) -> str:
        kind, turn = self._special.get(place, (kinds.HTML, 0))
        if kind == kinds.FILE:
            return kinds.FILES[turn % len(kinds.FILES)][0]
        if kind == kinds.REDIRECT:
            return ""
        return ".xhtml" if kind == kinds.XHTML else ".html"

    def _assign(self) -> None:
        """Take pages for the special kinds, in an order that depends on nothing but the seed."""
        recipe = self.recipe
        wanted = {kind: getattr(recipe, name) for name, kind in PAGE_FRACTIONS.items()}
        if not any(wanted.values()):
            return
        places = [
            Place(host, page) for host, size in enumerate(self.sizes) for page in range(1, size)
        ]
        places.sort(key=lambda place: number(f"{recipe.seed}:order:{place.host}:{place.page}"))
        room = int(len(places) * _MOST_SPECIAL)
        taken = 0
        for kind, fraction in wanted.items():
            count = min(math.ceil(fraction * recipe.pages), room - taken)
            for turn in range(count):
                self._special[places[taken + turn]] = (kind, turn)
            if kind == kinds.REDIRECT:
                self.redirects = places[:count]
            taken += count
        self._choose_originals(places[taken:])

    def _choose_originals(self, good: list[Place]) -> None:
        """Give each copy its original: a good page, which has copies of one kind only."""
        copies: dict[str, list[Place]] = {kind: [] for kind in sorted(kinds.COPIES)}
        for place, (kind, _) in self._special.items():
            if kind in copies:
                copies[kind].append(place)
        sharers = {
            kinds.DUPLICATE: 2,
            kinds.NEAR_DUPLICATE: len(self.recipe.overlaps),
            kinds.CANONICAL: 1,
        }
        free = iter(good)
        original: Place | None = None
        for kind, places in copies.items():
            for turn, place in enumerate(places):
                if turn % sharers[kind] == 0:
                    original = next(free, None)
                if original is None:  # no good page is left to copy
                    del self._special[place]
                else:
                    self.originals[place] = original


def _host_names(recipe: Recipe) -> tuple[str, ...]:
    names = []
    start = below(f"{recipe.seed}:names", len(SLUGS))
    for host in range(recipe.hosts):
        again, slug = divmod(host, len(SLUGS))
        label = SLUGS[(start + slug) % len(SLUGS)] + (str(again) if again else "")
        names.append(f"{label}.{recipe.domains[host % len(recipe.domains)]}")
    return tuple(names)


def _host_sizes(recipe: Recipe) -> tuple[int, ...]:
    """One page for each host, and the rest by weight, largest remainders first."""
    spare = recipe.pages - recipe.hosts
    # Whole numbers, so that the last bit of a power does not matter.
    weights = [round(2**32 * (host + 1) ** -recipe.host_skew) for host in range(recipe.hosts)]
    total = sum(weights)
    sizes = [1 + spare * weight // total for weight in weights]
    order = sorted(range(recipe.hosts), key=lambda host: (-(spare * weights[host] % total), host))
    for host in order[: recipe.pages - sum(sizes)]:
        sizes[host] += 1
    return tuple(sizes)
