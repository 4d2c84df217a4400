"""A little web that is crawled, indexed and searched; and what must be true of the whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from webcrawler.index import (
    TABLES,
    FullTextIndex,
    IndexedPage,
    Indexer,
    IndexJournal,
    IndexReader,
    Results,
    Sequence,
    Source,
    incoming,
    record_links,
    site_hash,
)
from webcrawler.index.layout import INDEX_NEW, NUMBER
from webcrawler.items import Link
from webcrawler.tables import Batch, MemoryTables
from webcrawler.urls import Canonicalizer, host_key, site_key

if TYPE_CHECKING:
    from pathlib import Path

    from webcrawler.index.post import Post

fingerprint = Canonicalizer().fingerprint


def source_of(url: str) -> Source:
    return Source(fingerprint(url), url, site_hash(site_key(host_key(url))))


class World:
    """A crawl without a network: pages end one by one, and the index follows."""

    def __init__(
        self, folder: Path, *, store: MemoryTables | None = None, post: Post | None = None
    ) -> None:
        self.store = store or MemoryTables()
        self.tables = {name: self.store.table(name) for name in TABLES}
        self.folder = folder
        ticks = iter(range(1 << 40))
        self.sequence = Sequence(clock=lambda: next(ticks))
        self.journal = IndexJournal()
        self.index = FullTextIndex(folder)
        self.indexer = Indexer(
            self.index,
            self.tables,
            self.store.commit,
            journal=self.journal,
            sequence=self.sequence,
            post=post,
        )
        self.time = 1000.0

    def fetch(
        self,
        url: str,
        body: str = "",
        links: list[tuple[str, str]] | list[tuple[str, str, str]] | None = None,
        *,
        title: str = "",
        language: str = "en",
        is_indexed: bool = True,
        alias_of: str = "",
    ) -> None:
        """A page ends: links and note in one batch, then the index hears of it."""
        self.time += 1
        batch = Batch()
        source = source_of(url)
        record_links(
            batch,
            source,
            [Link(*link) for link in links or []],
            fingerprint,
            sequence=self.sequence.next(),
            old=self.tables["links"].get(source.key),
        )
        if is_indexed:
            page = IndexedPage(source.fingerprint, url, title, body, language, self.time)
            note = self.journal.add(batch, page, self.sequence.next())
        else:
            of = fingerprint(alias_of) if alias_of else 0
            note = self.journal.remove(batch, source.fingerprint, self.sequence.next(), of)
        self.store.commit(batch)
        self.indexer.index([note])

    def settle(self) -> None:
        """The end of a crawl."""
        self.indexer.commit()
        while self.indexer.fold():
            pass
        while self.indexer.refresh(is_final=True):
            pass

    def search(self, query: str, **options: object) -> Results:
        return IndexReader([self.folder]).search(query, **options)  # type: ignore[arg-type]

    def urls(self, query: str) -> list[str]:
        return [hit.url for hit in self.search(query).hits]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "index")


IBM = "https://www.ibm.example/"


@pytest.mark.parametrize("when", ["before", "after", "never"])
def test_a_page_is_found_by_a_word_that_only_others_use_of_it(world: World, when: str) -> None:
    """The textbook example: IBM's page is a picture, the others call it a computer maker."""
    if when == "before":
        world.fetch(IBM, "IBM", title="IBM")
        world.indexer.commit()
    world.fetch("https://news.example/1", "news", [(IBM, "the largest computer maker")])
    world.fetch("https://blog.example/2", "my blog", [(IBM, "a computer maker")])
    if when == "after":
        world.fetch(IBM, "IBM", title="IBM")
    world.settle()
    results = world.search("computer maker")
    assert [hit.url for hit in results.hits] == [IBM]
    assert results.total == 1
    hit = results.hits[0]
    assert hit.is_fetched is (when != "never")
    assert {anchor.text for anchor in hit.anchors} == {
        "the largest computer maker",
        "a computer maker",
    }


def test_a_page_that_is_fetched_again_is_there_once_and_as_it_is_now(world: World) -> None:
    for word in ("first", "second", "third"):
        world.fetch("https://a.example/", f"the {word} version")
        if word == "second":
            world.indexer.commit()
    world.settle()
    assert world.urls("version") == ["https://a.example/"]
    assert world.search("version").total == 1
    assert world.urls("first") == world.urls("second") == []
    assert world.urls("third") == ["https://a.example/"]


def test_a_link_that_is_gone_no_longer_counts(world: World) -> None:
    world.fetch(
        "https://a.example/", "", [("https://t.example/", "zebra"), ("https://u.example/", "u")]
    )
    world.settle()
    assert world.urls("zebra") == ["https://t.example/"]
    world.fetch("https://a.example/", "", [("https://u.example/", "u")])
    world.settle()
    assert world.urls("zebra") == []
    assert incoming(world.tables, fingerprint("https://t.example/")).links == []


def test_a_changed_text_replaces_the_old_one(world: World) -> None:
    world.fetch("https://a.example/", "", [("https://t.example/", "zebra")])
    world.settle()
    world.fetch("https://a.example/", "", [("https://t.example/", "lion")])
    world.settle()
    assert world.urls("zebra") == []
    hits = world.search("lion").hits
    assert [(anchor.text, anchor.pages) for anchor in hits[0].anchors] == [("lion", 1)]


def test_a_noindex_page_is_never_in_the_index_whatever_points_at_it(world: World) -> None:
    world.fetch("https://a.example/", "", [("https://secret.example/", "zebra")])
    world.settle()
    assert world.urls("zebra") == ["https://secret.example/"]  # nobody knows yet
    world.fetch("https://secret.example/", "zebra", is_indexed=False)
    world.settle()
    assert world.urls("zebra") == []
    world.fetch("https://b.example/", "", [("https://secret.example/", "zebra again")])
    world.settle()
    assert world.urls("zebra") == []
    world.fetch("https://secret.example/", "no longer secret")
    world.settle()
    assert world.urls("zebra") == ["https://secret.example/"]


def test_the_anchors_of_a_copy_go_to_the_original(world: World) -> None:
    world.fetch("https://original.example/", "words")
    world.fetch("https://a.example/", "", [("https://copy.example/", "zebra")])
    world.fetch("https://copy.example/", "", is_indexed=False, alias_of="https://original.example/")
    world.settle()
    assert world.urls("zebra") == ["https://original.example/"]
    world.fetch("https://b.example/", "", [("https://copy.example/", "lion")])
    world.settle()
    assert world.urls("lion") == ["https://original.example/"]
    world.fetch("https://copy.example/", "a page of its own now")
    world.fetch("https://original.example/", "words")
    world.settle()
    assert world.urls("zebra") == ["https://copy.example/"]


def test_nofollow_and_own_links_do_not_count(world: World) -> None:
    world.fetch(
        "https://a.example/",
        "",
        [
            ("https://t.example/", "zebra", "nofollow"),
            ("https://t.example/", "giraffe", "ugc noopener"),
            ("https://a.example/", "lion"),
        ],
    )
    world.settle()
    assert world.urls("zebra") == world.urls("giraffe") == world.urls("lion") == []


def test_new_anchors_reach_a_page_during_the_crawl_as_they_grow(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = "https://t.example/"
    world.fetch(target, "nothing")
    world.indexer.commit()
    puts = []
    put = world.index.put
    monkeypatch.setattr(
        world.index, "put", lambda page, anchors: (puts.append(page.url), put(page, anchors))
    )
    for number in range(30):
        world.fetch(f"https://site{number}.example/", "", [(target, f"zebra {number}")])
        world.indexer.fold()
        world.indexer.refresh()
        if number == 0:
            assert world.urls("zebra") == [target]
    assert 5 < puts.count(target) < 20  # neither at every link nor at the end only
    world.fetch("https://last.example/", "", [(target, "aardvark")])
    world.settle()
    assert world.search("zebra").hits[0].anchors[0].pages == 1
    assert world.urls("aardvark") == [target]


def test_a_link_that_comes_back_counts_again(world: World) -> None:
    for links in ([("https://t.example/", "zebra")], [], [("https://t.example/", "zebra")]):
        world.fetch("https://a.example/", "", links)
        world.settle()
        assert world.urls("zebra") == [target for target, _ in links]


def test_the_rows_of_a_target_stay_few_though_it_is_never_fetched(world: World) -> None:
    target = "https://t.example/"
    for number in range(100):
        world.fetch(f"https://a.example/{number}", "", [(target, "zebra")], is_indexed=False)
        world.indexer.fold()
        world.indexer.refresh()
    assert world.search("zebra").total == 0
    assert len(list(world.tables["inlinks"].scan())) < 30
    found = incoming(world.tables, fingerprint(target))
    assert 50 < found.pages < 200


def test_languages_are_found_out_where_pages_do_not_say(world: World) -> None:
    german = "Die Häuser der alten Stadt wurden im Krieg zerstört und danach aufgebaut. " * 3
    world.fetch("https://a.example/", german, language="")
    world.fetch("https://b.example/", german, language="de-AT")
    world.settle()
    hits = world.search("Haus").hits
    assert [hit.language for hit in hits] == ["de", "de"]
    assert world.indexer.counts["put"] == 2


def test_what_was_not_committed_is_replayed_from_the_journal(tmp_path: Path) -> None:
    world = World(tmp_path / "index")
    world.fetch("https://a.example/", "zebra", [("https://b.example/", "lion")])
    world.fetch("https://c.example/", "tiger")
    # No commit: as if the process had died. A second one starts on the same tables.
    for part in world.index._parts.values():
        if part.writer is not None:
            part.writer.rollback()
            part.close()
    again = World(tmp_path / "index", store=world.store)
    assert again.urls("zebra") == []
    first = NUMBER.unpack(next(iter(again.tables[INDEX_NEW].scan()))[0])[0]
    assert again.indexer.replay(before=first) == 0, "not agreed on yet: noted by this start"
    assert again.indexer.replay(before=first + 1) == 1
    assert again.urls("tiger") == []
    assert again.indexer.replay() == 1
    assert again.urls("zebra") == ["https://a.example/"]
    assert again.urls("tiger") == ["https://c.example/"]
    assert again.indexer.replay() == 0
    again.settle()
    assert again.urls("lion") == ["https://b.example/"]
