"""The layout of an embedded store: its tables, their keys, and the version that says so.

Tables, with everything big-endian so that key order is queue order:

    seen      fingerprint                  -> host id, front queue, sequence: where it waits
    queue     shelf, front queue, seq.     -> packed record
    hosts     host id                      -> packed host row, the host's shelf in it
    front     front queue, sequence        -> host id
    held      time, host id                -> nothing
    leases    host id                      -> nothing: hosts with URLs in hand, in format 1
    pages     fingerprint                  -> how a URL ended
    meta      version, counts, shape, how far the front queues are reserved

Shelves are numbered in the order in which hosts were met. They leave the front queues in much the
same order, so that what is read next lies beside what was read last; by their ids, which are
hashes, every host would be a read from somewhere else on the disk.

Format 1 had a row in `leases` for each host in hand; up to format 2 a host's shelf was its id. Both
are taken over as they are: a host that was met before keeps its shelf.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from webcrawler.exceptions import JobError
from webcrawler.frontier.ending import OUTCOMES
from webcrawler.frontier.store import Counts

if TYPE_CHECKING:
    from webcrawler.frontier.backends.kv import KV

VERSION = 3
OWN_TABLES = ("seen", "queue", "hosts", "front", "held", "leases", "pages", "meta")

ID = struct.Struct(">Q")  # a host's id, a shelf, a fingerprint
PLACE = struct.Struct(">QBI")  # host id or shelf, front queue, sequence
PLACE_ON_SHELF = struct.Struct(">BI")
SHAPE = struct.Struct("<HB")  # version, number of front queues
_COUNTS = struct.Struct(f"<4Q{len(OUTCOMES)}Q")


def check_shape(kv: KV, queues: int) -> None:
    """Refuse a store that was written otherwise, in one sentence; mark a new or older one."""
    shape = kv.table("meta").get(b"shape")
    if shape is not None:
        version, number = SHAPE.unpack_from(shape)
        if version > VERSION:
            raise JobError(
                f"this crawl was written by a newer version of webcrawler (format {version}, "
                f"this one reads up to {VERSION}): upgrade, or use another job folder"
            )
        if number != queues:
            raise JobError(
                f"this crawl was started with FRONTIER_FRONT_QUEUES={number}, not {queues}: "
                f"use that, or another job folder"
            )
        if version == VERSION:
            return
    batch = kv.batch()
    batch.put(b"shape", SHAPE.pack(VERSION, queues), kv.handle("meta"))
    kv.write(batch)


def read_counts(kv: KV) -> Counts:
    row = kv.table("meta").get(b"counts")
    if row is None:
        return Counts(ended=dict.fromkeys(OUTCOMES, 0))
    # Format 2 had no count of errands, the last one.
    known, waiting, frozen, hosts, *ended = _COUNTS.unpack(row.ljust(_COUNTS.size, b"\0"))
    return Counts(known, waiting, frozen, hosts, 0, dict(zip(OUTCOMES, ended, strict=True)))


def write_counts(counts: Counts, batch: Any, handle: Any) -> None:
    row = _COUNTS.pack(
        counts.known, counts.waiting, counts.frozen, counts.hosts, *counts.ended.values()
    )
    batch.put(b"counts", row, handle)
