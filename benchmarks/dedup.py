"""What recognising duplicates costs, side by side with datasketch used as it comes.

    python benchmarks/dedup.py sketch            checksum, words, shingles, sketch of one page
    python benchmarks/dedup.py store             pages until a million sketches are stored
    python benchmarks/dedup.py store --pages 100000 --memory 64

`store` fills RocksDB through the test itself, one commit a page, one page in ten a near-duplicate
of an earlier one and therefore not stored, and prints time and resident memory as the store
grows; CPU is that of the thread itself, without compaction and without waiting on a busy
machine. Its peer is datasketch's MinHashLSH with the same bands, which keeps everything in
memory, in a process of its own.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import timeit
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from datasketch import MinHash, MinHashLSH
from rocksdict import (
    BlockBasedIndexType,
    BlockBasedOptions,
    Cache,
    DBCompressionType,
    Options,
    Rdict,
    WriteBatch,
)

from webcrawler.dedup import BANDS, SKETCHES, NearDuplicates, content_digest, pack, run
from webcrawler.tables import Batch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MEBIBYTE = 1 << 20


# One page


def prose(words: int, alphabet: str, joiner: str = " ", seed: int = 1) -> str:
    """A text whose words are as unevenly frequent as those of a language."""
    generator = random.Random(seed)
    vocabulary = [
        "".join(generator.choices(alphabet, k=generator.randint(2, 9))) for _ in range(5000)
    ]
    ranks = (min(int(generator.paretovariate(0.8)), 4999) for _ in range(words))
    return joiner.join(vocabulary[rank] + ("," if rank % 9 == 0 else "") for rank in ranks)


def microseconds(action: Callable[[], object], times: int = 20) -> float:
    return min(timeit.repeat(action, number=times, repeat=9)) / times * 1e6


def sketch_page(words: int) -> None:
    near = NearDuplicates()
    text = prose(words, "abcdefghijklmnopqrstuvwxyz")
    shingles = near.signer.shingler.shingles(near.signer.shingler.words(text))
    hashes = shingles.tolist()
    template = MinHash(200, seed=1, scheme="affine32")

    def peer_on_hashes() -> Any:
        minhash = MinHash(
            permutations=template.permutations, num_perm=200, scheme="affine32", hashfunc=int
        )
        minhash.update_batch(hashes)
        return minhash.hashvalues

    def peer_on_text() -> None:
        found = re.findall(r"\w+", text.lower())
        minhash = MinHash(permutations=template.permutations, num_perm=200, scheme="affine32")
        minhash.update_batch(" ".join(found[i : i + 4]).encode() for i in range(len(found) - 3))

    if not np.array_equal(near.signer.sketcher.sketch(shingles), peer_on_hashes()):
        sys.exit("the sketch is not datasketch's")
    body = (text * 8)[:100_000].encode()
    print(f"a page of {len(shingles)} shingles, {len(text)} characters; times in microseconds")
    ours = {
        "checksum of 100 kB": microseconds(lambda: content_digest(body, "text/html")),
        "words": microseconds(lambda: near.signer.shingler.words(text)),
        "shingles": microseconds(
            lambda: near.signer.shingler.shingles(near.signer.shingler.words(text))
        ),
        "sketch of the shingles": microseconds(lambda: pack(near.signer.sketcher.sketch(shingles))),
        "all, from text": microseconds(lambda: near.signature(text)),
        "all, Greek": 0.0,
        "all, Chinese": 0.0,
    }
    ours["shingles"] -= ours["words"]
    greek, chinese = (
        prose(words, "αβγδεζηθικλμνξοπρστυφχψω"),
        prose(words, "的一是不了人我在有他", ""),
    )
    ours["all, Greek"] = microseconds(lambda: near.signature(greek))
    ours["all, Chinese"] = microseconds(lambda: near.signature(chinese))
    peers = {
        "sketch of the shingles": ("MinHash.update_batch", microseconds(peer_on_hashes, 5)),
        "all, from text": ("re, join, update_batch", microseconds(peer_on_text, 5)),
    }
    for name, took in ours.items():
        peer, peer_took = peers.get(name, ("", 0.0))
        ratio = f"  {peer} {peer_took:.0f}: {peer_took / took:.1f} times as long" if peer else ""
        print(f"  {name:24} {took:8.1f}{ratio}")


# Many pages


class RocksTables:
    """Column families as tables, with the settings a crawl uses: memory is bounded by `memory`."""

    def __init__(self, folder: str, memory: int) -> None:
        cache = Cache(memory // 2)
        names = (BANDS, SKETCHES)
        self.database = Rdict(
            folder,
            self._options(cache, memory),
            column_families={name: self._options(cache, memory) for name in names},
        )
        self.tables = {name: RocksTable(self.database.get_column_family(name)) for name in names}
        self.handles = {name: self.database.get_column_family_handle(name) for name in names}

    @staticmethod
    def _options(cache: Cache, memory: int) -> Options:
        blocks = BlockBasedOptions()
        blocks.set_block_cache(cache)
        blocks.set_cache_index_and_filter_blocks(True)
        blocks.set_bloom_filter(10, False)
        # The filter of a whole file is some megabytes, more than one of the cache's shards holds:
        # it would be read again for every page. In parts, what is used stays.
        blocks.set_index_type(BlockBasedIndexType.two_level_index_search())
        blocks.set_partition_filters(True)
        blocks.set_metadata_block_size(4096)
        blocks.set_pin_top_level_index_and_filter(True)
        options = Options(raw_mode=True)
        options.create_if_missing(True)
        options.create_missing_column_families(True)
        options.set_block_based_table_factory(blocks)
        options.set_compression_type(DBCompressionType.lz4())
        options.set_write_buffer_size(memory // 4)
        options.set_db_write_buffer_size(memory // 2)
        options.set_max_total_wal_size(memory * 2)
        options.set_max_open_files(512)
        # Most bands are new: without this, each costs a walk down the write buffer as well.
        options.set_memtable_whole_key_filtering(True)
        options.set_memtable_prefix_bloom_ratio(0.1)
        return options

    def table(self, name: str) -> RocksTable:
        return self.tables[name]

    def cached(self) -> float:
        """What the block cache holds, in MiB; it stops growing at half of `memory`."""
        usage = self.tables[BANDS].family.property_int_value("rocksdb.block-cache-usage")
        return (usage or 0) / MEBIBYTE

    def commit(self, batch: Batch) -> None:
        rows = WriteBatch(raw_mode=True)
        for table, key, value in batch.writes:
            if value is None:
                rows.delete(key, self.handles[table])
            else:
                rows.put(key, value, self.handles[table])
        self.database.write(rows)


class RocksTable:
    def __init__(self, family: Rdict) -> None:
        self.family = family
        self.get = family.get

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        values: Any = self.family.get(list(keys))
        return list(values)

    def scan(self, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        raise NotImplementedError


def signature(page: int) -> bytes:
    """A random sketch: all of its bands are its own, as those of unrelated pages are."""
    return np.random.default_rng(page).bytes(400)


def variant(page: int, original: int) -> bytes:
    """A sketch that agrees with another page's on nine values of ten."""
    values = np.frombuffer(signature(original), "<u2").copy()
    generator = np.random.default_rng(page)
    values[generator.choice(200, 20, replace=False)] ^= 1
    return values.tobytes()


def pages(count: int) -> Iterator[tuple[int, int | None, bytes]]:
    """Fingerprint, what it is a near-duplicate of, and signature."""
    generator = random.Random(2)
    for page in range(1, count + 1):
        if page % 10 == 0:
            original = generator.randrange(page // 10) * 10 + 1
            yield page, original, variant(page, original)
        else:
            yield page, None, signature(page)


def resident() -> float:
    """Resident memory in MiB."""
    size = int(Path("/proc/self/statm").read_text().split()[1])
    return size * os.sysconf("SC_PAGE_SIZE") / MEBIBYTE


def fill(count: int, folder: str, memory: int) -> None:
    near = NearDuplicates()
    tables = RocksTables(folder, memory)
    print(
        f"{near.parameters.decode()}; RocksDB with {memory // MEBIBYTE} MiB for caches and buffers"
    )
    print("    stored   µs a page   of it CPU        found  wrong   resident MiB   block cache MiB")
    slice_size = max(count // 10, 1)
    took, worked, expected, found, wrong = 0.0, 0.0, 0, 0, 0
    stored = 0
    slowest: list[float] = []
    for page, original, row in pages(count):
        started_at, working_at = time.perf_counter(), time.thread_time()
        finding = run(tables, near.examine(page, row))
        batch = Batch()
        finding.write(batch)
        tables.commit(batch)
        spent = time.perf_counter() - started_at
        took += spent
        worked += time.thread_time() - working_at
        if page > count - slice_size:
            slowest.append(spent)
        expected += original is not None
        if finding.match is None:
            stored += 1
        else:
            found += finding.match.fingerprint == original
            wrong += finding.match.fingerprint != original
        if page % slice_size == 0:
            share = f"{found}/{expected}"
            print(
                f"{stored:10,} {took / slice_size * 1e6:11.0f} {worked / slice_size * 1e6:11.0f}"
                f" {share:>12} {wrong:6} {resident():14.0f} {tables.cached():17.0f}",
                flush=True,
            )
            took, worked, expected, found, wrong = 0.0, 0.0, 0, 0, 0
    slowest.sort()
    print(
        f"of the last {len(slowest):,}: median {slowest[len(slowest) // 2] * 1e6:.0f} µs, "
        f"99 % below {slowest[len(slowest) * 99 // 100] * 1e6:.0f} µs"
    )
    texts = [prose(2503, "abcdefghijklmnopqrstuvwxyz", seed=seed) for seed in range(500)]
    whole: list[float] = []
    for page, text in enumerate(texts, start=count + 1):
        started_at = time.perf_counter()
        finding = near.find(tables, page, text)
        batch = Batch()
        finding.write(batch)
        tables.commit(batch)
        whole.append(time.perf_counter() - started_at)
    print(
        f"new pages of 2,500 shingles, from the text to the commit: "
        f"median {sorted(whole)[len(whole) // 2] * 1e6:.0f} µs"
    )
    tables.database.flush()
    size = sum(file.stat().st_size for file in Path(folder).iterdir())
    print(f"on disk {size / MEBIBYTE:.0f} MiB: {size / count:.0f} bytes a page")
    tables.database.close()


def fill_peer(count: int) -> None:
    near = NearDuplicates()
    bands = (near.bands.count, near.bands.rows)
    index = MinHashLSH(num_perm=200, params=bands)
    template = MinHash(200, scheme="affine32")
    before, took, found = resident(), 0.0, 0
    for page, original, row in pages(count):
        values = np.frombuffer(row, "<u2").astype(np.uint32)
        minhash = MinHash(hashvalues=values, permutations=template.permutations, scheme="affine32")
        started_at = time.perf_counter()
        candidates = index.query(minhash)
        if not candidates:
            index.insert(page, minhash)
        took += time.perf_counter() - started_at
        found += original in candidates
    grown = resident() - before
    print(
        f"peer, MinHashLSH in memory without verifying, {count:,} pages: "
        f"{took / count * 1e6:.0f} µs a page, found {found}, memory grew by {grown:.0f} MiB: "
        f"{grown * MEBIBYTE / count:.0f} bytes a page, and all is lost at the end"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("sketch", help="one page")
    one.add_argument("--words", type=int, default=2503)
    for name, default in (("store", 1_120_000), ("peer", 100_000)):
        many = commands.add_parser(name, help="many pages")
        many.add_argument("--pages", type=int, default=default)
        many.add_argument("--memory", type=int, default=128, help="MiB for RocksDB")
    arguments = parser.parse_args()
    if arguments.command == "sketch":
        sketch_page(arguments.words)
    elif arguments.command == "peer":
        fill_peer(arguments.pages)
    else:
        with tempfile.TemporaryDirectory(prefix="dedup-") as folder:
            fill(arguments.pages, folder, arguments.memory * MEBIBYTE)
        peer_pages = str(min(arguments.pages, 100_000))
        subprocess.run([sys.executable, __file__, "peer", "--pages", peer_pages], check=True)


if __name__ == "__main__":
    main()
