"""The check: what is wrong is named with its place, and nothing in a file can do harm."""

from __future__ import annotations

import base64
import hashlib
import os
import random
import resource
import zlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from webcrawler.archive import (
    Exchange,
    Message,
    Original,
    WarcFiles,
    check,
    get,
    list_records,
    recover,
)
from webcrawler.archive.compression import compress_member

AT = 1714566000.0


def sha1(data: bytes) -> str:
    return f"sha1:{base64.b32encode(hashlib.sha1(data).digest()).decode()}"


def record(block=b"HTTP/1.1 200 OK\r\n\r\npage", *, tail=b"\r\n\r\n", **fields) -> bytes:
    shown = {
        "WARC-Type": "response",
        "WARC-Record-ID": "<urn:uuid:1>",
        "WARC-Date": "2024-05-01T12:20:00Z",
        "WARC-Target-URI": "http://example.org/",
        "WARC-Block-Digest": sha1(block),
        "WARC-Payload-Digest": sha1(block.partition(b"\r\n\r\n")[2]),
        "Content-Type": "application/http; msgtype=response",
        "Content-Length": str(len(block)),
    }
    shown.update({name.replace("_", "-"): value for name, value in fields.items()})
    head = "".join(f"{name}: {value}\r\n" for name, value in shown.items() if value is not None)
    return b"WARC/1.1\r\n" + head.encode() + b"\r\n" + block + tail


GOOD = compress_member(record(), 2)


def problems(folder, *parts: bytes, name: str = "a.warc.gz") -> dict[str, int]:
    (folder / name).write_bytes(b"".join(parts))
    return dict(check(folder).problem_counts)


def test_what_the_writer_writes_is_sound(tmp_path):
    archive = WarcFiles(tmp_path, max_bytes=5000)
    first = archive.write(exchange("a", b"one"))
    for number in range(20):
        original = Original("http://example.org/a", AT, first.payload_digest)
        archive.write(exchange(str(number), b"one" if number % 3 else b"%d" % number, original))
    archive.close()
    report = check(tmp_path)
    assert report.is_sound
    assert report.files > 1
    assert report.records["revisit"] == 13
    assert report.records["response"] == 8
    assert report.compressed_bytes == sum(path.stat().st_size for path in tmp_path.iterdir())


def exchange(name: str, body: bytes, original: Original | None = None) -> Exchange:
    response = Message(b"HTTP/1.1 200 OK", [(b"Transfer-Encoding", b"chunked")], body)
    url = f"http://example.org/{name}"
    return Exchange(url, AT, response, Message(b"GET / HTTP/1.1"), original=original)


def test_a_good_record_of_another_writer_is_good(tmp_path):
    assert problems(tmp_path, GOOD, zlib.compress(record(), 9, 31), GOOD) == {}


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        (record(WARC_Block_Digest=sha1(b"x")), {"block-digest": 1}),
        (record(WARC_Payload_Digest=sha1(b"x")), {"payload-digest": 1}),
        (record(WARC_Payload_Digest="crc:1234"), {"unknown-digest": 1}),
        (record(WARC_Block_Digest="sha1:tooshort"), {"unknown-digest": 1}),
        (record(WARC_Block_Digest=None, WARC_Payload_Digest=None), {}),
        (record(WARC_Date="once upon a time"), {"bad-date": 1}),
        (record(WARC_Type=None, WARC_Record_ID=None), {"missing-field": 2}),
        (record(tail=b""), {"trailing-data": 1}),
        (record(tail=b"\r\n\r\nWARC/1.1\r\n"), {"trailing-data": 1}),
        (record(Content_Length="99"), {"short-block": 1}),
        (record(Content_Length="5"), {"no-http-head": 1}),
        (record(b"no http at all"), {"no-http-head": 1}),
        (record(Content_Length="-1"), {"no-content-length": 1}),
        (record(Content_Length="9" * 50), {"no-content-length": 1}),
        (record(Content_Length="9" * 18), {"too-large": 1}),
        (b"no record", {"not-a-record": 1}),
        (b"WARC/1.1\r\n" + b"A: b\r\n" * 50_000 + b"\r\n", {"head-too-long": 1}),
        (b"", {"not-a-record": 1}),
    ],
)  # fmt: skip
def test_each_fault_has_its_name_and_the_rest_is_read(tmp_path, bad, expected):
    (tmp_path / "a.warc.gz").write_bytes(GOOD + compress_member(bad, 2) + GOOD)
    report = check(tmp_path)
    assert dict(report.problem_counts) == expected
    assert report.records["response"] >= 2
    assert all(problem.offset == len(GOOD) for problem in report.problems)


def test_torn_files_are_told_from_files_being_written(tmp_path):
    assert problems(tmp_path, GOOD, GOOD[:-20]) == {"torn-record": 1}
    (tmp_path / "a.warc.gz").unlink()
    assert problems(tmp_path, GOOD, GOOD[:-20], name="b.warc.gz.open") == {}
    assert check(tmp_path).unfinished == 1


def test_corrupt_stretches_are_passed_over(tmp_path):
    spoiled = bytearray(GOOD)
    spoiled[40] ^= 0xFF
    spoiled[60] ^= 0xFF
    assert problems(tmp_path, GOOD, bytes(spoiled), GOOD) == {"corrupt-record": 1}
    # Without the writer's lengths the next record is looked for.
    plain = zlib.compress(record(), 9, 31)
    assert problems(tmp_path, plain, plain[:50] + os.urandom(5000), GOOD).keys() <= {
        "corrupt-record",
        "not-gzip",
    }
    assert check(tmp_path).records["response"] == 2
    assert problems(tmp_path, b"junk" * 100, GOOD) == {"not-gzip": 1}
    assert problems(tmp_path, bytes(70_000), GOOD) == {"not-gzip": 1}


def revisit(url="http://example.org/", date="2024-05-01T12:20:00Z", digest=None, kind="identical"):
    profile = {"identical": "identical-payload-digest", "unchanged": "server-not-modified"}[kind]
    return compress_member(
        record(
            b"HTTP/1.1 200 OK\r\n\r\n",
            WARC_Type="revisit",
            WARC_Profile=f"http://netpreserve.org/warc/1.1/revisit/{profile}",
            WARC_Refers_To_Target_URI=url,
            WARC_Refers_To_Date=date,
            WARC_Payload_Digest=digest or sha1(b"page"),
            WARC_Target_URI="http://example.org/copy",
        ),
        2,
    )


def test_revisits_lead_to_their_originals(tmp_path):
    hex_digest = f"sha1:{hashlib.sha1(b'page').hexdigest()}"
    assert problems(tmp_path, GOOD, revisit(), revisit(digest=hex_digest)) == {}
    # The original may come later, and be written to another precision of time.
    assert problems(tmp_path, revisit(date="2024-05-01T12:20:00.000000Z"), GOOD) == {}
    assert problems(tmp_path, GOOD, revisit("http://example.org/x")) == {"revisit-unresolved": 1}
    later = revisit(date="2024-05-01T12:20:00.000001Z")
    assert problems(tmp_path, GOOD, later) == {"revisit-unresolved": 1}
    assert problems(tmp_path, GOOD, revisit(digest=sha1(b"x"))) == {"revisit-digest": 1}
    unchanged = revisit(digest=sha1(b"x"), kind="unchanged")
    assert problems(tmp_path, GOOD, unchanged) == {}
    assert problems(tmp_path, revisit()) == {"revisit-unresolved": 1}


def test_an_unreadable_file_is_a_problem_and_not_the_end(tmp_path):
    (tmp_path / "a.warc.gz").mkdir()
    assert problems(tmp_path, GOOD, name="b.warc.gz") == {"unreadable-file": 1}
    assert check(tmp_path).records["response"] == 1


def test_many_problems_are_counted_and_few_are_kept(tmp_path):
    bad = compress_member(record(WARC_Block_Digest=sha1(b"x")), 2)
    (tmp_path / "a.warc.gz").write_bytes(bad * 1500)
    report = check(tmp_path)
    assert report.problem_counts == {"block-digest": 1500}
    assert len(report.problems) == 1000


def bomb(length: int, declared: int) -> bytes:
    head = record(b"", Content_Length=str(declared), WARC_Block_Digest=None, tail=b"")
    stream = zlib.compressobj(9, zlib.DEFLATED, 31)
    pieces = [stream.compress(head)]
    pieces += [stream.compress(bytes(1 << 20)) for _ in range(length >> 20)]
    return b"".join([*pieces, stream.flush()])


def test_bombs_are_read_as_streams_or_not_at_all(tmp_path):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    undeclared, declared = bomb(100 << 20, 10), bomb(100 << 20, 100 << 20)
    (tmp_path / "a.warc.gz").write_bytes(undeclared + GOOD + declared + GOOD)
    report = check(tmp_path)
    assert report.problem_counts["too-large"] == 1
    assert report.problem_counts["no-http-head"] >= 1
    assert report.records["response"] >= 2
    assert len(list(list_records(tmp_path))) >= 2
    capture = get(tmp_path, "http://example.org/")
    assert capture is not None
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 64 << 10  # kilobytes: the bombs hold three times that


def test_false_beginnings_are_not_tried_without_end(tmp_path):
    (tmp_path / "a.warc.gz").write_bytes(b"\x1f\x8b\x08\x00" * 100_000)
    report = check(tmp_path)
    assert report.problem_counts["rest-unreadable"] == 1
    assert list(list_records(tmp_path)) == []


def test_a_false_length_cannot_hide_what_it_does_not_reach(tmp_path):
    """The length in a gzip header is a hint of whoever wrote the file."""
    lying = bytearray(GOOD)
    lying[16:20] = (len(GOOD) * 2).to_bytes(4, "little")
    (tmp_path / "a.warc.gz").write_bytes(bytes(lying) + GOOD + GOOD)
    assert len(list(list_records(tmp_path))) == 2  # hopped over one, as told
    report = check(tmp_path)  # which a check does not
    assert report.records["response"] == 3


@pytest.fixture(scope="module")
def sample(tmp_path_factory) -> bytes:
    folder = tmp_path_factory.mktemp("sample")
    archive = WarcFiles(folder, clock=lambda: AT)
    first = archive.write(exchange("a", b"one"))
    archive.write(exchange("b", b"one", Original("http://example.org/a", AT, first.payload_digest)))
    archive.write(exchange("c", random.Random(1).randbytes(300)))
    archive.close()
    (path,) = folder.iterdir()
    return path.read_bytes()


@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=6),
    st.integers(0, 10_000),
    st.binary(max_size=40),
)
def test_no_damage_makes_reading_raise(tmp_path, sample, changes, cut, tail):
    data = bytearray(sample)
    for at, value in changes:
        data[at % len(data)] = value
    data = data[: len(data) - cut % len(data)] + tail
    path = tmp_path / "a.warc.gz"
    path.write_bytes(bytes(data))
    report = check(tmp_path)
    listed = list(list_records(tmp_path))
    assert sum(report.records.values()) <= 7
    assert len(listed) <= 8
    for name in "abc":
        get(tmp_path, f"http://example.org/{name}")
    path.rename(tmp_path / "a.warc.gz.open")
    recover(tmp_path)
    for left in tmp_path.iterdir():
        left.unlink()
    if bytes(data) == sample:
        assert report.is_sound
