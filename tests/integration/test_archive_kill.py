"""Kill -9 while writing, over and over: nothing is torn, and what was acknowledged is there."""

from __future__ import annotations

import io
import json
import random
import subprocess
import sys
import time
from itertools import count
from typing import TYPE_CHECKING

import pytest
from fastwarc.warc import ArchiveIterator

from webcrawler.archive import ArchiveReader, Entry, check, recover

if TYPE_CHECKING:
    from pathlib import Path

#: Writes pages of random sizes as fast as it can and prints where each lies once it is written.
CRAWL = """
import asyncio, os, random, sys, json
from webcrawler.archive import ArchiveWriter, Exchange, Message, WarcFiles

folder, number = sys.argv[1], sys.argv[2]
dice = random.Random(int(number))
files = WarcFiles(folder, max_bytes=9_000_000, worker=number)

async def fetch(writer, page):
    size = dice.choice((100, 5_000, 100_000, 3_000_000))
    body = random.Random(page).randbytes(size)
    request = Message(b"GET / HTTP/1.1", [(b"Host", b"example.org")])
    response = Message(b"HTTP/1.1 200 OK", [(b"Transfer-Encoding", b"chunked")], body)
    url = f"http://example.org/{number}/{page}"
    stored = await writer.append(Exchange(url, 1e9 + page, response, request))
    line = [url, size, stored.file, stored.offset, stored.length, stored.payload_digest]
    os.write(1, json.dumps(line).encode() + b"\\n")

async def crawl():
    writer = ArchiveWriter(files)
    page = 0
    while True:
        await asyncio.gather(*(fetch(writer, page + n) for n in range(8)))
        page += 8

os.write(1, b"ready\\n")
asyncio.run(crawl())
"""


def crawl_and_kill(folder, number: int, secs: float) -> list[list]:
    """What one crawl acknowledged before it was killed, in the middle of whatever it did."""
    process = subprocess.Popen(
        [sys.executable, "-c", CRAWL, str(folder), str(number)], stdout=subprocess.PIPE
    )
    try:
        assert process.stdout.readline() == b"ready\n"
        time.sleep(secs)
    finally:
        process.kill()
        said = process.stdout.read()
        process.stdout.close()
        assert process.wait() == -9
    # A line that the kill has cut short was not heard by anybody.
    return [json.loads(line) for line in said.split(b"\n")[:-1]]


def kill_many(folder, rounds: int, seed: int) -> None:
    dice = random.Random(seed)
    told: list[list] = []
    torn = 0
    for number in range(rounds):
        told += crawl_and_kill(folder, number, dice.uniform(0.0, 0.4))
        left = [path for path in folder.iterdir() if path.name.endswith(".open")]
        assert len(left) <= 1
        torn += sum(done.cut_bytes > 0 for done in recover(folder))
        assert not any(path.name.endswith(".open") for path in folder.iterdir())

    report = check(folder)
    assert report.is_sound, report.problems
    assert report.records["response"] >= len(told) > rounds
    assert report.records["request"] <= report.records["response"]

    reader = ArchiveReader(folder)
    for url, size, file, offset, length, digest in told:
        page = int(url.rpartition("/")[2])
        capture = reader.read(Entry("response", 1e9 + page, file, offset, length, digest))
        assert capture.url == url
        assert capture.payload == random.Random(page).randbytes(size)
        assert capture.problems == ()

    seen = 0
    for path in folder.iterdir():  # another's reader finds the same
        for record in ArchiveIterator(io.BytesIO(path.read_bytes()), parse_http=False):
            assert record.verify_block_digest()
            seen += 1
    assert seen == report.records.total()
    print(f"{len(told)} acknowledged in {rounds} rounds, {torn} files torn")


def test_a_few_kills(tmp_path):
    kill_many(tmp_path, rounds=12, seed=1)


@pytest.mark.slow
def test_many_kills(tmp_path):
    kill_many(tmp_path, rounds=150, seed=2)


def test_a_kill_while_recovering_is_recovered_from(tmp_path):
    told: list[list] = []
    left: list[Path] = []
    for number in count():  # until it was not killed before the first file, or between two
        told += crawl_and_kill(tmp_path, number, 0.3)
        left = [path for path in tmp_path.iterdir() if path.name.endswith(".open")]
        if left:
            break
    with left[0].open("ab") as file:
        file.write(b"\x1f\x8b\x08 half a record")
    for secs in (0.0, 0.02, 0.05, 0.1):
        recovering = "import sys; from webcrawler.archive import recover; recover(sys.argv[1])"
        process = subprocess.Popen([sys.executable, "-c", recovering, str(tmp_path)])
        time.sleep(secs)
        process.kill()
        process.wait()
    recover(tmp_path)
    report = check(tmp_path)
    assert report.is_sound
    assert report.records["response"] >= len(told)
