"""scrapy links: what a page links to and what links to it, out of a job's tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.commanding import make_job, refused, run
from webcrawler.frontier.backends.rocks import RocksKV
from webcrawler.index import TABLES, Sequence, Source, fold, record_links, site_hash
from webcrawler.items import Link
from webcrawler.tables import Batch
from webcrawler.urls import Canonicalizer, host_key, site_key

if TYPE_CHECKING:
    from pathlib import Path

fingerprint = Canonicalizer().fingerprint


class Graph:
    """The tables of a crawl that found these links."""

    def __init__(self, job: Path) -> None:
        self.kv = RocksKV(make_job(job) / "frontier", TABLES, sync_secs=0)
        self.sequence = Sequence()

    def commit(self, batch: Batch) -> None:
        writes = self.kv.batch()
        for name, key, value in batch.writes:
            if value is None:
                writes.delete(key, self.kv.handle(name))
            else:
                writes.put(key, value, self.kv.handle(name))
        self.kv.write(writes)

    def page(self, url: str, *links: Link) -> None:
        batch = Batch()
        source = Source(fingerprint(url), url, site_hash(site_key(host_key(url))))
        record_links(batch, source, links, fingerprint, sequence=self.sequence.next())
        self.commit(batch)

    def fold(self) -> None:
        batch = Batch()
        fold({name: self.kv.table(name) for name in TABLES}, batch, run=self.sequence.next())
        self.commit(batch)


@pytest.fixture
def job(tmp_path: Path) -> Path:
    graph = Graph(tmp_path / "job")
    graph.page(
        "http://a.test/",
        Link("http://b.test/x?b=1&a=2", "the b page"),
        Link("http://b.test/x?b=1&a=2", "again"),
        Link("http://c.test/", "", "nofollow"),
    )
    graph.fold()
    graph.page("http://c.test/", Link("http://b.test/x?b=1&a=2", "from c"))
    graph.kv.close()
    return tmp_path / "job"


def test_both_ways(job: Path) -> None:
    done = run("links", "--job", job, "http://a.test/")
    assert (done.code, done.lines) == (
        0,
        [
            "http://a.test/",
            "  links to 2 pages",
            '    http://b.test/x?b=1&a=2  "the b page", "again"',
            "    http://c.test/  without words [nofollow]",
            "  is linked to by no page of this crawl",
        ],
    )


def test_into_a_page_that_was_not_fetched(job: Path) -> None:
    done = run("links", "--job", job, "http://b.test/x?a=2&b=1#part")
    assert done.lines[1:] == [
        "  links to: not known, since it was not fetched or is a copy of another page",
        "  is linked to by 2 pages of 2 sites",
        '    http://c.test/  "from c"',
        '    http://a.test/  "the b page", "again"',
    ]


def test_one_way_only(job: Path) -> None:
    only_in = run("links", "--job", job, "--in", "--json", "http://b.test/x?b=1&a=2").json
    assert set(only_in) == {"url", "in"}
    assert only_in["in"]["pages"] == 2
    assert {link["text"] for link in only_in["in"]["links"]} == {"the b page", "again", "from c"}
    only_out = run("links", "--job", job, "--out", "--json", "http://a.test/").json
    assert set(only_out) == {"url", "out"}
    assert only_out["out"]["targets"] == 2
    assert only_out["out"]["links"][2] == {"url": "http://c.test/", "text": "", "rel": "nofollow"}
    assert set(run("links", "--in", "--out", "--json", "--job", job, "http://a.test/").json) == {
        "url",
        "out",
        "in",
    }


def test_no_more_than_asked_for(job: Path) -> None:
    out = run("links", "--job", job, "-n", 1, "http://a.test/")
    assert "    and 2 more links (-n shows more)" in out.lines
    into = run("links", "--job", job, "-n", 1, "--in", "http://b.test/x?b=1&a=2")
    assert into.lines[1:] == [
        "  is linked to by 2 pages of 2 sites",
        '    http://c.test/  "from c"',
        "    and 2 more links (-n shows more)",
    ]


def test_the_store_may_be_in_use(tmp_path: Path) -> None:
    graph = Graph(tmp_path / "job")
    graph.page("http://a.test/", Link("http://b.test/", "b"))
    first = run("links", "--job", tmp_path / "job", "--json", "http://b.test/").json
    graph.page("http://c.test/", Link("http://b.test/", "b"))
    second = run("links", "--job", tmp_path / "job", "--json", "http://b.test/").json
    graph.kv.close()
    assert (first["in"]["pages"], second["in"]["pages"]) == (1, 2)


def test_a_terminal_is_not_obeyed_to_by_pages(tmp_path: Path) -> None:
    graph = Graph(tmp_path / "job")
    graph.page("http://a.test/", Link("http://b.test/\x1b[0m\x9b", "\x1b[31m\u202ered", "\x1b"))
    graph.kv.close()
    for options in ((), ("--json",)):
        done = run("links", "--job", tmp_path / "job", "http://a.test/", *options)
        assert "red" in done.out
        assert not set(done.out) & {"\x1b", "\x9b", "\u202e"}


def test_what_is_not_there_is_one_sentence(job: Path, tmp_path: Path) -> None:
    refused(run("links", "--job", job, "mailto:x"), "is no URL")
    refused(run("links", "--job", make_job(tmp_path / "bare"), "a.test"), "has kept no tables")
    Graph(tmp_path / "empty").kv.close()
    refused(run("links", "--job", tmp_path / "empty", "a.test"), "has kept no links")


def test_a_damaged_store_is_one_sentence(job: Path) -> None:
    (manifest,) = (job / "frontier").glob("MANIFEST-*")
    manifest.write_bytes(b"nonsense" * 100)
    refused(run("links", "--job", job, "http://a.test/"), "the frontier in")


@pytest.mark.parametrize("argv", [(), ("a.test", "b.test"), ("-n", "0", "a.test")])
def test_what_makes_no_sense_is_refused(argv: tuple[str, ...]) -> None:
    done = run("links", *argv)
    assert done.code == 2
    assert "scrapy links" in done.err


def test_help() -> None:
    done = run("links", "--help")
    assert done.code == 0
    for word in ("--in", "--out", "-n N", "--json", "examples:"):
        assert word in done.out
