"""What a URL and a page cost in Redis. Starts a redis-server of its own.

    python benchmarks/shared_memory.py [URLS]

Waiting and known URLs are put, ended ones written as they end. What a page has in the shared
tables (robots.txt, content-seen, sketches and their bands) is read after a crawl of Debian's
python3.11-doc with everything on. Figures go to .bench/shared_memory.json.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import xxhash

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.measure import machine
from benchmarks.serve import PYTHON_DOC, nginx
from tests.redis_server import RedisServer
from webcrawler.frontier.backends.shared.driver import Direct
from webcrawler.frontier.backends.shared.keys import FINGERPRINT
from webcrawler.frontier.backends.shared.store import RedisStore
from webcrawler.frontier.ending import Ending
from webcrawler.frontier.record import Record

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / ".bench/shared_memory.json"
_A_HOST = 200  # waiting URLs a host
_AT_A_TIME = 2000
_PARTITIONS = 16
_EVERYTHING = (
    *("FRONTIER_BACKEND=redis", "FRONTIER_PARTITIONS=1", "POLITENESS_MIN_DELAY=0"),
    *("POLITENESS_LATENCY_FACTOR=0", "ROBOTSTXT_OBEY=0", "LOG_LEVEL=ERROR"),
)


def used(client: Any) -> int:
    return int(client.info("memory")["used_memory"])


def make_records(start: int, end: int) -> list[Record]:
    records = []
    for n in range(start, end):
        host = f"www.site-{n // _A_HOST}.example"
        url = f"https://{host}/articles/{n % _A_HOST}/the-title-of-a-page-{n}.html"
        fingerprint = xxhash.xxh3_64_intdigest(url.encode())
        records.append(Record(url, fingerprint, host, depth=3, via=n, anchor="a link"))
    return records


def frontier_bytes(client: Any, number: int) -> dict[str, float]:
    """Bytes a URL: of its text, waiting beyond that, known, ended with its text."""
    # As many buckets as keep each set about three quarters full.
    buckets = max(1, number // _PARTITIONS // 384)
    store = RedisStore(Direct(client), "memory", partitions=_PARTITIONS, buckets=buckets)
    before, url_bytes, ended = used(client), 0, 0
    for start in range(0, number, _AT_A_TIME):
        records = make_records(start, min(start + _AT_A_TIME, number))
        url_bytes += sum(len(record.url) for record in records)
        store.put(records)
    waiting = used(client) - before - url_bytes
    sets = [key for p in range(_PARTITIONS) for key in client.keys(f"{{memory:{p}}}:seen:*")]
    known = sum(client.memory_usage(key) for key in sets)
    before = used(client)
    for start in range(0, number, _AT_A_TIME):
        pipe = client.pipeline(transaction=False)
        for record in make_records(start, min(start + _AT_A_TIME, number)):
            key = f"{store.keys.tag(store.keys.of_host(record.host))}:pages"
            row = Ending(record, "stored", 1e9, 200, record.fingerprint).pack_row()
            pipe.hset(key, FINGERPRINT.pack(record.fingerprint), row)
        pipe.execute()
    ended = used(client) - before
    found = {"url": url_bytes, "waiting": waiting, "known": known, "ended": ended}
    return {name: size / number for name, size in found.items()}


def scrapy_redis_bytes(client: Any, number: int) -> float:
    before = used(client)
    pipe = client.pipeline()
    for n in range(number):
        pipe.sadd("dupefilter", f"{n:040x}")  # scrapy-redis: a SHA-1 in hexadecimal
    pipe.execute()
    return (used(client) - before) / number


def loose_bytes(client: Any, number: int) -> float:
    """Bytes of a known URL in a set that is too large to be packed."""
    for n in range(number):
        client.sadd("loose", xxhash.xxh3_64_intdigest(b"%d" % n) - (1 << 63))
    return float(client.memory_usage("loose", samples=0)) / number


def table_bytes(server: RedisServer) -> dict[str, float]:
    """Bytes a page of each shared table, of a crawl with everything on."""
    client = server.client()
    with tempfile.TemporaryDirectory() as name, nginx(PYTHON_DOC, 1) as site:
        command = [sys.executable, "-m", "scrapy", "crawl", "site", "-a", f"seeds={site.seeds[0]}"]
        for setting in (*_EVERYTHING, f"REDIS_URL={server.url}", f"JOBDIR={name}/tables"):
            command += ["-s", setting]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        pages = client.hlen("{tables:0}:pages")
    tables = {key.rpartition(b":")[2].decode(): key for key in client.keys("{tables:0}:t:*")}
    return {
        name: client.memory_usage(key, samples=0) / pages for name, key in sorted(tables.items())
    }


def main(number: int) -> None:
    if not PYTHON_DOC.is_dir():
        raise SystemExit(f"{PYTHON_DOC} is not there: apt-get install python3.11-doc")
    where = machine()
    server = RedisServer()
    try:
        found = frontier_bytes(server.client(), number)
        stock = scrapy_redis_bytes(server.client(), number)
        loose = loose_bytes(server.client(), 4000)
        tables = table_bytes(server)
    finally:
        server.close()
    print(f"{where}\n{number:,} URLs of {found['url']:.0f} bytes, {_A_HOST} a host")
    print(f"waiting: {found['waiting']:.1f} bytes a URL beyond the URL itself")
    print(f"known:   {found['known']:.1f} bytes a URL; scrapy-redis's filter {stock:.1f}")
    print(f"         {loose:.1f} bytes in a set of more than 512")
    print(f"ended:   {found['ended']:.1f} bytes a URL, the URL included")
    parts = ", ".join(f"{name} {size:.1f}" for name, size in tables.items())
    print(f"tables:  {sum(tables.values()):.1f} bytes a page with everything on: {parts}")
    OUTPUT.parent.mkdir(exist_ok=True)
    told = {"machine": where, "urls": number, **found, "tables": sum(tables.values())}
    OUTPUT.write_text(json.dumps(told, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
