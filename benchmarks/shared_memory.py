"""What a URL costs in Redis: waiting, and known. Starts a redis-server of its own.

python benchmarks/shared_memory.py [URLS]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import xxhash

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.redis_server import RedisServer
from webcrawler.frontier.backends.shared.driver import Direct
from webcrawler.frontier.backends.shared.store import RedisStore
from webcrawler.frontier.record import Record

_A_HOST = 200  # waiting URLs a host
_AT_A_TIME = 2000


def used(client: Any) -> int:
    return int(client.info("memory")["used_memory"])


def main(number: int) -> None:
    server = RedisServer()
    try:
        client = server.client()
        # As many buckets as keep each set about three quarters full.
        buckets = max(1, number // 16 // 384)
        store = RedisStore(Direct(client), "memory", partitions=16, buckets=buckets)
        before = used(client)
        url_bytes = 0
        for start in range(0, number, _AT_A_TIME):
            records = []
            for n in range(start, min(start + _AT_A_TIME, number)):
                host = f"www.site-{n // _A_HOST}.example"
                url = f"https://{host}/articles/{n % _A_HOST}/the-title-of-a-page-{n}.html"
                fingerprint = xxhash.xxh3_64_intdigest(url.encode())
                records.append(Record(url, fingerprint, host, depth=3, via=n, anchor="a link"))
                url_bytes += len(url)
            store.put(records)
        total = used(client) - before
        queues = [key for p in range(16) for key in client.keys(f"{{memory:{p}}}:seen:*")]
        seen = sum(client.memory_usage(key) for key in queues)
        plain = server.client()
        at = used(plain)
        pipe = plain.pipeline()
        for n in range(number):
            pipe.sadd("dupefilter", f"{n:040x}")  # scrapy-redis: a SHA-1 in hexadecimal
        pipe.execute()
        stock = (used(plain) - at) / number
        print(f"{number:,} URLs of {url_bytes / number:.0f} bytes on {number // _A_HOST:,} hosts")
        print(f"waiting: {(total - url_bytes) / number:.1f} bytes a URL beyond the URL itself")
        print(f"known:   {seen / number:.1f} bytes a URL; scrapy-redis's filter {stock:.1f}")
    finally:
        server.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
