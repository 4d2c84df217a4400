"""The numbered pages, written out: from a place in the plan to a response."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from . import files, kinds, prose
from .broken import broken_html
from .draws import number
from .graph import Element
from .markup import Sheet, html, write_url, xhtml
from .response import DRIP, RESET, TRUNCATED, Response

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .graph import Graph
    from .plan import Place, Plan

_HTML = "text/html; charset=utf-8"
_NEWEST = 1_700_000_000  # the latest Last-Modified there is


class Pages:
    """Writes pages. Holds nothing: what is written twice is written the same."""

    def __init__(self, plan: Plan, graph: Graph) -> None:
        self._plan = plan
        self._graph = graph
        self._recipe = plan.recipe

    def respond(self, place: Place, attempt: int = 0) -> Response:
        """The answer to the attempt-th request (from 0) for the page."""
        recipe = self._recipe
        kind, turn = self._plan.kind(place), self._plan.turn(place)
        if kind == kinds.REDIRECT:
            return self._redirect(place)
        if kind == kinds.ERROR:
            return self._error(kinds.ERRORS[turn % len(kinds.ERRORS)])
        if kind == kinds.RESET:
            return Response(0, ending=RESET)
        if kind == kinds.FLAKY and attempt < recipe.flaky_failures:
            answer = kinds.FLAKY_ANSWERS[turn % len(kinds.FLAKY_ANSWERS)]
            if answer == 0:
                return Response(0, ending=RESET, is_constant=False)
            return Response(answer, _HTML, b"<h1>Try again</h1>\n", is_constant=False)
        body, content_type = self._body(place, kind, turn)
        headers: tuple[tuple[str, str], ...] = ()
        if kind == kinds.DIRECTIVE:
            directive = kinds.DIRECTIVES[turn % len(kinds.DIRECTIVES)]
            if directive.place == "header":
                agent = f"{directive.agent}: " if directive.agent else ""
                headers = (("X-Robots-Tag", agent + directive.content),)
        bits = number(f"{recipe.seed}:about:{place.host}:{place.page}")
        is_dripping = kind == kinds.SLOW and turn % 2 == 1
        return Response(
            200,
            content_type,
            body,
            headers,
            etag=f'"{blake2b(body, digest_size=8).hexdigest()}"',
            modified_at=_NEWEST - (bits & 0x3FFFFFF),
            delay=recipe.slow_secs if kind == kinds.SLOW else 0.0,
            ending=TRUNCATED if kind == kinds.TRUNCATED else DRIP if is_dripping else "whole",
            is_compressed=(bits >> 32) < recipe.gzip * 4294967296.0 and kind != kinds.TRUNCATED,
            is_constant=kind != kinds.FLAKY,
        )

    def content_type(self, place: Place) -> str:
        """The type of the page when all is well; empty where there is no body to speak of."""
        kind, turn = self._plan.kind(place), self._plan.turn(place)
        if kind == kinds.FILE:
            return kinds.FILES[turn % len(kinds.FILES)][1]
        if kind == kinds.XHTML:
            return "application/xhtml+xml"
        if kind in (kinds.ENCODED, kinds.WRONG_CHARSET):
            header = self.encoding(kind, turn).header
            return f"text/html; charset={header}" if header else "text/html"
        return "" if kind in (kinds.RESET, kinds.REDIRECT) else _HTML

    def words(self, place: Place) -> list[str]:
        """The words that a page shows, in their order: heading, text and anchors, lower case."""
        title, anchors = self._around(place, self._graph.elements(place))
        return title + self._article(place, len(title) + len(anchors)) + anchors

    def items(self, place: Place) -> list[Element]:
        """What a file that is not HTML points at: feeds, text and PDF."""
        card, kind = self._plan.card(place), self._plan.kind(place)
        if kind != kinds.FILE:
            return []
        name = {".rss": "feed", ".atom": "feed", ".txt": "text", ".pdf": "pdf"}.get(
            card.path[card.path.rindex(".") :]
        )
        if name is None:
            return []
        host = place.host
        count = 5 if name == "feed" else 1
        parents = self._plan.parents(host)[:count]
        cards = [self._plan.card(place._replace(page=page)) for page in parents]
        return [
            Element(name, self._graph.origins[host] + target.path, target.title, "", 0)
            for target in cards
        ]

    @staticmethod
    def encoding(kind: str, turn: int) -> kinds.Encoding:
        """How a page in another encoding, or with a wrong one declared, is written."""
        encodings = kinds.ENCODINGS if kind == kinds.ENCODED else kinds.WRONG_CHARSETS
        return encodings[turn % len(encodings)]

    def _redirect(self, place: Place) -> Response:
        status, url = self._graph.redirect(place)
        origin = self._graph.origins[place.host]
        # Every second one is relative where it can be.
        if self._plan.turn(place) % 2 and url.startswith(origin + "/"):
            url = url[len(origin) :]
        return Response(status, _HTML, b"<h1>Moved</h1>\n", (("Location", url),))

    def _error(self, status: int) -> Response:
        headers: tuple[tuple[str, str], ...] = ()
        if status in (429, 503):
            headers = (("Retry-After", str(self._recipe.retry_after)),)
        return Response(status, _HTML, b"<h1>Error %d</h1>\n" % status, headers)

    def _body(self, place: Place, kind: str, turn: int) -> tuple[bytes, str]:
        content_type = self.content_type(place)
        if kind == kinds.FILE:
            return self._file(place), content_type
        if kind in (kinds.ENCODED, kinds.WRONG_CHARSET):
            encoding = self.encoding(kind, turn)
            text = html(self._sheet(place, charset=encoding.meta))
            return encoding.mark + text.encode(encoding.codec), content_type
        if kind == kinds.BROKEN:
            return broken_html(self._sheet(place), turn).encode(), content_type
        if kind == kinds.XHTML:
            return xhtml(self._sheet(place)).encode(), content_type
        metas = []
        if kind == kinds.DIRECTIVE:
            directive = kinds.DIRECTIVES[turn % len(kinds.DIRECTIVES)]
            if directive.place == "meta":
                metas.append((directive.agent or "robots", directive.content))
        return html(self._sheet(place, metas=metas)).encode(), content_type

    def _sheet(
        self,
        place: Place,
        charset: str | None = "utf-8",
        metas: Sequence[tuple[str, str]] = (),
    ) -> Sheet:
        recipe, plan = self._recipe, self._plan
        pattern = plan.pattern(place)
        card = plan.card(pattern)
        elements = self._graph.elements(place)
        base, hrefs = self._hrefs(place, elements)
        name = f"{recipe.seed}:text:{pattern.host}:{pattern.page}"
        is_edited = plan.kind(place) == kinds.NEAR_DUPLICATE
        around = sum(map(len, self._around(place, elements))) if is_edited else 0
        paragraphs = prose.paragraphs(self._article(place, around), name)
        return Sheet(card.title, card.language, paragraphs, elements, hrefs, base, charset, metas)

    def _hrefs(self, place: Place, elements: Sequence[Element]) -> tuple[str, list[str]]:
        """The base element's URL, if any, and how each URL is written."""
        plan = self._plan
        origin = self._graph.origins[place.host]
        urls = [element.url for element in elements]
        if place in plan.patterns or plan.pattern(place) != place:
            # Copies stand elsewhere and have the same bytes: every URL is written in full.
            return "", urls
        if not self._recipe.odd_links:
            start = len(origin)
            home = origin + "/"
            return "", [url[start:] if url.startswith(home) else url for url in urls]
        path = plan.card(place).path
        directory = path[: path.rindex("/") + 1]
        base = ""
        if not number(f"{self._recipe.seed}:base:{place.host}:{place.page}") & 15:
            directory = "/based/elsewhere/"
            base = f"{origin}{directory}page.html"
        return base, [
            write_url(element.url, element.roll, origin, directory) for element in elements
        ]

    def _around(self, place: Place, elements: Sequence[Element]) -> tuple[list[str], list[str]]:
        """The words that a page shows before its text, and those after it."""
        card = self._plan.card(self._plan.pattern(place))
        anchors = " ".join(element.text for element in elements if element.kind == "a")
        return prose.words_of(card.title), prose.words_of(anchors)

    def _article(self, place: Place, around: int) -> list[str]:
        """The words of the page's text; `around` counts those that it shows beside it."""
        recipe, plan = self._recipe, self._plan
        pattern = plan.pattern(place)
        language = plan.card(pattern).language
        name = f"{recipe.seed}:text:{pattern.host}:{pattern.page}"
        words = prose.article(name, language, recipe.words)
        if plan.kind(place) != kinds.NEAR_DUPLICATE or not words:
            return words
        overlap = recipe.overlaps[plan.turn(place) % len(recipe.overlaps)]
        own = f"{recipe.seed}:edit:{place.host}:{place.page}"
        return prose.edited(words, around, overlap, own, language)

    def _file(self, place: Place) -> bytes:
        recipe, plan = self._recipe, self._plan
        card = plan.card(place)
        name = f"{recipe.seed}:file:{place.host}:{place.page}"
        extension = card.path[card.path.rindex(".") :]
        if extension == ".png":
            return files.png(name)
        if extension == ".bin":
            return files.binary(name)
        items = [(element.url, element.text) for element in self.items(place)]
        home = self._graph.origins[place.host] + "/"
        if extension == ".rss":
            return files.rss(card.title, home, items)
        if extension == ".atom":
            return files.atom(card.title, home, items)
        paragraphs = prose.paragraphs(self._article(place, 0), name)
        url = items[0][0]
        if extension == ".pdf":
            return files.pdf(card.title, paragraphs, url)
        return "\n\n".join((card.title, *paragraphs, f"See {url} for more.", "")).encode()
