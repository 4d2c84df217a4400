"""Who points at whom, with which words: the links and redirects of the sample web."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from webcrawler.items import Link

from . import kinds, trap
from .draws import below, heavy, longs, number
from .plan import Place
from .vocabulary import HOME_ANCHORS, VAGUE_ANCHORS

if TYPE_CHECKING:
    from .plan import Plan

SESSION_PARAMETER = "PHPSESSID"

_NOFOLLOW = ("nofollow", "nofollow noopener", "ugc", "sponsored")


class Element(NamedTuple):
    """An element that points somewhere. An `image` is an img inside an a: two links.

    `roll` decides how the URL is written; the links of the element do not depend on it.
    """

    kind: str
    url: str
    text: str
    rel: str
    roll: int

    def links(self) -> tuple[Link, ...]:
        """The element as a document's reader finds it."""
        if self.kind == "image":
            return (
                Link(self.url, self.text, self.rel, "a"),
                Link(self.url, self.text, "", "img"),
            )
        return (Link(self.url, self.text, self.rel, self.kind),)


class Graph:
    """The web's links, computed for one page at a time."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._recipe = recipe = plan.recipe
        port = "" if recipe.port == 80 else f":{recipe.port}"
        self.origins = tuple(f"http://{name}{port}" for name in plan.names)

    def url(self, place: Place) -> str:
        """The page's URL."""
        return self.origins[place.host] + self._plan.card(place).path

    def elements(self, place: Place) -> list[Element]:
        """What points somewhere on the page, in the order of the document."""
        kind = self._plan.kind(place)
        if kind == kinds.REFRESH:
            return [Element("refresh", self.url(self._parent_like(place)), "", "", 0)]
        if kind in kinds.COPIES:
            original = self._plan.pattern(place)
            elements = self._own_elements(original)
            if kind == kinds.CANONICAL:
                elements.insert(0, Element("link", self.url(original), "", "canonical", 0))
            return elements
        return self._own_elements(place) if kind in kinds.LINKING else []

    def redirect(self, place: Place) -> tuple[int, str]:
        """The status and the target of a redirecting page."""
        plan = self._plan
        turn = plan.turn(place)
        status, where = kinds.REDIRECTS[turn % len(kinds.REDIRECTS)]
        if where == "home":
            return status, self.url(Place(place.host, 0))
        if where == "itself":
            return status, self.url(place)
        if where == "missing":
            return status, f"{self.origins[place.host]}/missing/{turn}.html"
        if where == "previous":
            return status, self.url(plan.redirects[turn - 1])
        if where == "next" and turn + 1 < len(plan.redirects):
            return status, self.url(plan.redirects[turn + 1])
        if where == "host":
            hosts = len(plan.names)
            name = f"{self._recipe.seed}:host:{place.host}:{place.page}"
            other = (place.host + 1 + below(name, max(1, hosts - 1))) % hosts
            return status, self.url(Place(other, 0))
        return status, self.url(self._parent_like(place))

    def nickname(self, place: Place) -> str:
        """The word that only links to the page use for it; empty for most pages."""
        recipe = self._recipe
        if not recipe.nicknames or not place.page or self._plan.kind(place) != kinds.HTML:
            return ""
        bits = number(f"{recipe.seed}:nickname:{place.host}:{place.page}")
        if bits & 0xFFFFFFFF >= recipe.nicknames * 4294967296.0:
            return ""
        letters = "".join("abcdefghijklmnop"[(bits >> shift) & 15] for shift in range(32, 64, 4))
        return f"zyx{letters}"

    def _parent_like(self, place: Place) -> Place:
        """Some page of the same host that has links."""
        parents = self._plan.parents(place.host)
        name = f"{self._recipe.seed}:like:{place.host}:{place.page}"
        return Place(place.host, parents[below(name, len(parents))])

    def _own_elements(self, place: Place) -> list[Element]:
        recipe, plan = self._recipe, self._plan
        host, page = place
        name = f"{recipe.seed}:links:{host}:{page}"
        elements: list[Element] = []
        home = Place(host, 0)
        if page:
            text = HOME_ANCHORS[plan.card(place).language]
            elements.append(Element("a", self.origins[host] + "/", text, "", page))
        elif host < recipe.traps:
            elements += [
                Element("a", self.origins[host] + path, text, "", 0)
                for path, text in trap.ENTRANCES
            ]
        targets = dict.fromkeys(plan.children(place))
        hosts, sizes = len(plan.names), plan.sizes
        crossing = int(recipe.cross_host * 65536) if hosts > 1 else 0
        count = heavy(f"{name}:count", recipe.links, recipe.max_links)
        # One number a link: 16 bits for crossing, 24 each for the ranks of host and page, cubed so
        # that popularity follows a power law.
        for bits in longs(name, count):
            other = host
            if bits & 0xFFFF < crossing:
                other = ((bits >> 16 & 0xFFFFFF) ** 3 * hosts) >> 72
            target = Place(other, ((bits >> 40) ** 3 * sizes[other]) >> 72)
            if plan.has_islands and plan.kind(target) == kinds.ISLAND:
                target = Place(other, 0)
            targets[target] = None
        # The link home is there already, and nobody points at himself.
        targets.pop(home, None)
        targets.pop(place, None)
        session = number(f"{name}:session") & 3
        write = self._element
        rolls = longs(f"{name}:elements", len(targets))
        elements += [
            write(target, roll, session) for target, roll in zip(targets, rolls, strict=True)
        ]
        if plan.is_special:
            elements.sort(key=_is_in_body)
        return elements

    def _element(self, target: Place, roll: int, session: int) -> Element:
        """A link to the target; session numbers are given out by the page it stands on."""
        recipe, plan = self._recipe, self._plan
        path, title, language = plan.card(target)
        url = self.origins[target.host] + path
        rel = ""
        if roll >> 48 < recipe.nofollow_links * 65536:
            rel = _NOFOLLOW[(roll >> 4) & 3]
        elif not (roll >> 4) & 15:
            rel = "noopener"
        if plan.is_special:
            kind = plan.kind(target)
            if kind == kinds.FILE:
                if path.endswith((".rss", ".atom")):
                    return Element("link", url, "", "alternate", roll)
                if path.endswith(".png"):
                    return Element("image", url, title, rel, roll)
            if kind == kinds.SESSION:
                url += f"?{SESSION_PARAMETER}={number(f'{session}:{url}'):016x}"
        if recipe.nicknames and (nickname := self.nickname(target)):
            return Element("a", url, nickname, rel, roll)
        if recipe.odd_links:
            if not (roll >> 8) & 31:
                return Element("iframe", url, "", "", roll)
            if not (roll >> 13) & 31:
                return Element("area", url, "", rel, roll)
        return Element("a", url, _anchor(title, language, roll), rel, roll)


def _anchor(title: str, language: str, roll: int) -> str:
    choice = (roll >> 18) & 15
    if choice == 0:
        vague = VAGUE_ANCHORS[language]
        return vague[(roll >> 22) % len(vague)]
    if choice < 4:
        return " ".join(title.split()[-2:])
    return title


def _is_in_body(element: Element) -> bool:
    return element.kind != "link"
