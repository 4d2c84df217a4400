"""What the command says."""

from __future__ import annotations

import json
import zlib

import pytest

from webcrawler.archive import (
    ArchiveReader,
    Exchange,
    Message,
    Original,
    WarcFiles,
    check,
    describe,
    find_page,
    list_lines,
    page_bytes,
    report_lines,
)
from webcrawler.exceptions import ArgumentError, UserError

AT = 1714566000.0
PAGE = b"<html><head></head><a href=x>x</a></html>"


@pytest.fixture
def folder(tmp_path):
    archive = WarcFiles(tmp_path, clock=lambda: AT)
    headers = [(b"Content-Type", b"text/html"), (b"Content-Encoding", b"gzip")]
    body = zlib.compress(PAGE, 6, 31)
    response = Message(b"HTTP/1.1 200 OK", headers, body)
    first = archive.write(Exchange("http://example.org/a/", AT, response))
    original = Original("http://example.org/a/", AT, first.payload_digest)
    archive.write(Exchange("http://example.org/b/", AT + 86400, response, original=original))
    lost = Original("http://example.org/lost", AT, first.payload_digest)
    archive.write(Exchange("http://example.org/c", AT, response, original=lost))
    archive.close()
    return tmp_path


def test_a_line_a_record(folder):
    lines = list(list_lines(folder))
    assert len(lines) == 4
    date, kind, status, mime, length, place, url = lines[1].split(" ")
    assert (date, kind, status, mime) == (
        "2024-05-01T12:20:00.000000Z",
        "response",
        "200",
        "text/html",
    )
    assert int(length) > 100
    assert place.startswith("webcrawler-20240501122000000-00001-1.warc.gz:")
    assert url == "http://example.org/a/"
    assert [line.split(" ")[-1] for line in list_lines(folder, kind="revisit", part="b")] == [
        "http://example.org/b/"
    ]


def test_a_line_of_json_a_record(folder):
    records = [json.loads(line) for line in list_lines(folder, as_json=True)]
    assert [record["kind"] for record in records] == ["warcinfo", "response", "revisit", "revisit"]
    assert records[2]["refers_to_url"] == "http://example.org/a/"
    assert records[2]["refers_to_date"] == "2024-05-01T12:20:00.000000Z"
    assert "url" not in records[0]


def test_a_page_is_printed_as_asked(folder):
    capture = find_page(ArchiveReader(folder), "http://example.org/b/")
    assert page_bytes(capture) == PAGE
    assert page_bytes(capture, raw=True) == zlib.compress(PAGE, 6, 31)
    based = PAGE.replace(b"<head>", b'<head><base href="http://example.org/b/">')
    assert page_bytes(capture, base=True) == based
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n"
    assert page_bytes(capture, headers=True) == head + PAGE
    assert describe(capture) == (
        "http://example.org/b/ as of 2024-05-02T12:20:00.000000Z, status 200, "
        "payload of http://example.org/a/"
    )


def test_what_is_no_html_gets_no_base(tmp_path):
    archive = WarcFiles(tmp_path)
    response = Message(b"HTTP/1.1 200 OK", [(b"Content-Type", b"text/plain")], b"<head>")
    archive.write(Exchange("http://example.org/", AT, response))
    archive.close()
    capture = find_page(ArchiveReader(tmp_path), "http://example.org/")
    assert page_bytes(capture, base=True) == b"<head>"


def test_what_cannot_be_shown_is_one_sentence(folder):
    reader = ArchiveReader(folder)
    with pytest.raises(UserError, match=r"^http://example.org/x is not in the archive$"):
        find_page(reader, "http://example.org/x")
    with pytest.raises(UserError, match=r"only as a copy of http://example.org/lost"):
        find_page(reader, "http://example.org/c")
    with pytest.raises(ArgumentError, match="when='soon'"):
        find_page(reader, "http://example.org/a/", "soon")
    assert find_page(reader, "http://example.org/a/", "2023").status == 200


def test_a_report_names_places_and_sums(folder):
    lines = list(report_lines(check(folder)))
    assert lines[0].endswith("revisit-unresolved")
    assert lines[-2].startswith("1 files, ")
    assert lines[-1] == "1 problems: 1 revisit-unresolved"
    (line,) = report_lines(check(folder), as_json=True)
    told = json.loads(line)
    assert told["sound"] is False
    assert told["records"] == {"warcinfo": 1, "response": 1, "revisit": 2}
    assert told["places"][0]["name"] == "revisit-unresolved"


def test_a_sound_archive_is_said_to_be_sound(tmp_path):
    assert list(report_lines(check(tmp_path))) == [
        "0 files, 0 bytes, records: none",
        "every record can be read, every digest is right, every revisit leads to its original",
    ]
