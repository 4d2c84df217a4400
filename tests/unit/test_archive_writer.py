"""The writer: where records end up, when their pages are told, and what a full disk does."""

from __future__ import annotations

import asyncio
import gzip
import os
import re
import subprocess
import sys
import threading

import pytest

from webcrawler.archive import ArchiveWriter, Exchange, Message, WarcFiles, check, list_records
from webcrawler.exceptions import SettingError, StoreError

AT = 1714566000.5


def exchange(name: str = "", body: bytes = b"page") -> Exchange:
    response = Message(b"HTTP/1.1 200 OK", [(b"Content-Type", b"text/html")], body)
    request = Message(b"GET / HTTP/1.1", [(b"Host", b"example.org")])
    return Exchange(f"http://example.org/{name}", AT, response, request)


def files(folder, **more) -> WarcFiles:
    return WarcFiles(folder, clock=lambda: AT, **more)


def names(folder) -> list[str]:
    return sorted(os.listdir(folder))


def test_a_file_is_open_until_it_is_closed(tmp_path):
    archive = files(tmp_path, prefix="my crawl/1", worker="host:7")
    stored = archive.write(exchange())
    final = "my_crawl_1-20240501122000500-00001-host_7.warc.gz"
    assert stored.file == final
    assert names(tmp_path) == [final + ".open"]
    archive.close()
    assert names(tmp_path) == [final]
    archive.close()


def test_a_record_lies_where_it_is_said_to(tmp_path):
    archive = files(tmp_path)
    places = {archive.write(exchange(str(n), b"page %d" % n)) for n in range(5)}
    archive.close()
    listed = {
        (record.file, record.offset, record.length)
        for record in list_records(tmp_path)
        if record.kind == "response"
    }
    assert listed == {(place.file, place.offset, place.length) for place in places}


def test_files_are_rotated_by_size_and_each_begins_with_its_own_info(tmp_path):
    archive = files(tmp_path, max_bytes=3000, settings={"DEPTH_LIMIT": 3}, software="me/1")
    for number in range(12):
        archive.write(exchange(str(number), os.urandom(500)))
    archive.close()
    paths = sorted(tmp_path.iterdir())
    assert len(paths) > 2
    assert all(path.stat().st_size <= 3000 for path in paths)
    records = list(list_records(tmp_path))
    assert [record.kind for record in records if record.offset == 0] == ["warcinfo"] * len(paths)
    assert sum(record.kind == "response" for record in records) == 12
    serials = [re.search(r"-(\d{5})-1\.warc\.gz$", path.name)[1] for path in paths]
    assert serials == [f"{number:05d}" for number in range(1, len(paths) + 1)]


def test_a_record_larger_than_a_file_gets_one_of_its_own(tmp_path):
    archive = files(tmp_path, max_bytes=100)
    archive.write(exchange("a", os.urandom(1000)))
    archive.write(exchange("b", os.urandom(1000)))
    archive.close()
    assert len(names(tmp_path)) == 2
    assert check(tmp_path).is_sound


def test_no_file_is_written_over(tmp_path):
    for _ in range(3):
        archive = files(tmp_path)
        archive.write(exchange())
        archive.close()
    kept = files(tmp_path)
    kept.write(exchange())  # not closed: as if killed
    again = files(tmp_path)
    again.write(exchange())
    again.close()
    assert len(names(tmp_path)) == 5


def test_nothing_written_leaves_no_file(tmp_path):
    files(tmp_path / "new").close()
    assert names(tmp_path / "new") == []


def test_hostname_is_only_told_when_given(tmp_path):
    for hostname in ("", "crawler.example.org"):
        archive = files(tmp_path / (hostname or "none"), hostname=hostname, settings={"A": "b"})
        archive.write(exchange())
        archive.close()
        (path,) = (tmp_path / (hostname or "none")).iterdir()
        text = gzip.decompress(path.read_bytes())
        assert b"setting-A: b\r\n" in text
        assert (b"hostname: crawler.example.org\r\n" in text) is bool(hostname)


@pytest.mark.parametrize(
    "wrong", [{"level": 0}, {"level": 10}, {"max_bytes": 0}, {"digest": "crc"}]
)
def test_wrong_values_are_named(tmp_path, wrong):
    with pytest.raises(SettingError, match="ARCHIVE_"):
        files(tmp_path, **wrong)


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot make the archive's folder .*file"):
        files(tmp_path / "file")


def test_pages_are_told_in_order_when_they_are_written(tmp_path):
    async def crawl():
        writer = ArchiveWriter(files(tmp_path))
        futures = [writer.append(exchange(str(n), b"%d" % n * 100)) for n in range(50)]
        assert writer.pending == 50
        stored = [await future for future in futures]
        sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
        # Written means that the system has it, under whatever name the file still has.
        last = max(stored, key=lambda place: place.offset)
        assert sizes[last.file + ".open"] >= last.offset + last.length
        assert writer.pending == writer.pending_bytes == 0
        await writer.close()
        await writer.close()
        return stored

    stored = asyncio.run(crawl())
    assert [place.offset for place in stored] == sorted(place.offset for place in stored)
    report = check(tmp_path)
    assert report.is_sound
    assert report.records["response"] == 50


def test_close_writes_what_is_queued(tmp_path):
    async def crawl():
        writer = ArchiveWriter(files(tmp_path))
        futures = [writer.append(exchange(str(n))) for n in range(20)]
        await writer.close()
        assert all(future.done() for future in futures)
        with pytest.raises(StoreError, match="closed"):
            writer.append(exchange())

    asyncio.run(crawl())
    assert check(tmp_path).records["response"] == 20
    assert all(name.endswith(".warc.gz") for name in names(tmp_path))


def test_closing_an_unused_writer_is_nothing(tmp_path):
    asyncio.run(ArchiveWriter(files(tmp_path)).close())
    assert names(tmp_path) == []


class Gate:
    """Files that write nothing before they are let."""

    def __init__(self, inner: WarcFiles) -> None:
        self.inner = inner
        self.open = threading.Event()

    def write(self, what):
        assert self.open.wait(30)
        return self.inner.write(what)

    def close(self):
        self.inner.close()


def test_a_full_queue_says_so_and_room_waits(tmp_path):
    async def crawl():
        gate = Gate(files(tmp_path))
        writer = ArchiveWriter(gate, queue_bytes=50_000)
        await writer.room()
        futures = []
        while not writer.full:
            futures.append(writer.append(exchange(str(len(futures)), b"x" * 10_000)))
        assert len(futures) == 4
        waiting = [asyncio.ensure_future(writer.room()) for _ in range(3)]
        await asyncio.sleep(0)
        assert not any(waiter.done() for waiter in waiting)
        waiting[0].cancel()
        gate.open.set()
        await asyncio.gather(*waiting[1:], *futures)
        assert not writer.full
        await writer.close()

    asyncio.run(crawl())


def test_a_cancelled_page_does_no_harm(tmp_path):
    async def crawl():
        gate = Gate(files(tmp_path))
        writer = ArchiveWriter(gate)
        first, second = writer.append(exchange("a")), writer.append(exchange("b"))
        first.cancel()
        gate.open.set()
        assert (await second).kind == "response"
        await writer.close()

    asyncio.run(crawl())
    assert check(tmp_path).records["response"] == 2


class Broken:
    """Files that fail from the third record on, in a way nobody foresaw or in one they did."""

    def __init__(self, inner: WarcFiles, error: Exception) -> None:
        self.inner, self.error, self.count = inner, error, 0

    def write(self, what):
        self.count += 1
        if self.count > 2:
            raise self.error
        return self.inner.write(what)

    def close(self):
        self.inner.close()


@pytest.mark.parametrize("error", [StoreError("no space left"), ZeroDivisionError("a fault")])
def test_after_a_failure_everybody_is_told_and_nothing_hangs(tmp_path, error):
    async def crawl():
        writer = ArchiveWriter(Broken(files(tmp_path), error), queue_bytes=1)
        futures = [writer.append(exchange(str(n))) for n in range(6)]
        room = asyncio.ensure_future(writer.room())
        results = await asyncio.gather(*futures, return_exceptions=True)
        assert [isinstance(result, StoreError) for result in results] == [False] * 2 + [True] * 4
        assert re.search("no space left|a fault", str(results[-1]))
        await room
        with pytest.raises(StoreError, match=r"no space left|a fault"):
            writer.append(exchange())
        await writer.close()

    asyncio.run(asyncio.wait_for(crawl(), 30))
    assert check(tmp_path).records["response"] == 2
    assert check(tmp_path).is_sound


FULL_DISK = """
import asyncio, os, resource, signal, sys
from webcrawler.archive import ArchiveWriter, Exchange, Message, WarcFiles
from webcrawler.exceptions import StoreError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

async def crawl():
    writer = ArchiveWriter(WarcFiles(sys.argv[1]))
    for number in range(100):
        response = Message(b"HTTP/1.1 200 OK", [], os.urandom(7_000))
        try:
            await writer.append(Exchange(f"http://example.org/{number}", 1e9, response))
        except StoreError as error:
            print(number, error)
            break
    await writer.close()

asyncio.run(asyncio.wait_for(crawl(), 60))
"""


def test_a_file_that_cannot_grow_keeps_its_whole_records(tmp_path):
    """The operating system takes half of a record and refuses the rest, as a full disk does."""
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    written, _, message = done.stdout.strip().partition(" ")
    assert re.fullmatch(r"cannot write to the archive file .*\.open: File too large", message)
    assert int(written) > 5
    assert all(name.endswith(".warc.gz") for name in names(tmp_path))
    report = check(tmp_path)
    assert report.is_sound
    assert report.records["response"] == int(written)
