"""After a crash: whole records stay, half ones go, and living writers are left alone."""

from __future__ import annotations

import os
import zlib

import pytest

from webcrawler.archive import Exchange, Message, Recovered, WarcFiles, check, list_records, recover
from webcrawler.exceptions import StoreError

AT = 1714566000.0


def exchange(name: str, body: bytes) -> Exchange:
    return Exchange(f"http://example.org/{name}", AT, Message(b"HTTP/1.1 200 OK", [], body))


def left_open(folder, bodies) -> tuple[bytes, list[int]]:
    """The bytes of a file as a crash leaves it, and where each record ends."""
    archive = WarcFiles(folder, clock=lambda: AT)
    stored = [archive.write(exchange(str(n), body)) for n, body in enumerate(bodies)]
    (path,) = folder.iterdir()
    data = path.read_bytes()
    archive.close()
    for path in folder.iterdir():
        path.unlink()
    return data, [stored[0].offset, *(place.offset + place.length for place in stored)]


def put_back(folder, data: bytes, name: str = "a.warc.gz.open"):
    path = folder / name
    path.write_bytes(data)
    return path


def test_wherever_it_is_cut_whole_records_stay(tmp_path):
    data, ends = left_open(tmp_path, [b"one", b"two", os.urandom(50)])
    for cut in range(len(data) + 1):
        put_back(tmp_path, data[:cut])
        (recovered,) = recover(tmp_path)
        kept = max((end for end in ends if end <= cut), default=0)
        records = sum(end <= cut for end in ends)
        assert recovered == Recovered("a.warc.gz", records, kept, cut - kept)
        if kept:
            assert (tmp_path / "a.warc.gz").read_bytes() == data[:kept]
            assert check(tmp_path).is_sound
            (tmp_path / "a.warc.gz").unlink()
        assert not list(tmp_path.iterdir())


def test_a_tail_of_zeros_is_cut_off(tmp_path):
    """As some file systems leave it when the power fails."""
    data, _ = left_open(tmp_path, [b"one"])
    put_back(tmp_path, data + bytes(5000))
    assert recover(tmp_path)[0].cut_bytes == 5000
    assert (tmp_path / "a.warc.gz").read_bytes() == data


def test_a_record_gone_bad_is_no_reason_to_lose_those_after_it(tmp_path):
    data, ends = left_open(tmp_path, [b"one", os.urandom(100), b"three"])
    spoiled = bytearray(data)
    spoiled[ends[2] - 60] ^= 0xFF
    put_back(tmp_path, bytes(spoiled))
    (recovered,) = recover(tmp_path)
    assert recovered.cut_bytes == 0
    assert recovered.records == 3
    urls = [record.url for record in list_records(tmp_path)]
    assert "http://example.org/2" in urls
    assert check(tmp_path).problem_counts == {"corrupt-record": 1}


def test_an_archive_within_a_torn_page_is_not_taken_for_records(tmp_path):
    """A page that is itself a WARC file may lie uncompressed in its record."""
    inner, _ = left_open(tmp_path, [b"forged"])
    data, _ = left_open(tmp_path, [b"one"])
    page = inner + bytes(3000)
    head = b"WARC/1.1\r\nWARC-Type: resource\r\nContent-Length: %d\r\n\r\n" % len(page)
    outer = zlib.compress(head + page + b"\r\n\r\n", 0, 31)
    assert inner in outer
    put_back(tmp_path, data + outer[:-200])
    (recovered,) = recover(tmp_path)
    assert recovered.kept_bytes == len(data)


def test_a_living_writer_is_left_alone(tmp_path):
    archive = WarcFiles(tmp_path)
    archive.write(exchange("a", b"one"))
    assert recover(tmp_path) == []
    archive.write(exchange("b", b"two"))
    # Not even after the file was read within the writing process.
    assert check(tmp_path).is_sound
    assert recover(tmp_path) == []
    archive.close()
    assert check(tmp_path).records["response"] == 2


def test_closed_files_are_not_touched(tmp_path):
    data, _ = left_open(tmp_path, [b"one"])
    put_back(tmp_path, data[:-10], "a.warc.gz")
    assert recover(tmp_path) == []
    assert (tmp_path / "a.warc.gz").read_bytes() == data[:-10]


def test_no_archive_is_written_over(tmp_path):
    data, _ = left_open(tmp_path, [b"one"])
    put_back(tmp_path, data)
    put_back(tmp_path, b"precious", "a.warc.gz")
    with pytest.raises(StoreError, match=r"cannot mend .*a\.warc\.gz exists already"):
        recover(tmp_path)
    assert (tmp_path / "a.warc.gz").read_bytes() == b"precious"


def test_what_is_not_there_needs_no_mending(tmp_path):
    assert recover(tmp_path / "nowhere") == []


def test_foreign_records_without_lengths_are_kept(tmp_path):
    """Members of other writers do not say how long they are."""
    record = b"WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: 2\r\n\r\nhi\r\n\r\n"
    data = zlib.compress(record, 6, 31) * 3
    put_back(tmp_path, data + data[:30])
    assert recover(tmp_path) == [Recovered("a.warc.gz", 3, len(data), 30)]
