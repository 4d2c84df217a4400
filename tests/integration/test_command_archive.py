"""scrapy archive: list, get and check on a job's WARC files."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING

import pytest

from tests.commanding import make_job, refused, run
from webcrawler.archive import (
    TABLE,
    ArchiveReader,
    Exchange,
    Message,
    Original,
    WarcFiles,
    put,
)
from webcrawler.frontier.backends.rocks import RocksKV
from webcrawler.tables import Batch
from webcrawler.urls import Canonicalizer

if TYPE_CHECKING:
    from pathlib import Path

AT = 1714566000.0  # 2024-05-01T12:20:00Z
DAY = 86400.0
PAGE = b"<html><head><title>x</title></head><a href=x>x</a></html>"
TABLES = (TABLE,)


def exchange(url: str, at: float, body: bytes, original: Original | None = None) -> Exchange:
    headers = [(b"Content-Type", b"text/html"), (b"Content-Encoding", b"gzip")]
    response = Message(b"HTTP/1.1 200 OK", headers, zlib.compress(body, 6, 31))
    return Exchange(url, at, response, original=original)


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A page twice, and a copy of its first version; in files and in the crawl's table."""
    job = make_job(tmp_path / "job")
    archive = WarcFiles(job / "warc", clock=lambda: AT)
    fingerprint = Canonicalizer().fingerprint
    batch = Batch()
    first = archive.write(exchange("http://a.test/", AT, PAGE))
    put(batch, fingerprint("http://a.test/"), first)
    second = archive.write(exchange("http://a.test/", AT + DAY, PAGE + b"new"))
    put(batch, fingerprint("http://a.test/"), second)
    original = Original("http://a.test/", AT, first.payload_digest)
    copy = archive.write(exchange("http://b.test/x?b=1&a=2", AT, PAGE, original))
    put(batch, fingerprint("http://b.test/x?b=1&a=2"), copy)
    archive.close()
    kv = RocksKV(job / "frontier", TABLES, sync_secs=0)
    writes = kv.batch()
    for name, key, value in batch.writes:
        writes.put(key, value, kv.handle(name))
    kv.write(writes)
    kv.close()
    return job


def test_list(job: Path) -> None:
    done = run("archive", "--job", job, "list")
    assert done.code == 0
    assert [line.split(" ")[1] for line in done.lines] == [
        "warcinfo",
        "response",
        "response",
        "revisit",
    ]
    assert [
        line.split(" ")[-1] for line in run("archive", "list", "b.test", "--job", job).lines
    ] == ["http://b.test/x?b=1&a=2"]
    assert len(run("archive", "list", "--kind", "response", "--job", job).lines) == 2


def test_list_as_json_lines(job: Path) -> None:
    records = [json.loads(line) for line in run("archive", "list", "--json", "--job", job).lines]
    assert records[3]["refers_to_url"] == "http://a.test/"


def test_get_writes_the_page_and_nothing_else(job: Path) -> None:
    done = run("archive", "get", "a.test/".replace("a.test", "http://a.test"), "--job", job)
    assert (done.code, done.bytes) == (0, PAGE + b"new")
    assert done.err == "http://a.test/ as of 2024-05-02T12:20:00.000000Z, status 200\n"


def test_get_as_asked(job: Path) -> None:
    get = ("archive", "get", "--job", job, "http://a.test/", "--when", "2024-05-01")
    assert run(*get).bytes == PAGE
    assert zlib.decompress(run(*get, "--raw").bytes, 31) == PAGE
    assert run(*get, "--headers").bytes == (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n" + PAGE
    )
    assert b'<head><base href="http://a.test/">' in run(*get, "--base").bytes


def test_get_finds_another_spelling_and_the_payload_of_a_copy(job: Path) -> None:
    done = run("archive", "get", "--job", job, "HTTP://B.test/x?a=2&b=1#part")
    assert (done.code, done.bytes) == (0, PAGE)
    assert "payload of http://a.test/" in done.err


def test_get_looks_into_the_table_first(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webcrawler.archive.reader.list_records", lambda folder: 1 / 0)
    assert run("archive", "get", "--job", job, "http://a.test/").bytes == PAGE + b"new"


def test_get_does_without_the_table(job: Path) -> None:
    (job / "frontier").rename(job / "gone")
    assert run("archive", "get", "--job", job, "http://a.test/").bytes == PAGE + b"new"
    assert run("archive", "get", "--job", job / "warc", "http://a.test/").bytes == PAGE + b"new"


def test_get_into_a_file(job: Path, tmp_path: Path) -> None:
    done = run("archive", "get", "--job", job, "-o", tmp_path / "page", "http://a.test/")
    assert (done.code, done.bytes) == (0, b"")
    assert (tmp_path / "page").read_bytes() == PAGE + b"new"
    bad = run("archive", "get", "--job", job, "-o", tmp_path / "none" / "page", "http://a.test/")
    refused(bad, "cannot write")


def test_get_as_json_tells_of_the_page(job: Path) -> None:
    about = run("archive", "get", "--job", job, "--json", "http://b.test/x?b=1&a=2").json
    assert about["kind"] == "revisit"
    assert about["payload_of"] == "http://a.test/"
    assert about["headers"][0] == ["Content-Type", "text/html"]
    assert about["problems"] == []


def test_a_terminal_is_not_obeyed_to_by_pages(tmp_path: Path) -> None:
    job = make_job(tmp_path / "job")
    archive = WarcFiles(job / "warc")
    archive.write(exchange("http://a.test/tame", AT, "plain “text”\r\n\t".encode()))
    archive.write(exchange("http://a.test/wild", AT, b"\x1b[31mred"))
    archive.write(exchange("http://a.test/wild2", AT, "\x9b31mred".encode()))
    archive.write(exchange("http://a.test/\x1b[31m\x9b\u202e", AT, b""))
    archive.close()
    get = ("archive", "get", "--job", job)
    tame = run(*get, "http://a.test/tame", is_terminal=True)
    assert (tame.code, tame.out) == (0, "plain “text”\r\n\t")
    refused(run(*get, "http://a.test/wild", is_terminal=True), "that a terminal would obey")
    refused(run(*get, "http://a.test/wild2", is_terminal=True), "that a terminal would obey")
    assert run(*get, "http://a.test/wild").bytes == b"\x1b[31mred"
    for options in ((), ("--json",)):
        listed = run("archive", "list", "--job", job, *options).out
        assert not set(listed) & {"\x1b", "\x9b", "\u202e"}


def test_check(job: Path) -> None:
    done = run("archive", "check", "--job", job)
    assert done.code == 0
    assert done.lines[-1].startswith("every record can be read")
    (file,) = (job / "warc").iterdir()
    data = bytearray(file.read_bytes())
    data[-30] ^= 0xFF
    file.write_bytes(data)
    broken = run("archive", "check", "--job", job)
    assert broken.code == 1
    assert "1 problems" in broken.lines[-1]
    report = run("archive", "check", "--job", job, "--json")
    assert report.code == 1
    assert report.json["sound"] is False


def test_what_is_not_there_is_one_sentence(job: Path, tmp_path: Path) -> None:
    refused(run("archive", "get", "--job", job, "http://a.test/none"), "is not in the archive")
    refused(run("archive", "get", "--job", job, "mailto:x"), "is no URL")
    refused(run("archive", "get", "--job", job, "a.test", "--when", "soon"), "a time such as 2024")
    bare = make_job(tmp_path / "bare")
    for action in (("list",), ("get", "a.test"), ("check",)):
        refused(run("archive", *action, "--job", bare), "has archived nothing")


def test_a_copy_whose_original_is_gone_is_one_sentence(tmp_path: Path) -> None:
    job = make_job(tmp_path / "job")
    archive = WarcFiles(job / "warc")
    first = archive.write(exchange("http://a.test/", AT, PAGE))
    lost = Original("http://lost.test/\x1b[31m", AT, first.payload_digest)
    archive.write(exchange("http://b.test/", AT, PAGE, lost))
    archive.close()
    assert ArchiveReader(job / "warc").get("http://b.test/") is not None
    refused(run("archive", "get", "--job", job, "http://b.test/"), "only as a copy of")


@pytest.mark.parametrize(
    "argv", [(), ("rot",), ("get",), ("get", "a", "b"), ("check", "x"), ("list", "a", "b")]
)
def test_what_makes_no_sense_is_refused(argv: tuple[str, ...]) -> None:
    done = run("archive", *argv)
    assert done.code == 2
    assert "scrapy archive" in done.err


def test_help() -> None:
    done = run("archive", "--help")
    assert done.code == 0
    for word in ("get URL", "--when", "--base", "--raw", "--kind", "-o FILE", "examples:"):
        assert word in done.out
