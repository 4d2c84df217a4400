"""Records: what is written, and that the field's two readers read it as it was meant."""

from __future__ import annotations

import io
import re
import zlib

import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from hypothesis import example, given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator as WarcioIterator

from webcrawler.archive import compression
from webcrawler.archive.compression import compress_member, member_length
from webcrawler.archive.digests import hasher, label, parse_label
from webcrawler.archive.exchange import Exchange, Message, Original
from webcrawler.archive.record import (
    IDENTICAL,
    NOT_MODIFIED,
    build,
    build_info,
    header_block,
    is_chunked,
    record_id,
    target_url,
)

URL = "http://example.org/page"
AT = 1714566000.123456
PAGE = b"<html><body>a page</body></html>"
REQUEST = Message(b"GET /page HTTP/1.1", [(b"Host", b"example.org"), (b"Accept", b"*/*")])
HTML = (b"Content-Type", b"text/html")
CHUNKED = (b"Transfer-Encoding", b"chunked")


def exchange(body=PAGE, headers=(HTML,), status=b"200 OK", **more) -> Exchange:
    return Exchange(URL, AT, Message(b"HTTP/1.1 " + status, headers, body), **more)


def built(what: Exchange, algorithm: str = "sha1"):
    return build(what, algorithm, hasher(algorithm))


def fields_of(record: bytes) -> dict[str, str]:
    head = record.partition(b"\r\n\r\n")[0].decode()
    version, *lines = head.split("\r\n")
    assert version == "WARC/1.1"
    return dict(line.split(": ", 1) for line in lines)


def block_of(record: bytes) -> bytes:
    length = int(fields_of(record)["Content-Length"])
    block = record.partition(b"\r\n\r\n")[2]
    assert block[length:] == b"\r\n\r\n"
    return block[:length]


def test_a_response_keeps_its_headers_to_the_byte():
    headers = [(b"content-TYPE", b"text/html"), (b"X-\xff", b"\xe9  b"), (b"Set-Cookie", b"a")]
    record = built(exchange(headers=headers)).records[0]
    assert block_of(record) == (
        b"HTTP/1.1 200 OK\r\ncontent-TYPE: text/html\r\nX-\xff: \xe9  b\r\nSet-Cookie: a\r\n\r\n"
        + PAGE
    )


def test_a_response_says_what_is_known_of_it():
    what = exchange(address="192.0.2.7", truncated="length", request=REQUEST)
    response, request = built(what).records
    fields = fields_of(response)
    assert fields["WARC-Type"] == "response"
    assert fields["WARC-Target-URI"] == URL
    assert fields["WARC-Date"] == "2024-05-01T12:20:00.123456Z"
    assert fields["WARC-IP-Address"] == "192.0.2.7"
    assert fields["WARC-Truncated"] == "length"
    assert fields["Content-Type"] == "application/http; msgtype=response"
    assert fields["WARC-Payload-Digest"] == label("sha1", hasher("sha1")(PAGE).digest())
    block = hasher("sha1")(block_of(response)).digest()
    assert fields["WARC-Block-Digest"] == label("sha1", block)
    asked = fields_of(request)
    assert asked["WARC-Type"] == "request"
    assert asked["WARC-Concurrent-To"] == fields["WARC-Record-ID"]
    assert asked["WARC-Record-ID"] != fields["WARC-Record-ID"]
    assert block_of(request) == b"GET /page HTTP/1.1\r\nHost: example.org\r\nAccept: */*\r\n\r\n"


def test_an_unknown_reason_for_cutting_a_body_is_called_unspecified():
    assert (
        fields_of(built(exchange(truncated="bored")).records[0])["WARC-Truncated"] == "unspecified"
    )


@pytest.mark.parametrize(
    ("body", "framed"),
    [(b"hello", b"5\r\nhello\r\n0\r\n\r\n"), (b"", b"0\r\n\r\n"), (b"x" * 300, None)],
)
def test_a_chunked_body_is_put_back_into_one_chunk(body, framed):
    record = built(exchange(body, [HTML, CHUNKED])).records[0]
    payload = block_of(record).partition(b"\r\n\r\n")[2]
    assert payload == (framed or b"12c\r\n" + body + b"\r\n0\r\n\r\n")
    assert b"Transfer-Encoding: chunked\r\n" in record
    digest = label("sha1", hasher("sha1")(payload).digest())
    assert fields_of(record)["WARC-Payload-Digest"] == digest


@pytest.mark.parametrize(
    ("value", "expected"),
    [(b"chunked", True), (b"Chunked ", True), (b"gzip, chunked", True), (b"chunked, gzip", False),
     (b"identity", False), (b"", False)],
)  # fmt: skip
def test_only_the_last_transfer_coding_counts(value, expected):
    assert is_chunked([(b"TRANSFER-encoding", value)]) is expected


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified", b"103 Early Hints"])
def test_what_has_no_body_gets_no_chunk(status):
    record = built(exchange(b"", [CHUNKED], status)).records[0]
    assert block_of(record).endswith(b"chunked\r\n\r\n")


def test_the_answer_to_head_gets_no_chunk():
    what = exchange(b"", [CHUNKED], request=Message(b"HEAD / HTTP/1.1"))
    assert block_of(built(what).records[0]).endswith(b"chunked\r\n\r\n")


def test_the_same_payload_becomes_a_revisit():
    first = built(exchange())
    original = Original("http://example.org/first", AT - 60, first.payload_digest)
    again = built(exchange(original=original, truncated="length"))
    fields = fields_of(again.records[0])
    assert again.kind == fields["WARC-Type"] == "revisit"
    assert fields["WARC-Profile"] == IDENTICAL
    assert fields["WARC-Refers-To-Target-URI"] == "http://example.org/first"
    assert fields["WARC-Refers-To-Date"] == "2024-05-01T12:19:00.123456Z"
    assert fields["WARC-Payload-Digest"] == first.payload_digest == again.payload_digest
    assert "WARC-Truncated" not in fields
    assert block_of(again.records[0]) == b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"


def test_another_payload_is_stored_in_full_whatever_it_is_said_to_copy():
    original = Original(
        "http://example.org/first", AT - 60, built(exchange(b"other")).payload_digest
    )
    stored = built(exchange(original=original))
    assert stored.kind == "response"
    assert block_of(stored.records[0]).endswith(PAGE)
    assert fields_of(stored.records[0])["X-Duplicate-Of"] == "http://example.org/first"


def test_an_empty_body_is_no_copy_of_anything():
    empty = built(exchange(b""))
    assert (
        built(exchange(b"", original=Original(URL, AT - 1, empty.payload_digest))).kind
        == "response"
    )


def test_an_unchanged_page_becomes_a_revisit_and_the_answer_is_kept_beside_it():
    original = Original(URL, AT - 60, "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
    stored = built(
        exchange(b"", [(b"ETag", b'"x"')], b"304 Not Modified", original=original, request=REQUEST)
    )
    revisit, request, beside = stored.records
    fields = fields_of(revisit)
    assert stored.kind == "revisit"
    assert stored.payload_digest == fields["WARC-Payload-Digest"] == original.payload_digest
    assert fields["WARC-Profile"] == NOT_MODIFIED
    assert block_of(revisit) == b""
    assert fields_of(request)["WARC-Concurrent-To"] == fields["WARC-Record-ID"]
    assert fields_of(beside)["WARC-Type"] == "metadata"
    assert fields_of(beside)["WARC-Concurrent-To"] == fields["WARC-Record-ID"]
    assert block_of(beside) == b'http-status-line: HTTP/1.1 304 Not Modified\r\nETag: "x"\r\n'


def test_a_304_of_a_page_nobody_knows_is_an_ordinary_response():
    assert built(exchange(b"", (), b"304 Not Modified")).kind == "response"


def test_headers_cannot_end_their_block_early():
    block = header_block(Message(b"HTTP/1.1 200 O\nK", [(b"A", b"1\r\n\r\n<p>"), (b"B\r", b"2")]))
    assert block == b"HTTP/1.1 200 O K\r\nA: 1    <p>\r\nB : 2\r\n\r\n"


def test_a_message_without_a_start_line_is_refused():
    with pytest.raises(ValueError, match="start line"):
        header_block(Message(b""))


@pytest.mark.parametrize(
    ("url", "written"),
    [
        ("http://example.org/a?b=%20&c#d", "http://example.org/a?b=%20&c#d"),
        ("http://example.org/a b", "http://example.org/a%20b"),
        ("http://example.org/é", "http://example.org/%C3%A9"),
        ("http://example.org/a\r\nX: y", "http://example.org/a%0D%0AX:%20y"),
        ("http://example.org/\ud800", "http://example.org/%ED%A0%80"),
    ],
)
def test_a_target_url_is_visible_ascii(url, written):
    assert target_url(url) == written


def test_record_identifiers_are_random_uuids():
    identifiers = {record_id() for _ in range(100)}
    assert len(identifiers) == 100
    form = r"<urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}>"
    assert all(re.fullmatch(form, identifier) for identifier in identifiers)


def test_the_info_record_tells_a_field_a_line():
    info = {"software": "webcrawler/1", "setting-A B": 3, "setting-C": "x\r\nevil: yes"}
    record = build_info("name.warc.gz", AT, info, "sha256", hasher("sha256"))
    fields = fields_of(record)
    assert fields["WARC-Type"] == "warcinfo"
    assert fields["WARC-Filename"] == "name.warc.gz"
    assert fields["WARC-Block-Digest"].startswith("sha256:")
    assert block_of(record).decode() == (
        "software: webcrawler/1\r\nsetting-A-B: 3\r\nsetting-C: x  evil: yes\r\n"
    )


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_a_label_can_be_read_back(algorithm):
    value = hasher(algorithm)(b"x").digest()
    assert parse_label(label(algorithm, value)) == (algorithm, value)
    assert parse_label(f"{algorithm}:{value.hex().upper()}") == (algorithm, value)


@given(st.text(max_size=80))
@example("sha1:====")
@example("sha1:" + "é" * 32)
@example("sha-256:" + "0" * 64)
def test_any_label_is_read_or_refused(text):
    found = parse_label(text)
    assert found is None or found[0] in ("sha1", "sha256", "md5", "sha512")


@pytest.mark.parametrize("level", [1, 2, 3, 4, 6, 9])
def test_a_member_says_how_long_it_is(level):
    member = compress_member(PAGE * 100, level)
    assert member_length(member) == len(member)
    assert member_length(member[:20]) == 0
    assert member_length(b"\x1f\x8b\x08\x00" + member[4:]) == 0


HEADER_BYTES = st.binary(max_size=20)
NAMES = st.from_regex(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,20}", fullmatch=True).filter(
    lambda name: name.lower() not in (b"content-encoding", b"transfer-encoding", b"content-length")
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(NAMES, HEADER_BYTES), max_size=5),
    st.binary(max_size=200),
    st.booleans(),
    st.sampled_from(["sha1", "sha256"]),
    st.integers(1, 9),
)
@example([], b"5\r\nhello\r\n0\r\n\r\n", True, "sha1", 2)
@example([], b"5\r\nhello\r\n0\r\n\r\n", False, "sha1", 2)
@example([(b"a", b"\r\n\r\n")], b"", True, "sha1", 2)
def test_warcio_and_fastwarc_read_the_same_page(headers, body, chunked, algorithm, level):
    sent = [*headers, CHUNKED] if chunked else headers
    stored = built(exchange(body, sent, request=REQUEST), algorithm)
    archive = b"".join(compress_member(record, level) for record in stored.records)

    slow = WarcioIterator(io.BytesIO(archive), check_digests="raise")
    kinds = []
    for record in slow:
        kinds.append(record.rec_type)
        content = record.content_stream().read()
        if record.rec_type == "response":
            assert content == body
            assert record.digest_checker.passed
            assert record.http_headers.get_statuscode() == "200"
    assert kinds == ["response", "request"]
    assert slow.err_count == 0

    offsets = []
    for record in FastIterator(io.BytesIO(archive), parse_http=False):
        offsets.append(record.stream_pos)
        assert record.verify_block_digest()
        record.parse_http()
        if record.headers["WARC-Type"] == "response":
            assert record.verify_payload_digest()
    assert offsets == [0, len(compress_member(stored.records[0], level))]
    response = next(iter(FastIterator(io.BytesIO(archive), auto_decode="all")))
    assert response.reader.read() == body
    assert response.http_headers.status_code == 200


def test_without_the_fast_library_members_are_written_all_the_same(monkeypatch):
    data = PAGE * 1000
    fast = compress_member(data, 2)
    monkeypatch.setattr(compression, "_fast", None)
    slow = compress_member(data, 2)
    assert zlib.decompress(fast, 31) == zlib.decompress(slow, 31) == data
    assert compression.decompressor().decompress(fast) == data
