"""scrapy search: what is found, how it is shown, and what is said where nothing can be."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from tests.commanding import make_job, refused, run
from webcrawler.commands.search import show
from webcrawler.index import Anchor, FullTextIndex, IndexedPage, search

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PAGES = [
    IndexedPage(1, "http://a.test/zebra", "Zebras of the plain", "stripes and hooves", "en", 10.0),
    IndexedPage(2, "http://b.test/lion", "A lion", "roar, said the lion to zebra", "en", 20.0),
    IndexedPage(3, "http://c.test/unseen"),
]
ANCHORS = {
    1: [Anchor("striped horses", 2.0, 3, 2), Anchor("click here", 0.1, 9, 4)],
    3: [Anchor("zebra crossing", 1.5, 1, 1)],
}


@pytest.fixture
def job(tmp_path: Path) -> Path:
    return indexed(make_job(tmp_path / "job"), PAGES)


def indexed(job: Path, pages: list[IndexedPage]) -> Path:
    with FullTextIndex(job / "index") as index:
        for page in pages:
            index.put(page, ANCHORS.get(page.fingerprint, []))
    return job


def urls(*argv: object) -> list[str]:
    done = run("search", "--json", *argv)
    assert done.code == 0, done.err
    return [hit["url"] for hit in done.json["hits"]]


def test_title_url_snippet_score_and_anchors(job: Path) -> None:
    done = run("search", "--job", job, "hooves")
    assert done.code == 0
    title, url, snippet, anchors, total = done.lines
    assert title.startswith("1. Zebras of the plain  ")
    assert float(title.rsplit("  ", 1)[1]) > 0
    assert url == "   http://a.test/zebra"
    assert snippet == "   stripes and hooves"
    assert (
        anchors == '   links say: "striped horses" (3 pages of 2 sites); '
        '"click here" (9 pages of 4 sites)'
    )
    assert total.startswith("1 page, ")


def test_a_page_known_by_its_anchors_is_marked(job: Path) -> None:
    done = run("search", "--job", job, "crossing")
    assert done.lines[0].startswith("1. zebra crossing  ")
    assert done.lines[1:3] == [
        "   http://c.test/unseen",
        "   not fetched: known by the links to it only",
    ]
    (hit,) = run("search", "--job", job, "crossing", "--json").json["hits"]
    assert (hit["is_fetched"], hit["fetched_at"], hit["title"]) == (False, None, "")


def test_the_words_of_others_are_found(job: Path) -> None:
    assert urls("--job", job, "striped horses") == ["http://a.test/zebra"]


def test_what_people_type(job: Path) -> None:
    assert urls("--job", job, "zebra", "-lion") == urls("--job", job, "zebra -lion")
    assert "http://b.test/lion" not in urls("--job", job, "zebra", "-lion")
    assert urls("--job", job, '"said the lion"') == ["http://b.test/lion"]
    assert urls("--job", job, '"the said lion"') == []
    assert urls("--job", job, "title:zebra") == ["http://a.test/zebra"]
    assert urls("--job", job, "zebra", "site:b.test") == ["http://b.test/lion"]
    assert set(urls("--job", job, "zebra", "-site:b.test")) == {
        "http://a.test/zebra",
        "http://c.test/unseen",
    }


@pytest.mark.parametrize("word", ["-hooves", "-stripes", "-Lion", "-nothing", "-Oscar", "-sofa=1"])
def test_words_that_look_like_options(job: Path, word: str) -> None:
    """-h, -s, -L and -n are options; words that begin with these letters are words."""
    assert urls("--job", job, "zebra", word) == urls("--job", job, f"zebra {word}")


def test_options_stay_options(job: Path) -> None:
    assert len(urls("--job", job, "zebra", "-n2")) == len(urls("zebra", "-n", 2, "--job", job)) == 2
    assert len(urls("--job", job, "zebra", "-sLOG_LEVEL=INFO", "-LINFO")) == 3
    assert urls("--job", job, "--", "zebra", "-lion", "-site:c.test") == ["http://a.test/zebra"]


def test_several_jobs_and_index_folders(job: Path, tmp_path: Path) -> None:
    other = indexed(
        make_job(tmp_path / "other"),
        [
            IndexedPage(9, "http://z.test/", "Zebra two", "", "en", 1.0),
            IndexedPage(3, "http://c.test/unseen", "Seen now: a zebra", "", "en", 5.0),
        ],
    )
    both = run("search", "--json", "zebra", "--job", job, "--job", other / "index").json["hits"]
    assert sorted(hit["url"] for hit in both) == [
        "http://a.test/zebra",
        "http://b.test/lion",
        "http://c.test/unseen",
        "http://z.test/",
    ]
    assert all(hit["is_fetched"] for hit in both)
    assert run("search", "--json", "zebra", "--job", job, "--job", job).json["total"] == 3


def test_a_job_by_its_name_and_the_latest(job: Path, tmp_path: Path) -> None:
    crawls = ("-s", f"CRAWLS_DIR={tmp_path}")
    newer = indexed(make_job(tmp_path / "newer"), PAGES[:1])
    os.utime(newer / "job.json", (2e9, 2e9))
    assert urls(*crawls, "lion", "--job", "job") == ["http://b.test/lion"]
    assert urls(*crawls, "lion") == []
    assert urls(*crawls, "zebra") == ["http://a.test/zebra"]


def test_hits_are_bold_on_a_terminal_only(job: Path) -> None:
    plain = run("search", "--job", job, "hooves")
    assert "\x1b" not in plain.out
    output = io.StringIO()
    console = Console(file=output, force_terminal=True, width=60, highlight=False)
    show("hooves", search([job / "index"], "hooves"), console)
    assert "stripes and \x1b[1mhooves\x1b[0m" in output.getvalue()
    assert all(len(line) < 100 for line in output.getvalue().splitlines())


def test_a_terminal_is_not_obeyed_to_by_pages(tmp_path: Path) -> None:
    evil = "\x1b[31mred\x1b]0;title\x07 \x9b2J zebra \u202ereversed [bold]markup[/bold] :smile:"
    job = make_job(tmp_path / "job")
    with FullTextIndex(job / "index") as index:
        page = IndexedPage(1, f"http://a.test/{evil}", evil, evil, "en", 1.0)
        index.put(page, [Anchor(evil, 2.0, 1, 1)])
    for options in ((), ("--json",)):
        done = run("search", "--job", job, "zebra", *options)
        assert not set(done.out) & {"\x1b", "\x07", "\x9b", "\u202e"}
        assert "[bold]markup[/bold] :smile:" in done.out


def test_nothing_found_is_no_error(job: Path) -> None:
    done = run("search", "--job", job, "unicorn")
    assert (done.code, done.lines) == (0, ["nothing was found for unicorn"])
    assert run("search", "--job", job, "unicorn", "--json").json["hits"] == []


def test_json(job: Path) -> None:
    result = run("search", "--job", job, "hooves", "--json").json
    assert (result["query"], result["total"]) == ("hooves", 1)
    (hit,) = result["hits"]
    assert hit["snippet"] == "stripes and hooves"
    assert hit["ranges"] == [[12, 18]]
    assert hit["fetched_at"] == "1970-01-01T00:00:10+00:00"
    assert hit["anchors"][0] == {"text": "striped horses", "weight": 2.0, "pages": 3, "sites": 2}


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ('"open', "is not closed"),
        ("-zebra", "only says what is not wanted"),
        ("site:", "site: needs a host"),
        ("title:", "no word after title:"),
        ("?!", "no word to search for"),
        ("x" * 1001, "1000 are allowed"),
    ],
)
def test_a_query_that_makes_no_sense_is_one_sentence(job: Path, query: str, words: str) -> None:
    refused(run("search", "--job", job, query), words)
    refused(run("search", "--job", job / "nowhere", query), words)


def _damaged(job: Path) -> None:
    (job / "index" / "format.json").write_text("{")


def _foreign(job: Path) -> None:
    (job / "index" / "format.json").write_text('{"format": 99}')


def _torn(job: Path) -> None:
    (job / "index" / "en" / "meta.json").write_text("{")


@pytest.mark.parametrize("damage", [_damaged, _foreign, _torn])
def test_a_damaged_index_is_one_sentence(job: Path, damage: Callable[[Path], None]) -> None:
    damage(job)
    refused(run("search", "--job", job, "zebra"), "cannot be used")


def test_no_index_and_an_empty_one(tmp_path: Path) -> None:
    job = make_job(tmp_path / "job")
    refused(run("search", "--job", job, "x"), "has no index")
    FullTextIndex(job / "index").close()
    refused(run("search", "--job", job, "x"), "is empty: nothing has been indexed yet")
    refused(run("search", "--job", tmp_path / "none", "x"), "there is no crawl")
    refused(run("search", "-s", f"CRAWLS_DIR={tmp_path / 'none'}", "x"), "there is no crawl in")


@pytest.mark.parametrize("argv", [(), ("-n", "0", "x"), ("-n", "many", "x")])
def test_what_makes_no_sense_is_refused(argv: tuple[str, ...]) -> None:
    done = run("search", *argv)
    assert done.code == 2
    assert "scrapy search" in done.err


def test_help() -> None:
    done = run("search", "--help")
    assert done.code == 0
    for word in ("site:example.org", "-word", "title:word", "--job", "--json", "examples:"):
        assert word in done.out
