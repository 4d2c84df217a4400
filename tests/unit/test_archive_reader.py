"""Finding pages again: by the table, without it, through revisits, and out of every encoding."""

from __future__ import annotations

import io
import zlib

import brotli
import pytest
from fastwarc.stream_io import ZstdWriter
from hypothesis import example, given, settings
from hypothesis import strategies as st

from webcrawler.archive import (
    TABLE,
    ArchiveReader,
    Entry,
    Exchange,
    Message,
    Original,
    Stored,
    WarcFiles,
    dated_key,
    entries,
    get,
    latest_key,
    list_records,
    put,
    unpack,
)
from webcrawler.archive.dates import parse_moment, parse_warc_date, warc_date
from webcrawler.archive.http import decode_content, parse_header_block, unchunk
from webcrawler.archive.index import pack
from webcrawler.archive.reader import fingerprint
from webcrawler.tables import Batch, MemoryTables

AT = 1714566000.123456
DAY = 86400.0
PAGE = b"<html><body>caf\xc3\xa9</body></html>" * 20
HTML = (b"Content-Type", b"Text/HTML; charset=UTF-8")


def zstandard(data: bytes) -> bytes:
    out = io.BytesIO()
    writer = ZstdWriter(out)
    writer.write(data)
    writer.finish()
    writer.flush()
    return out.getvalue()


class Crawl:
    """An archive and its table, written as a crawl writes them."""

    def __init__(self, folder) -> None:
        self.folder = folder
        self.files = WarcFiles(folder, clock=lambda: AT, max_bytes=2000)
        self.tables = MemoryTables()

    def fetch(
        self, path: str, body: bytes = PAGE, *headers, at=AT, status=b"200 OK", original=None
    ) -> Stored:
        url = f"http://example.org/{path}"
        response = Message(b"HTTP/1.1 " + status, [HTML, *headers], body)
        request = Message(b"GET / HTTP/1.1", [(b"Host", b"example.org")])
        stored = self.files.write(Exchange(url, at, response, request, original=original))
        batch = Batch()
        put(batch, fingerprint(url), stored)
        self.tables.commit(batch)
        return stored

    @property
    def table(self):
        return self.tables.table(TABLE)


@pytest.fixture
def crawl(tmp_path):
    return Crawl(tmp_path / "warc")


@pytest.fixture(params=["table", "scan"])
def find(request, crawl):
    """`get` with the crawl's table, and without it."""

    def finder(path: str, when: float | None = None):
        table = crawl.table if request.param == "table" else None
        return get(crawl.folder, f"http://example.org/{path}", when, table)

    return finder


def test_a_page_is_found_as_it_was_stored(crawl, find):
    crawl.fetch("a", b"other", at=AT - 1)
    stored = crawl.fetch("page")
    capture = find("page")
    assert (capture.kind, capture.url, capture.status) == (
        "response",
        "http://example.org/page",
        200,
    )
    assert capture.payload == PAGE
    assert capture.body() == (PAGE, ())
    assert (capture.file, capture.offset) == (stored.file, stored.offset)
    assert capture.fetched_at == pytest.approx(AT, abs=1e-6)
    assert capture.header_block.mime == "text/html"
    assert capture.header_block.charset == "utf-8"
    assert capture.problems == ()
    assert find("nowhere") is None


def test_other_spellings_of_a_url_find_it(crawl):
    crawl.fetch("page?b=2&a=1")
    for table in (None, crawl.table):
        for url in ("HTTP://example.ORG:80/page?a=1&b=2#x", "http://example.org/page?b=2&a=1"):
            assert get(crawl.folder, url, table=table).payload == PAGE


def test_the_latest_is_given_or_the_nearest_to_a_time(crawl, find):
    for day in range(4):
        crawl.fetch("page", b"day %d" % day, at=AT + day * DAY)
    assert find("page").payload == b"day 3"
    assert find("page", AT - DAY).payload == b"day 0"
    assert find("page", AT + 1.4 * DAY).payload == b"day 1"
    assert find("page", AT + 1.6 * DAY).payload == b"day 2"


def test_a_copy_has_its_own_headers_and_the_payload_of_the_original(crawl, find):
    first = crawl.fetch("first")
    original = Original("http://example.org/first", AT, first.payload_digest)
    second = crawl.fetch("second", PAGE, (b"X-Mine", b"1"), at=AT + 5, original=original)
    assert second.kind == "revisit"
    capture = find("second")
    assert capture.kind == "revisit"
    assert capture.payload == PAGE
    assert capture.header_block.get("x-mine") == "1"
    assert capture.original_url == "http://example.org/first"
    assert capture.original_at == pytest.approx(AT, abs=1e-6)
    assert capture.problems == ()


def test_an_unchanged_page_has_the_headers_it_was_once_sent_with(crawl, find):
    first = crawl.fetch("page", PAGE, (b"X-First", b"1"))
    original = Original("http://example.org/page", AT, first.payload_digest)
    crawl.fetch("page", b"", at=AT + DAY, status=b"304 Not Modified", original=original)
    capture = find("page")
    assert (capture.kind, capture.status) == ("revisit", 200)
    assert capture.payload == PAGE
    assert capture.header_block.get("x-first") == "1"
    assert capture.fetched_at == pytest.approx(AT + DAY, abs=1e-6)


def test_a_copy_of_nothing_gives_way_to_what_can_be_read(crawl, find):
    lost = Original("http://example.org/lost", AT, "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
    crawl.fetch("page", b"old", at=AT - DAY)
    crawl.fetch("page", b"", status=b"304 Not Modified", original=lost)
    crawl.fetch("alone", b"", status=b"304 Not Modified", original=lost)
    assert find("page").payload == b"old"
    assert find("alone").problems == ("no-original",)


def test_revisits_in_a_circle_end(crawl, find):
    for here, there in (("a", "b"), ("b", "a")):
        digest = "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        original = Original(f"http://example.org/{there}", AT, digest)
        crawl.fetch(here, b"", status=b"304 Not Modified", original=original)
    assert find("a").problems == ("no-original",)


def test_a_table_that_does_not_fit_the_files_is_not_believed(crawl, tmp_path):
    stored = crawl.fetch("page")
    other = crawl.fetch("other", b"other")
    crawl.files.close()
    table = crawl.table
    key = dated_key(fingerprint("http://example.org/page"), AT)
    for entry in (
        Entry("response", AT, other.file, other.offset, other.length, ""),
        Entry("response", AT, other.file, other.offset + 1, other.length, ""),
        Entry("response", AT, "../../etc/passwd.warc.gz", 0, 1, ""),
        Entry("response", AT, stored.file, 1 << 60, 1, ""),
    ):
        table.rows[key] = pack(entry)
        assert get(crawl.folder, "http://example.org/page", table=table).payload == PAGE
    table.rows[key] = b"junk"
    assert get(crawl.folder, "http://example.org/page", table=table).payload == PAGE


def test_pages_are_found_while_the_file_is_still_open(crawl, find):
    crawl.fetch("page")
    assert [path.name.endswith(".open") for path in crawl.folder.iterdir()] == [True]
    assert find("page").payload == PAGE
    crawl.files.close()
    assert find("page").payload == PAGE


ENCODED = {
    "gzip": zlib.compress(PAGE, 6, 31),
    "x-gzip": zlib.compress(PAGE[:100], 6, 31) + zlib.compress(PAGE[100:], 6, 31),
    "deflate": zlib.compress(PAGE),
    "Deflate": zlib.compress(PAGE, 6, -15),
    "br": brotli.compress(PAGE),
    "zstd": zstandard(PAGE),
    "identity": PAGE,
    "deflate, gzip": zlib.compress(zlib.compress(PAGE), 6, 31),
}


@pytest.mark.parametrize("encoding", ENCODED)
@pytest.mark.parametrize("chunked", [False, True])
def test_every_encoding_of_the_web_is_decoded(crawl, encoding, chunked):
    headers = [(b"Content-Encoding", encoding.encode())]
    if chunked:
        headers.append((b"Transfer-Encoding", b"chunked"))
    crawl.fetch("page", ENCODED[encoding], *headers)
    capture = get(crawl.folder, "http://example.org/page")
    assert capture.payload == ENCODED[encoding]
    assert capture.body() == (PAGE, ())


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_broken_and_boundless_bodies_give_what_can_be_had(encoding):
    body, problems = decode_content(ENCODED[encoding][:-6], [encoding], 1 << 20)
    assert problems == ("broken-encoding",)
    assert body == ENCODED[encoding][:-6] or PAGE.startswith(body)
    assert decode_content(b"plain text", [encoding], 100) == (b"plain text", ("broken-encoding",))
    body, problems = decode_content(ENCODED[encoding], [encoding], 100)
    assert (body, problems) == (PAGE[:100], ("content-too-large",))


def test_a_bomb_is_not_inflated():
    zeros = bytes(1 << 20)
    bombs = {
        "gzip": zlib.compress(zeros * 50, 9, 31),
        "br": brotli.compress(zeros * 20, quality=1),
        "zstd": zstandard(zeros * 20),
    }
    for encoding, bomb in bombs.items():
        body, problems = decode_content(bomb, [encoding], 1 << 20)
        assert (len(body), problems) == (1 << 20, ("content-too-large",))


def test_odd_encodings_are_named():
    assert decode_content(b"x", ["rot13"], 9) == (b"x", ("unknown-encoding",))
    assert decode_content(b"x", ["gzip"] * 50, 9) == (b"x", ("too-many-encodings",))
    assert decode_content(b"", ["gzip"], 9) == (b"", ())


@settings(max_examples=300)
@given(st.binary(max_size=300), st.sampled_from(["gzip", "deflate", "br", "zstd"]))
def test_no_body_makes_decoding_raise(body, encoding):
    decode_content(body, [encoding], 1000)
    good = ENCODED[encoding]
    decode_content(good[: len(good) // 2] + body, [encoding], 10_000)


@given(st.binary(max_size=200))
@example(b"ffffffffffff\r\nx")
@example(b"0\r\n")
@example(b"-1\r\nx\r\n")
@example(b"1_0\r\n" + b"x" * 16)
def test_no_frame_makes_unchunking_raise(data):
    plain, _ = unchunk(data)
    assert len(plain) <= len(data)
    assert unchunk(b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data)) == (data, True)


def test_frames_of_others_are_read_too():
    assert unchunk(b"3;a=b\r\nabc\r\n02\r\nde\r\n0\r\nTrailer: x\r\n\r\n") == (b"abcde", True)
    assert unchunk(b"3\r\nabc\r\n9\r\nde") == (b"abcde", False)
    assert unchunk(b"<html>never chunked") == (b"<html>never chunked", False)


def test_header_blocks_of_odd_servers():
    block = parse_header_block(b"HTTP/1.0 200\nA: 1\n folded\nB:2\nnonsense\n\nbody\r\n\r\n")
    assert block.status == 200
    assert block.headers == ((b"A", b"1 folded"), (b"B", b"2"), (b"nonsense", b""))
    assert block.length == len(b"HTTP/1.0 200\nA: 1\n folded\nB:2\nnonsense\n\n")
    assert parse_header_block(b"HTTP/1.1 200 OK\r\nA: 1\r\n") is None
    assert parse_header_block(b"nonsense\r\n\r\n").status is None
    assert parse_header_block(b"HTTP/1.1 \xb2\xb20 OK\r\n\r\n").status is None


def test_a_page_is_read_up_to_a_limit(crawl):
    crawl.fetch("page", b"x" * 5000)
    reader = ArchiveReader(crawl.folder, limit=1000)
    capture = reader.get("http://example.org/page")
    assert capture.problems == ("page-too-large",)
    assert len(capture.payload) < 1000
    assert set(capture.payload) == {ord("x")}


def test_the_list_tells_every_record(crawl):
    first = crawl.fetch("a")
    original = Original("http://example.org/a", AT, first.payload_digest)
    crawl.fetch("b", PAGE, at=AT + 1, original=original)
    crawl.fetch("c", b"gone", at=AT + 2, status=b"404 Not Found")
    crawl.files.close()
    records = list(list_records(crawl.folder))
    told = [(record.kind, record.url[19:], record.status, record.mime) for record in records]
    pages = [row for row in told if row[0] not in ("warcinfo", "request")]
    assert pages == [
        ("response", "a", 200, "text/html"),
        ("revisit", "b", 200, "text/html"),
        ("response", "c", 404, "text/html"),
    ]
    revisit = next(record for record in records if record.kind == "revisit")
    assert (revisit.refers_to_url, revisit.refers_to_date) == ("http://example.org/a", AT)
    assert revisit.payload_digest == first.payload_digest
    by_file: dict[str, int] = {}
    for record in records:  # without gaps
        assert record.offset == by_file.get(record.file, 0)
        by_file[record.file] = record.offset + record.length
    assert by_file == {path.name: path.stat().st_size for path in crawl.folder.iterdir()}


def test_the_list_of_nothing_is_empty(tmp_path):
    (tmp_path / "a.txt").write_text("no archive")
    assert list(list_records(tmp_path)) == []
    assert list(list_records(tmp_path / "nowhere")) == []


def test_one_read_tells_the_latest_full_response(crawl):
    first = crawl.fetch("page", b"one")
    number = fingerprint("http://example.org/page")
    original = unpack(crawl.table.get(latest_key(number))).original("http://example.org/page")
    assert original == Original("http://example.org/page", AT, first.payload_digest)
    crawl.fetch("page", b"", at=AT + 1, status=b"304 Not Modified", original=original)
    assert unpack(crawl.table.get(latest_key(number))).offset == first.offset
    third = crawl.fetch("page", b"three", at=AT + 2)
    assert unpack(crawl.table.get(latest_key(number))).payload_digest == third.payload_digest
    kinds = [entry.kind for entry in entries(crawl.table.scan(latest_key(number)))]
    assert kinds == ["response", "revisit", "response"]


def test_a_revisit_is_nobodys_original():
    assert Entry("revisit", AT, "a.warc.gz", 0, 1, "sha1:" + "A" * 32).original("u") is None
    assert Entry("response", AT, "a.warc.gz", 0, 1, "").original("u") is None


DIGESTS = st.one_of(
    st.just(""),
    st.binary(min_size=32, max_size=32).map(lambda value: f"sha256:{value.hex()}"),
)


@given(
    st.sampled_from(["response", "revisit", "resource"]),
    st.integers(0, 4_000_000_000_000_000),
    st.from_regex(r"[a-zA-Z0-9._-]{1,40}", fullmatch=True),
    st.integers(0, 2**64 - 1),
    st.integers(0, 2**32 - 1),
    DIGESTS,
)
def test_entries_are_packed_and_unpacked(kind, time, name, offset, length, digest):
    entry = Entry(kind, time / 1_000_000, name + ".warc.gz", offset, length, digest)
    assert unpack(pack(entry)) == entry


@given(st.binary(max_size=80))
def test_any_bytes_are_an_entry_or_none(value):
    unpack(value)
    assert unpack(None) is None


@given(st.integers(0, 4_000_000_000_000_000))
def test_dates_are_exact_to_the_microsecond(time):
    text = warc_date(time / 1_000_000)
    assert round(parse_warc_date(text) * 1_000_000) == time
    assert warc_date(parse_warc_date(text)) == text


@pytest.mark.parametrize("time", [-5.0, 1e300, 253_402_300_800.0])
def test_impossible_times_are_written_as_possible_ones(time):
    assert parse_warc_date(warc_date(time)) is not None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-05-01T12:20:00Z", 1714566000.0),
        ("20240501122000", 1714566000.0),
        ("2024-05-01", 1714521600.0),
        ("202405", 1714521600.0),
        ("2024", 1704067200.0),
        ("1999-13-01", None),
        ("yesterday", None),
        ("٢٠٢٤", None),
        ("", None),
    ],
)
def test_times_as_people_type_them(text, expected):
    assert parse_moment(text) == expected
