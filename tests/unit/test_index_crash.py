"""kill -9 at any moment: what was acknowledged is found after the restart, once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from webcrawler.index import FullTextIndex, Indexer, IndexReader, Sequence
from webcrawler.index.layout import INDEX_NEW, LINKS_NEW, TABLES

rocksdict = pytest.importorskip("rocksdict")

ROOT = Path(__file__).resolve().parents[2]

STORE = """
from rocksdict import Options, Rdict, WriteBatch

class RocksTable:
    def __init__(self, family):
        self.family = family
    def get(self, key):
        return self.family.get(key)
    def get_many(self, keys):
        return [self.family.get(key) for key in keys]
    def scan(self, prefix=b""):
        for key, value in self.family.items(from_key=prefix or None):
            if not key.startswith(prefix):
                return
            yield key, value

class Store:
    def __init__(self, path, names):
        def options():
            found = Options(raw_mode=True)
            found.create_if_missing(True)
            found.create_missing_column_families(True)
            return found
        self.db = Rdict(path, options(), column_families={name: options() for name in names})
        self.handles = {name: self.db.get_column_family_handle(name) for name in names}
        self.tables = {name: RocksTable(self.db.get_column_family(name)) for name in names}
    def commit(self, batch):
        write = WriteBatch(raw_mode=True)
        for name, key, value in batch.writes:
            if value is None:
                write.delete(key, self.handles[name])
            else:
                write.put(key, value, self.handles[name])
        self.db.write(write)
"""

CHILD = (
    STORE
    + """
import sys
from pathlib import Path
from webcrawler.index import (
    TABLES, FullTextIndex, IndexedPage, Indexer, IndexJournal, Sequence, Source, record_links)
from webcrawler.items import Link
from webcrawler.tables import Batch

folder, start = Path(sys.argv[1]), int(sys.argv[2])
store = Store(str(folder / "store"), TABLES)
sequence, journal = Sequence(), IndexJournal()
indexer = Indexer(FullTextIndex(folder / "index"), store.tables, store.commit, sequence=sequence)
indexer.replay()
print("ready", flush=True)
for number in range(start, start + 100_000):
    page = number % 400  # pages are fetched again later
    url = f"https://site{page % 7}.example/{page}"
    target = "https://target.example/%d" % (number % 50)
    batch = Batch()
    links = [Link(target, f"anchor{number % 50}")]
    record_links(batch, Source(page + 1, url, page % 7 + 1), links,
                 lambda url: 10_000 + int(url.rsplit("/", 1)[1]), sequence=sequence.next())
    body = f"word{page} version{number} everywhere"
    note = journal.add(batch, IndexedPage(page + 1, url, "", body, "en", 1.0 + number),
                       sequence.next())
    store.commit(batch)
    print(number, flush=True)  # acknowledged: the frontier calls it done
    indexer.index([note])
    if number % 13 == 12:
        indexer.commit()
    if number % 29 == 28:
        indexer.fold()
        indexer.refresh(is_final=number % 2 == 0)
"""
)


@pytest.mark.parametrize("seed", [1, 2])
def test_every_acknowledged_page_is_found_once_after_kills(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    last = -1
    for _ in range(4):
        command = [sys.executable, str(script), str(tmp_path), str(last + 1)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert child.stdout is not None
        until = last + chance.randint(5, 90)
        for line in child.stdout:
            if line.strip().isdigit():
                last = int(line)
            if last >= until:
                break
        os.kill(child.pid, signal.SIGKILL)
        rest = child.stdout.read().split()  # acknowledged before it died
        child.wait()
        last = max([last, *(int(word) for word in rest if word.isdigit())])
    assert last > 20

    namespace: dict[str, object] = {}
    exec(STORE, namespace)
    store = namespace["Store"](str(tmp_path / "store"), TABLES)  # type: ignore[operator]
    index = FullTextIndex(tmp_path / "index")
    indexer = Indexer(index, store.tables, store.commit, sequence=Sequence())
    indexer.replay()
    while indexer.fold():
        pass
    while indexer.refresh(is_final=True):
        pass
    assert list(store.tables[INDEX_NEW].scan()) == []
    assert list(store.tables[LINKS_NEW].scan()) == []

    newest = {number % 400: number for number in range(last + 1)}
    reader = IndexReader([tmp_path / "index"])
    assert reader.search("everywhere", 1000).total == len(newest)
    for page, number in newest.items():
        results = reader.search(f"word{page}")
        assert [hit.fingerprint for hit in results.hits] == [page + 1]
        assert reader.search(f"word{page} version{number}").total == 1
    for target in range(min(50, last + 1)):
        results = reader.search(f"anchor{target}")
        assert [hit.fingerprint for hit in results.hits] == [10_000 + target]
        pages = {number % 400 for number in range(last + 1) if number % 50 == target}
        assert results.hits[0].anchors[0].pages == len(pages)
    index.close()
