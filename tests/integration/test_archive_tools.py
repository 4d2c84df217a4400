"""The field's own tools read what is written: `warcio check`, fastwarc, and gzip."""

from __future__ import annotations

import random
import subprocess
import sys
import zlib

import brotli
import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator as WarcioIterator

from webcrawler.archive import Exchange, Message, Original, WarcFiles, check

AT = 1714566000.25
REQUEST = Message(b"GET / HTTP/1.1", [(b"Host", b"example.org"), (b"User-Agent", b"me")])
HTML = (b"Content-Type", b"text/html")
CHUNKED = (b"Transfer-Encoding", b"chunked")
#: warcio decodes brotli only with the older package of that name, brotlipy, and fails with the
#: one Scrapy brings (webrecorder/warcio#73). Without either it takes the body as it is.
WARCIO = "import sys; sys.modules['brotli'] = None; from warcio.cli import main; main()"


def write_everything(folder, **options) -> None:
    """Every kind of record, over several files."""
    archive = WarcFiles(folder, max_bytes=60_000, settings={"DEPTH_LIMIT": 2}, **options)
    dice = random.Random(3)
    number = 0

    def write(body: bytes, *headers, status=b"200 OK", original=None, truncated=""):
        nonlocal number
        number += 1
        response = Message(b"HTTP/1.1 " + status, [HTML, *headers], body)
        url = f"http://example.org/{number}?a=1&b=%20"
        what = Exchange(url, AT + number, response, REQUEST, "2001:db8::1", truncated, original)
        return url, AT + number, archive.write(what)

    for size in (0, 1, 100, 20_000):
        for headers in ((), (CHUNKED,)):
            body = dice.randbytes(size)
            url, at, stored = write(body, *headers)
            original = Original(url, at, stored.payload_digest)
            write(body, *headers, original=original)
            write(b"", status=b"304 Not Modified", original=original)
            write(dice.randbytes(50), *headers, original=original)
            write(body, *headers, truncated="length")
    page = b"<p>a page</p>" * 1000
    encoded = {
        b"gzip": zlib.compress(page, 6, 31),
        b"deflate": zlib.compress(page),
        b"br": brotli.compress(page),
        b"nonsense": page,
    }
    for encoding, body in encoded.items():
        for headers in ((), (CHUNKED,)):
            write(body, (b"Content-Encoding", encoding), *headers)
            write(body[:-20], (b"Content-Encoding", encoding), *headers, truncated="disconnect")
    write(b"", (b"Location", b"/x"), status=b"301 Moved")
    write(b"", status=b"204 No Content")
    write(b"5\r\nhello\r\n0\r\n\r\n")
    write(b"x", (b"X-Odd", b"\xff\x00\r\n\r\n<p>"))
    archive.close()


@pytest.fixture(params=[("sha1", 2), ("sha256", 6)], ids=["sha1", "sha256"])
def folder(request, tmp_path):
    digest, level = request.param
    write_everything(tmp_path, digest=digest, level=level)
    return tmp_path


def test_warcio_check_finds_nothing_wrong(folder):
    paths = sorted(map(str, folder.iterdir()))
    assert len(paths) > 1
    done = subprocess.run(
        [sys.executable, "-c", WARCIO, "check", "-v", *paths],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "fail" not in done.stdout
    assert "WARNING" not in done.stderr
    # Records of broken encodings are not read to their end by warcio, and so not compared.
    assert done.stdout.count("digest pass") > 100


def test_warcio_check_would_find_something(folder):
    """The test above could not fail if the tool did not look."""
    path = min(folder.iterdir())
    data = bytearray(path.read_bytes())
    first = next(iter(FastIterator(str(path)))).content_length
    record = zlib.decompressobj(31).decompress(bytes(data))
    assert first
    spoiled = record.replace(b"software", b"softwore")
    path.write_bytes(zlib.compress(spoiled, 6, 31))
    done = subprocess.run([sys.executable, "-c", WARCIO, "check", str(path)], check=False)
    assert done.returncode == 1
    assert check(folder).problem_counts["block-digest"] == 1


def test_gzip_finds_nothing_wrong(folder):
    subprocess.run(["gzip", "-t", *map(str, folder.iterdir())], check=True)


def test_warcio_and_fastwarc_agree(folder):
    for path in folder.iterdir():
        with path.open("rb") as file:
            slow = []
            for record in WarcioIterator(file):
                raw = record.raw_stream.read()
                head = tuple((n.lower(), v) for n, v in record.rec_headers.headers)
                status = record.http_headers.get_statuscode() if record.http_headers else None
                slow.append((head, status if record.rec_type != "request" else None, raw))
        fast = []
        for record in FastIterator(str(path), parse_http=False):
            assert record.verify_block_digest()
            head = tuple((n.lower(), v) for n, v in record.headers.items())
            is_message = record.is_http and record.content_length > 0
            if is_message:
                record.parse_http()
            status = None
            if is_message and record.headers["WARC-Type"] != "request":
                status = str(record.http_headers.status_code)
            if record.headers["WARC-Type"] == "response":
                assert record.verify_payload_digest()
            fast.append((head, status, record.reader.read() if record.content_length else b""))
        assert slow == fast


def test_our_own_check_agrees(folder):
    report = check(folder)
    assert report.is_sound, report.problems
    assert report.records["revisit"] == 15
    assert report.records["metadata"] == 8
