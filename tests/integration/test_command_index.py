"""scrapy index build: one index from archives and links, of crawls and of foreign WARC files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.commanding import make_job, refused, run
from tests.integration.test_command_links import Graph, fingerprint
from webcrawler.archive import Exchange, Message, Original, WarcFiles
from webcrawler.frontier.backends.rocks import RocksKV
from webcrawler.frontier.ending import Ending
from webcrawler.frontier.record import Record
from webcrawler.index import FullTextIndex, search
from webcrawler.index.layout import NUMBER
from webcrawler.index_sources import PAGES
from webcrawler.items import Link

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

AT = 1714566000.0


def html(title: str, body: str = "", head: str = "") -> bytes:
    return f"<html><head><title>{title}</title>{head}</head><body>{body}</body></html>".encode()


def page(
    url: str,
    body: bytes,
    at: float = AT,
    *,
    status: bytes = b"200 OK",
    mime: bytes = b"text/html",
    tag: bytes = b"",
    original: Original | None = None,
) -> Exchange:
    headers = [(b"Content-Type", mime)] + ([(b"X-Robots-Tag", tag)] if tag else [])
    return Exchange(url, at, Message(b"HTTP/1.1 " + status, headers, body), original=original)


def archive(folder: Path, *exchanges: Exchange) -> Path:
    files = WarcFiles(folder)
    for exchange in exchanges:
        files.write(exchange)
    files.close()
    return folder


def endings(job: Path, outcomes: Iterable[tuple[str, str, int]]) -> None:
    """What the frontier of a job says of how URLs ended."""
    kv = RocksKV(job / "frontier", (PAGES,), sync_secs=0)
    writes = kv.batch()
    for url, outcome, status in outcomes:
        record = Record(url, fingerprint(url), "", depth=3)
        row = Ending(record, outcome, AT, status).pack_row()
        writes.put(NUMBER.pack(record.fingerprint), row, kv.handle(PAGES))
    kv.write(writes)
    kv.close()


def found(folder: Path, query: str) -> list[str]:
    return sorted(hit.url for hit in search([folder], query).hits)


def test_pages_of_several_jobs_the_newest_version(tmp_path: Path) -> None:
    one, two = make_job(tmp_path / "one"), make_job(tmp_path / "two")
    archive(
        one / "warc",
        page("http://a.test/", html("old zebra"), AT),
        page("http://b.test/", html("a lion")),
    )
    archive(two / "warc", page("http://a.test/", html("new zebra"), AT + 1))
    index = tmp_path / "index"
    done = run("index", "build", index, "--job", one, "--job", two)
    assert done.code == 0, done.err
    assert done.lines[0].startswith("2 pages, and 0 known by the links to them only, in ")
    assert done.lines[1:] == ["left out: 1 older versions", f"in {index}"]
    assert found(index, "zebra") == ["http://a.test/"]
    assert found(index, "old") == []
    assert found(index, "lion") == ["http://b.test/"]
    assert run("search", "--json", "--job", index, "zebra").json["total"] == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index", "one", "two"]


def test_what_does_not_belong_into_an_index_of_foreign_files(tmp_path: Path) -> None:
    copy_of = WarcFiles(tmp_path / "scratch").write(page("http://a.test/", html("zebra")))
    folder = archive(
        tmp_path / "warc",
        page("http://a.test/", html("zebra", "text")),
        page("http://a.test/copy", html("zebra", "text"), original=None),
        page(
            "http://a.test/revisit",
            html("zebra"),
            original=Original("http://a.test/", AT, copy_of.payload_digest),
        ),
        page("http://a.test/tagged", html("zebra"), tag=b"noindex"),
        page("http://a.test/other", html("zebra"), tag=b"otherbot: noindex"),
        page("http://a.test/meta", html("zebra", head="<meta name=robots content=none>")),
        page("http://a.test/gone", html("zebra"), status=b"404 Not Found"),
        page("http://a.test/image", b"\x89PNG\r\n\x1a\nzebra", mime=b"image/png"),
        page("http://a.test/robots.txt", b"User-agent: zebra", mime=b"text/plain"),
        page("http://a.test/notes.txt", b"zebra notes", mime=b"text/plain"),
        page("ftp://a.test/", html("zebra")),
    )
    result = run("index", "build", tmp_path / "index", "--job", folder, "--json").json
    assert found(tmp_path / "index", "zebra") == [
        "http://a.test/",
        "http://a.test/copy",
        "http://a.test/notes.txt",
        "http://a.test/other",
    ]
    assert result["left_out"] == {"noindex": 2, "no text": 2, "no URL": 1}


def test_how_a_page_ended_decides(tmp_path: Path) -> None:
    job = make_job(tmp_path / "job")
    outcomes = ["stored", "not_modified", "duplicate", "near_duplicate", "noindex", "filtered"]
    urls = {outcome: f"http://a.test/{outcome}" for outcome in outcomes}
    archive(job / "warc", *[page(url, html(f"zebra {name}")) for name, url in urls.items()])
    endings(job, [(url, name, 200) for name, url in urls.items()])
    build = ("index", "build", tmp_path / "index", "--job", job)
    result = run(*build, "--json").json
    assert result["left_out"] == dict.fromkeys(
        ("duplicate", "near_duplicate", "noindex", "filtered"), 1
    )
    assert found(tmp_path / "index", "zebra") == [urls["not_modified"], urls["stored"]]
    assert run(*build, "-s", "NEARDUP_INDEX=1").code == 0
    assert urls["near_duplicate"] in found(tmp_path / "index", "zebra")


def test_links_that_nobody_folded_count_and_the_job_is_only_read(tmp_path: Path) -> None:
    """As a crawl with INDEX_ENABLED off leaves them: more pages than are folded at once."""
    job = tmp_path / "job"
    graph = Graph(job)
    for number in range(1100):
        graph.page(f"http://s{number}.test/", Link("http://a.test/", "striped horse"))
    graph.page("http://x.test/", Link("http://unseen.test/", "a unicorn"))
    graph.page("http://y.test/", Link("http://hidden.test/", "a unicorn hidden"))
    graph.page("http://z.test/", Link("http://gone.test/", "a unicorn gone"))
    graph.kv.close()
    endings(job, [("http://hidden.test/", "noindex", 200), ("http://gone.test/", "failed", 404)])
    archive(job / "warc", page("http://a.test/", html("zebra")))
    before = {path: path.read_bytes() for path in (job / "frontier").glob("*.sst")}
    result = run("index", "build", tmp_path / "index", "--job", job, "--json").json
    assert (result["fetched"], result["not_fetched"]) == (1, 1)
    (hit,) = search([tmp_path / "index"], "striped").hits
    assert hit.url == "http://a.test/"
    assert hit.anchors[0].pages == pytest.approx(1100, rel=0.3)
    assert found(tmp_path / "index", "unicorn") == ["http://unseen.test/"]
    assert {path: path.read_bytes() for path in (job / "frontier").glob("*.sst")} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index", "job"]
    fetched = run("index", "build", tmp_path / "index", "--job", job, "--fetched-only", "--json")
    assert fetched.json["not_fetched"] == 0
    assert found(tmp_path / "index", "unicorn") == []


def test_links_of_one_job_reach_pages_of_another(tmp_path: Path) -> None:
    graph = Graph(tmp_path / "linking")
    graph.page("http://b.test/", Link("http://a.test/", "striped horse"))
    graph.kv.close()
    fetching = make_job(tmp_path / "fetching")
    archive(fetching / "warc", page("http://a.test/", html("zebra")))
    jobs = ("--job", tmp_path / "linking", "--job", fetching)
    assert run("index", "build", tmp_path / "index", *jobs).code == 0
    assert found(tmp_path / "index", "striped") == ["http://a.test/"]


def test_hostile_pages_are_indexed_as_far_as_they_go(tmp_path: Path) -> None:
    folder = archive(
        tmp_path / "warc",
        page("http://a.test/1", b"\xff\xfe\x00<html>" + os.urandom(5000)),
        page("http://a.test/2", b"<div>" * 100_000 + b"zebra"),
        page("http://a.test/3", b"%PDF-1.7 nonsense", mime=b"application/pdf"),
        page("http://a.test/4", b""),
    )
    (file,) = folder.iterdir()
    file.write_bytes(file.read_bytes()[:-5])  # torn
    done = run("index", "build", tmp_path / "index", "--job", folder)
    assert done.code == 0, done.err


def test_an_old_index_is_replaced_and_nothing_else_is(tmp_path: Path) -> None:
    warc = archive(tmp_path / "warc", page("http://a.test/", html("zebra")))
    FullTextIndex(tmp_path / "index").close()
    assert run("index", "build", tmp_path / "index", "--job", warc).code == 0
    assert found(tmp_path / "index", "zebra") == ["http://a.test/"]
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "letter").touch()
    refused(run("index", "build", precious, "--job", warc), "is no index: name a new folder")
    refused(run("index", "build", precious / "letter", "--job", warc), "is no index")
    precious.rename(tmp_path / "other.old")
    refused(run("index", "build", tmp_path / "other", "--job", warc), "other.old is there")
    assert (tmp_path / "other.old" / "letter").exists()


def test_what_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    bare = make_job(tmp_path / "bare")
    refused(run("index", "build", tmp_path / "i", "--job", bare), "there is nothing to index in")
    refused(run("index", "build", tmp_path / "i", "--job", tmp_path / "no"), "there is no crawl")
    warc = archive(tmp_path / "warc", page("http://a.test/", html("zebra")))
    (tmp_path / "file").touch()
    refused(run("index", "build", tmp_path / "file" / "i", "--job", warc), "cannot be")
    assert not (tmp_path / "i").exists()


def test_an_index_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warc = archive(tmp_path / "warc", page("http://a.test/", html("zebra")))

    def fail(*arguments: object) -> None:
        raise ValueError("No space left on device")

    monkeypatch.setattr(FullTextIndex, "commit", fail)
    refused(run("index", "build", tmp_path / "index", "--job", warc), "No space left on device")
    assert [path.name for path in tmp_path.iterdir()] == ["warc"]


def test_progress_is_shown_on_stderr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warc = archive(
        tmp_path / "warc", *[page(f"http://a.test/{n}", html("zebra")) for n in range(9)]
    )
    monkeypatch.setattr("webcrawler.commands.index._LINE_SECS", -1.0)
    done = run("index", "build", tmp_path / "index", "--job", warc)
    assert done.err.splitlines()[0].startswith("1 pages, ")
    assert done.err.splitlines()[-1].startswith("9 pages, ")
    monkeypatch.setenv("FORCE_COLOR", "1")
    live = run("index", "build", tmp_path / "index", "--job", warc, "--json")
    assert "\x1b" in live.err
    assert live.json["fetched"] == 9


@pytest.mark.parametrize("argv", [(), ("build",), ("rot", "x"), ("build", "a", "b")])
def test_what_makes_no_sense_is_refused(argv: tuple[str, ...]) -> None:
    done = run("index", *argv)
    assert done.code == 2
    assert "scrapy index build FOLDER" in done.err


def test_help() -> None:
    done = run("index", "--help")
    assert done.code == 0
    for word in ("build FOLDER", "--job", "--fetched-only", "--json", "examples:"):
        assert word in done.out
