"""What links, anchors and the index cost a page, and how fast searches are answered.

    python benchmarks/search.py pages FOLDER              every HTML file below a folder
    python benchmarks/search.py queries --pages 100000    a synthetic collection

`pages` takes a page through its ending, and then does the work of the index's thread, in RocksDB
with zstd blocks. Times are CPU of the thread itself, so that a busy machine disturbs less; what
tantivy's own threads take is shown beside. Its peers are the two other ways to bring anchors to
their targets: reading and writing a row for each target of a page, and writing a row for each link
without reading.

`queries` asks the same questions of SQLite's FTS5, with the same weights of the same fields. CPU
beside the time that passed tells a slow search from a busy machine.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import statistics
import tempfile
import time
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html import HTMLTree
from rocksdict import BlockBasedOptions, DBCompressionType, Options, Rdict, WriteBatch

from webcrawler.index import (
    TABLES,
    Anchor,
    FullTextIndex,
    IndexedPage,
    Indexer,
    IndexJournal,
    IndexReader,
    Inlinks,
    Sequence,
    Source,
    Weights,
    pack_links,
    record_links,
    search,
    site_hash,
    unpack_links,
)
from webcrawler.items import Link
from webcrawler.tables import Batch
from webcrawler.urls import Canonicalizer, normalize

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence as Many

fingerprint = Canonicalizer().fingerprint


class RocksTable:
    """A column family as a side table."""

    def __init__(self, family: Rdict) -> None:
        self.family = family

    def get(self, key: bytes) -> bytes | None:
        return self.family.get(key)

    def get_many(self, keys: Many[bytes]) -> list[bytes | None]:
        return self.family.get(list(keys)) if keys else []

    def scan(self, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        for key, value in self.family.items(from_key=prefix or None):
            if not key.startswith(prefix):
                return
            yield key, value


class Store:
    """Side tables in RocksDB, without the frontier they live with in a crawl."""

    def __init__(self, folder: Path, names: Many[str] = TABLES) -> None:
        def options() -> Options:
            found = Options(raw_mode=True)
            found.create_if_missing(True)
            found.create_missing_column_families(True)
            found.set_compression_type(DBCompressionType.zstd())
            blocks = BlockBasedOptions()
            blocks.set_block_size(16384)
            found.set_block_based_table_factory(blocks)
            return found

        self.db = Rdict(str(folder), options(), column_families={name: options() for name in names})
        self.families = {name: self.db.get_column_family(name) for name in names}
        self.handles = {name: self.db.get_column_family_handle(name) for name in names}
        self.tables = {name: RocksTable(family) for name, family in self.families.items()}

    def commit(self, batch: Batch) -> None:
        write = WriteBatch(raw_mode=True)
        for name, key, value in batch.writes:
            if value is None:
                write.delete(key, self.handles[name])
            else:
                write.put(key, value, self.handles[name])
        self.db.write(write)

    def sizes(self) -> dict[str, int]:
        """Bytes of each table on disk, compacted."""
        found = {}
        for name, family in self.families.items():
            family.flush()
            family.compact_range(None, None)
            found[name] = family.property_int_value("rocksdb.total-sst-files-size") or 0
        return found


class Stopwatch:
    """CPU time of this thread, by what it was spent on."""

    def __init__(self) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def on(self, name: str) -> Iterator[None]:
        started = time.thread_time()
        yield
        self.spent[name] += time.thread_time() - started


def read_pages(folder: Path) -> list[tuple[IndexedPage, list[Link]]]:
    found = []
    for path in sorted(folder.rglob("*.html")):
        tree = HTMLTree.parse(path.read_text(encoding="utf-8", errors="replace"))
        if tree.body is None:
            continue
        url = f"https://docs.example/{path.relative_to(folder)}"
        links = []
        for element in tree.body.get_elements_by_tag_name("a"):
            target = normalize(element.getattr("href") or "", url)
            if target is not None and element.getattr("href"):
                text = " ".join(element.text.split())
                links.append(Link(target, text, element.getattr("rel") or ""))
        body = extract_plain_text(tree)
        page = IndexedPage(fingerprint(url), url, tree.title or "", body, "en", time.time())
        found.append((page, links))
    return found


def measure_pages(folder: Path, refresh_every: int) -> None:
    pages = read_pages(folder)
    count = len(pages)
    if not count:
        raise SystemExit(f"no HTML below {folder}")
    links = sum(len(found) for _, found in pages)
    text = sum(len(page.body.encode("utf-8", "replace")) for page, _ in pages)
    print(
        f"{count} pages, {links / count:.0f} links and {text / count:,.0f} bytes of text a page\n"
    )
    with tempfile.TemporaryDirectory() as name:
        measure_index(Path(name), pages, refresh_every)
    with tempfile.TemporaryDirectory() as name:
        measure_layouts(Path(name), pages)


def measure_index(
    folder: Path, pages: list[tuple[IndexedPage, list[Link]]], refresh_every: int
) -> None:
    store, watch, sequence, journal = (
        Store(folder / "store"),
        Stopwatch(),
        Sequence(),
        IndexJournal(),
    )
    index = FullTextIndex(folder / "index")
    indexer = Indexer(index, store.tables, store.commit, sequence=sequence)
    site = site_hash("docs.example")
    all_cpu = time.process_time()
    for number, (page, links) in enumerate(pages, 1):
        batch = Batch()
        with watch.on("ending: links"):
            source = Source(page.fingerprint, page.url, site)
            record_links(batch, source, links, fingerprint, sequence=sequence.next())
        with watch.on("ending: text"):
            note = journal.add(batch, page, sequence.next())
        with watch.on("ending: commit"):
            store.commit(batch)
        with watch.on("thread: anchors and document"):
            indexer.index((note,))
        if number % 250 == 0:
            with watch.on("thread: commit"):
                indexer.commit()
            with watch.on("thread: fold"):
                indexer.fold()
        if number % refresh_every == 0:
            with watch.on("thread: refresh"):
                indexer.refresh()
    with watch.on("thread: commit"):
        indexer.commit()
    with watch.on("thread: fold"):
        while indexer.fold():
            pass
    own = sum(watch.spent.values())
    rest = time.process_time() - all_cpu - own
    fetched = index.page_count()
    size = folder_size(folder / "index")
    with watch.on("final refresh"):
        while indexer.refresh(is_final=True):
            pass
    unfetched = index.page_count() - fetched
    index.close()
    for step, spent in watch.spent.items():
        print(f"{step:32}{spent / len(pages) * 1e3:8.3f} ms a page")
    print(f"{'threads of tantivy and RocksDB':32}{rest / len(pages) * 1e3:8.3f} ms a page")
    print(f"\n{'index':32}{size / len(pages):8,.0f} bytes a page")
    print(f"{f'with {unfetched} unfetched':32}{folder_size(folder / 'index') / len(pages):8,.0f}")
    for table, size in store.sizes().items():
        print(f"{table:32}{size / len(pages):8,.0f}")


def folder_size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def measure_layouts(folder: Path, pages: list[tuple[IndexedPage, list[Link]]]) -> None:
    """Three ways from links to anchors; each time includes the row of the source."""
    site = site_hash("docs.example")
    rows = [
        (page, pack_links(page.fingerprint, page.url, links, fingerprint)) for page, links in pages
    ]
    names = ("links", "inlinks")
    watch = Stopwatch()
    sizes: dict[str, int] = {}

    merged = Store(folder / "merged", names)
    for page, row in rows:
        with watch.on("read and write each target"):
            batch = Batch()
            batch.put("links", page.fingerprint.to_bytes(8, "big"), row)
            found = unpack_links(row)
            keys = [target.to_bytes(8, "big") for target in found.fingerprints]
            old = merged.tables["inlinks"].get_many(keys)
            for key, url, texts, value in zip(keys, found.urls, found.groups(), old, strict=True):
                inlinks = Inlinks.unpack(value) if value else Inlinks(url)
                inlinks.add(site, page.fingerprint, texts or "")
                batch.put("inlinks", key, inlinks.pack())
            merged.commit(batch)
    sizes["read and write each target"] = sum(merged.sizes().values())

    blind = Store(folder / "blind", names)
    for page, row in rows:
        with watch.on("write each target blindly"):
            batch = Batch()
            own = page.fingerprint.to_bytes(8, "big")
            batch.put("links", own, row)
            found = unpack_links(row)
            for target, url, texts in zip(
                found.fingerprints, found.urls, found.groups(), strict=True
            ):
                value = f"{url}\n{texts or ''}".encode("utf-8", "replace")
                batch.put("inlinks", target.to_bytes(8, "big") + own, value)
            blind.commit(batch)
    sizes["write each target blindly"] = sum(blind.sizes().values())

    folded = Store(folder / "folded")
    indexer = Indexer(FullTextIndex(folder / "index"), folded.tables, folded.commit)
    for number, (page, row) in enumerate(rows, 1):
        with watch.on("fold, on the loop"):
            batch = Batch()
            key = site.to_bytes(4, "big") + page.fingerprint.to_bytes(8, "big")
            batch.put("links", key, row)
            batch.put("links-new", number.to_bytes(8, "big"), key)
            folded.commit(batch)
    with watch.on("fold, in the thread"):
        while indexer.fold():
            pass
    sizes["fold, in the thread"] = sum(folded.sizes().values())
    print("\nfrom packed rows to rows by target")
    unit = watch.spent["fold, on the loop"] + watch.spent["fold, in the thread"]
    for step, spent in watch.spent.items():
        size = f"{sizes[step] / len(pages):8,.0f} bytes" if step in sizes else ""
        print(f"{step:32}{spent / len(pages) * 1e3:8.3f} ms{spent / unit:6.1f} times{size}")


QUESTIONS = {
    "one common word": "{common}",
    "one rare word": "{rare}",
    "two words": "{common} {middle}",
    "four words": "{common} {common2} {middle} {middle2}",
    "phrase": '"{common} {common2}"',
    "word and site": "{middle} site:site7.example",
    "word without word": "{middle} -{common}",
    "title": "title:{middle}",
}


def measure_queries(count: int, words: int, rounds: int, with_peer: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "index"
        vocabulary, weights = make_vocabulary()
        started = time.perf_counter()
        with FullTextIndex(folder) as index:
            for number, (page, anchors) in enumerate(
                synthetic_pages(count, words, vocabulary, weights), 1
            ):
                index.put(page, anchors)
                if number % 2000 == 0:
                    index.commit()
        spent = time.perf_counter() - started
        size = folder_size(folder) / count
        print(f"{count} pages of {words} words")
        print(f"{'tantivy':>10}: {spent / count * 1e3:.2f} ms and {size:,.0f} bytes each")
        peer = None
        if with_peer:
            started = time.perf_counter()
            peer = make_peer(
                Path(name) / "peer.db", synthetic_pages(count, words, vocabulary, weights)
            )
            spent = time.perf_counter() - started
            size = (Path(name) / "peer.db").stat().st_size / count
            print(f"{'FTS5':>10}: {spent / count * 1e3:.2f} ms and {size:,.0f} bytes each")
        ask(folder, peer, vocabulary, rounds)


def ask(folder: Path, peer: sqlite3.Connection | None, vocabulary: list[str], rounds: int) -> None:
    generator = random.Random(2)
    reader = IndexReader([folder])
    reader.search("warm", 10)
    everything: list[float] = []
    all_cpu: list[float] = []
    print(f"\n{'':24}{'median':>9}{'p95':>9}{'CPU':>9}{'opened':>9}{'FTS5':>9}   ratio    hits")
    for name, template in QUESTIONS.items():
        own, cpu, opened, other, totals = [], [], [], [], []
        for _ in range(rounds):
            query = template.format(
                common=vocabulary[generator.randrange(5, 50)],
                common2=vocabulary[generator.randrange(5, 50)],
                middle=vocabulary[generator.randrange(300, 2000)],
                middle2=vocabulary[generator.randrange(50, 300)],
                rare=vocabulary[generator.randrange(20_000, 40_000)],
            )
            started, worked = time.perf_counter(), time.thread_time()
            totals.append(reader.search(query, 10).total)
            own.append(time.perf_counter() - started)
            cpu.append(time.thread_time() - worked)
            started = time.perf_counter()
            search([folder], query, 10)
            opened.append(time.perf_counter() - started)
            if peer is not None:
                started = time.perf_counter()
                ask_peer(peer, query)
                other.append(time.perf_counter() - started)
        everything += own
        all_cpu += cpu
        own.sort()
        median = statistics.median(own)
        line = f"{name:24}{median * 1e3:7.2f}ms{own[int(len(own) * 0.95)] * 1e3:7.2f}ms"
        line += f"{statistics.median(cpu) * 1e3:7.2f}ms{statistics.median(opened) * 1e3:7.2f}ms"
        if other:
            theirs = statistics.median(other)
            line += f"{theirs * 1e3:7.2f}ms{theirs / median:8.1f}"
        print(f"{line}{statistics.median(totals):8.0f}")
    middle, worked = statistics.median(everything), statistics.median(all_cpu)
    print(f"\nmedian of all: {middle * 1e3:.2f} ms, of CPU {worked * 1e3:.2f} ms")


def make_vocabulary() -> tuple[list[str], list[float]]:
    """Words as unevenly frequent as those of a language."""
    generator = random.Random(1)
    found: dict[str, None] = {}
    while len(found) < 50_000:
        size = 2 + min(10, int(generator.expovariate(0.25)))
        found["".join(generator.choices("etaoinshrdlucmfw", k=size))] = None
    cumulative, total = [], 0.0
    for rank in range(1, len(found) + 1):
        total += 1 / rank
        cumulative.append(total)
    return list(found), cumulative


def synthetic_pages(
    count: int, words: int, vocabulary: list[str], weights: list[float]
) -> Iterator[tuple[IndexedPage, list[Anchor]]]:
    generator = random.Random(3)
    for number in range(count):
        size = max(20, int(generator.lognormvariate(0, 0.7) * words * 0.8))
        text = generator.choices(vocabulary, cum_weights=weights, k=size)
        url = f"https://site{number % 1000}.example/{text[0]}/{number}"
        anchors = [
            Anchor(" ".join(text[start : start + 3]), generator.random() * 3, 5, 2)
            for start in range(0, 9, 3)
        ]
        title = " ".join(text[3:9])
        yield IndexedPage(number + 1, url, title, " ".join(text), "en", 1.0 + number), anchors


def make_peer(path: Path, pages: Iterator[tuple[IndexedPage, list[Anchor]]]) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE VIRTUAL TABLE pages USING fts5(title, anchors, body, host UNINDEXED, url UNINDEXED,"
        " tokenize='porter unicode61')"
    )
    rows = (
        (
            page.title,
            " . ".join(anchor.text for anchor in anchors for _ in range(anchor.repeats)),
            page.body,
            page.url.split("/")[2],
            page.url,
        )
        for page, anchors in pages
    )
    connection.executemany("INSERT INTO pages VALUES (?, ?, ?, ?, ?)", rows)
    connection.commit()
    return connection


def ask_peer(connection: sqlite3.Connection, query: str) -> None:
    wanted, host, unwanted = [], "", ""
    for word in query.split() if '"' not in query else [query]:
        if word.startswith("site:"):
            host = word[5:]
        elif word.startswith("-"):
            unwanted = f" NOT {word[1:]}"
        else:
            wanted.append(word)
    weights = Weights()
    statement = (
        "SELECT title, url, snippet(pages, 2, '[', ']', '…', 40) FROM pages WHERE pages MATCH ?"
        + (" AND host = ?" if host else "")
        + f" ORDER BY bm25(pages, {weights.title}, {weights.anchors}, {weights.body}) LIMIT 10"
    )
    match = " AND ".join(wanted) + unwanted
    parameters = (match, host) if host else (match,)
    connection.execute(statement, parameters).fetchall()
    # The reader also says how many there are.
    counted = "SELECT count(*) FROM pages WHERE pages MATCH ?" + (" AND host = ?" if host else "")
    connection.execute(counted, parameters).fetchone()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, dest="command")
    pages = commands.add_parser("pages", help="what a page costs")
    pages.add_argument("folder", type=Path)
    pages.add_argument("--refresh-every", type=int, default=500, metavar="PAGES")
    queries = commands.add_parser("queries", help="how fast searches are")
    queries.add_argument("--pages", type=int, default=100_000)
    queries.add_argument("--words", type=int, default=400)
    queries.add_argument("--rounds", type=int, default=50)
    queries.add_argument("--no-peer", action="store_true")
    arguments = parser.parse_args()
    if arguments.command == "pages":
        measure_pages(arguments.folder, arguments.refresh_every)
    else:
        measure_queries(arguments.pages, arguments.words, arguments.rounds, not arguments.no_peer)


if __name__ == "__main__":
    main()
