"""Which texts speak for a page, and which are noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.test_index_world import fingerprint, source_of
from webcrawler.index import TABLES, Anchor, AnchorReader, fold, record_links
from webcrawler.index.anchors import MAX_ANCHORS, digest
from webcrawler.index.evidence import fill, normal_text, size
from webcrawler.items import Link
from webcrawler.tables import Batch, MemoryTables

if TYPE_CHECKING:
    from collections.abc import Iterable


class Graph:
    """Pages that only have links."""

    def __init__(self) -> None:
        self.store = MemoryTables()
        self.tables = {name: self.store.table(name) for name in TABLES}
        self.sequence = 0

    def page(self, url: str, links: Iterable[tuple[str, str]]) -> None:
        self.sequence += 1
        batch = Batch()
        found = [Link(*link) for link in links]
        record_links(batch, source_of(url), found, fingerprint, sequence=self.sequence)
        self.store.commit(batch)

    def fold(self) -> None:
        while True:
            self.sequence += 1
            batch = Batch()
            if not fold(self.tables, batch, run=self.sequence):
                return
            self.store.commit(batch)

    def anchors(self, url: str) -> dict[str, Anchor]:
        self.fold()
        found = AnchorReader(self.tables).anchors(fingerprint(url), url)
        return {anchor.text: anchor for anchor in found}


@pytest.fixture
def graph() -> Graph:
    return Graph()


TARGET = "https://t.example/"


def test_pages_and_sites_are_counted_apart(graph: Graph) -> None:
    for number in range(5):
        graph.page(f"https://a.example/{number}", [(TARGET, "Zebra"), (TARGET, "zebra")])
    graph.page("https://b.example/", [(TARGET, "zebra")])
    (anchor,) = graph.anchors(TARGET).values()
    assert (anchor.text, anchor.pages, anchor.sites) == ("Zebra", 6, 2)


def test_two_sites_outweigh_any_number_of_pages_of_one(graph: Graph) -> None:
    for number in range(50):
        graph.page(f"https://a.example/{number}", [(TARGET, "navigation")])
    graph.page("https://b.example/", [(TARGET, "zebra")])
    graph.page("https://c.example/", [(TARGET, "zebra")])
    anchors = graph.anchors(TARGET)
    assert anchors["zebra"].weight > anchors["navigation"].weight
    assert anchors["navigation"].weight < 2  # fifty pages, and less than two votes


def test_a_text_that_a_site_uses_for_everything_says_nothing(graph: Graph) -> None:
    """By evidence: no list has these words, and other sites may use them for one page."""
    for number in range(200):
        target = f"https://t.example/{number}"
        links = [(target, "ga hierheen"), (target, f"zebra {number}")]
        graph.page(f"https://a.example/{number}", links)
    anchors = graph.anchors("https://t.example/7")
    assert anchors["zebra 7"].weight > 4 * anchors["ga hierheen"].weight
    assert anchors["ga hierheen"].repeats == 0
    graph.page("https://b.example/", [("https://t.example/7", "ga hierheen")])
    assert graph.anchors("https://t.example/7")["ga hierheen"].weight > 0.5


def test_a_text_that_all_sites_use_for_pages_of_their_own_says_little(graph: Graph) -> None:
    for number in range(100):
        site = f"https://site{number}.example"
        graph.page(f"{site}/", [(f"{site}/kontakt", "imprint"), (TARGET, "zebra")])
    contact = graph.anchors("https://site7.example/kontakt")["imprint"]
    zebra = graph.anchors(TARGET)["zebra"]
    assert contact.weight < 0.25
    assert zebra.weight > 50
    assert zebra.sites == 100


def test_one_site_cannot_spoil_a_text_for_the_others(graph: Graph) -> None:
    graph.page("https://spam.example/", [(f"https://s.example/{n}", "zebra") for n in range(500)])
    for number in range(3):
        graph.page(f"https://site{number}.example/", [(TARGET, "zebra")])
    assert graph.anchors(TARGET)["zebra"].weight > 2


@pytest.mark.parametrize(
    "noise",
    [
        "click here",
        "Click here »",
        "[more]",
        "https://t.example/",
        "www.t.example",
        "t.example/page",
    ],
)
def test_empty_phrases_and_bare_urls_weigh_less_before_there_is_evidence(
    graph: Graph, noise: str
) -> None:
    graph.page("https://a.example/", [(TARGET, noise)])
    graph.page("https://b.example/", [(TARGET, "zebra")])
    anchors = graph.anchors(TARGET)
    assert anchors[noise].weight <= anchors["zebra"].weight / 4


def test_a_site_speaks_of_its_own_pages_with_half_a_voice(graph: Graph) -> None:
    graph.page("https://www.t.example/", [(TARGET, "own")])
    graph.page("https://a.example/", [(TARGET, "foreign")])
    anchors = graph.anchors(TARGET)
    assert anchors["foreign"].weight == pytest.approx(2 * anchors["own"].weight)


def test_the_texts_of_a_target_are_bounded(graph: Graph) -> None:
    for number in range(300):
        graph.page(
            f"https://site{number}.example/", [(TARGET, f"text {number}"), (TARGET, "zebra")]
        )
    anchors = graph.anchors(TARGET)
    assert len(anchors) == MAX_ANCHORS
    assert next(iter(anchors)) == "zebra"


def test_links_without_words_are_links_without_anchors(graph: Graph) -> None:
    graph.page("https://a.example/", [(TARGET, ""), (TARGET, "→ »")])
    assert graph.anchors(TARGET) == {}


def test_folding_twice_changes_nothing(graph: Graph) -> None:
    links = [(TARGET, "zebra"), ("https://u.example/", "zebra")]
    graph.page("https://a.example/", links)
    graph.page("https://b.example/", links)
    before = graph.anchors(TARGET)
    for url in ("https://a.example/", "https://b.example/"):
        graph.page(url, links)
    assert graph.anchors(TARGET) == before


def test_a_weight_becomes_a_frequency() -> None:
    assert [Anchor("x", weight, 1, 1).repeats for weight in (0.1, 0.25, 1, 2.2, 100)] == [
        0,
        1,
        2,
        4,
        8,
    ]


def test_the_digest_changes_with_what_would_be_indexed_only() -> None:
    one = [Anchor("a", 1.0, 3, 2), Anchor("noise", 0.01, 5, 1)]
    assert digest(one) == digest([Anchor("a", 1.01, 400, 3)])
    assert digest(one) != digest([Anchor("a", 3.0, 3, 2)])
    assert digest([]) != 0


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("Zebra", "zebra"),
        ("» Next", "next"),
        ("(more…)", "more"),
        ("C++", "c"),
        ("→", ""),
        ("", ""),
    ],
)
def test_normal_texts(text: str, normal: str) -> None:
    assert normal_text(text) == normal


@pytest.mark.parametrize("members", [1, 2, 10, 100, 1000])
def test_sets_know_about_their_size(members: int) -> None:
    numbers = [fingerprint(f"https://{number}.example/") for number in range(members)]
    row = fill(fill(None, numbers), numbers)
    assert len(row) == 32
    assert members * 0.75 - 1 <= size(row) <= members * 1.25 + 1


def test_nothing_known_is_one() -> None:
    assert size(None) == 1
