"""Host: one row of the host table, and its stored form."""

from __future__ import annotations

import struct
from functools import cache, lru_cache

import xxhash

from webcrawler.politeness.cause import Cause

# number of queues, next_at, last_at, held_at, delay, crawl_delay, failures, parkings, fetched,
# cause, flags, length of the address
_HEAD = "<BdddffHBIBBB"
_QUEUE = "BIIIB"  # front queue, low, tail, stored, is on the front queue
_QUEUES_AT, _QUEUE_BYTES = struct.calcsize(_HEAD), struct.calcsize("<" + _QUEUE)
_HELD_AT, _FLAGS_AT = 17, _QUEUES_AT - 2
_NOT_HELD = bytes(8)
_NUMBERS = struct.Struct("<III")
_FIRST = struct.Struct("<" + _QUEUE)
_SHELF = struct.Struct(">Q")  # big-endian, as it stands in keys
_BLOCKED = 1
_EXHAUSTED = 2
_SHELVED = 4  # a shelf other than the id follows the queues
_CAUSES = tuple(Cause)


@cache
def _shape(queues: int) -> struct.Struct:
    """The form of a row with that many queues: rows are packed and unpacked in one call each."""
    return struct.Struct(_HEAD + _QUEUE * queues)


class HostQueue:
    """A host's FIFO of URLs in one front queue.

    Sequence numbers in `low`..`tail`-1 may be stored; below `low` all have ended. `head` is the
    next to be read: it differs from `low` only while URLs are in hand, lives in memory only, and
    so a crash forgets it, which is how the URLs in hand come back. `stored` counts all that have
    not ended, `unread` those not in hand. `is_queued` says that the host stands in this front
    queue; `place` is where it stood when it was taken from there, as long as the store keeps
    that place, and -1 otherwise.
    """

    __slots__ = ("head", "is_queued", "low", "place", "stored", "tail", "unread")

    def __init__(
        self, low: int = 0, tail: int = 0, stored: int = 0, is_queued: bool = False
    ) -> None:
        self.low = low
        self.head = low
        self.tail = tail
        self.stored = stored
        self.unread = stored
        self.is_queued = is_queued
        self.place = -1


class Host:
    """A host's clock, counts and queues.

    `shelf` is the number under which a store that keeps URLs in key order keeps this host's.
    """

    __slots__ = (
        "address",
        "cause",
        "crawl_delay",
        "delay",
        "failures",
        "fetched",
        "held_at",
        "id",
        "in_hand",
        "is_blocked",
        "is_exhausted",
        "is_leased",
        "last_at",
        "name",
        "next_at",
        "parkings",
        "queues",
        "shelf",
    )

    def __init__(self, name: str, host_id: int, shelf: int | None = None) -> None:
        self.name = name
        self.id = host_id
        self.shelf = host_id if shelf is None else shelf
        self.next_at = 0.0
        self.last_at = 0.0
        self.delay = 0.0
        self.crawl_delay = 0.0
        self.failures = 0
        self.parkings = 0
        self.fetched = 0
        self.cause = Cause.NEVER_HIT
        self.is_blocked = False
        self.is_exhausted = False
        self.address = ""
        self.queues: dict[int, HostQueue] = {}
        # In memory only: a crash ends every lease.
        self.is_leased = False
        self.in_hand = 0
        self.held_at = 0.0

    @property
    def stored(self) -> int:
        """URLs that have not ended, in hand or not."""
        return sum([queue.stored for queue in self.queues.values()])

    @property
    def unread(self) -> int:
        """URLs that wait in the store."""
        return sum([queue.unread for queue in self.queues.values()])

    @property
    def is_frozen(self) -> bool:
        """Whether its URLs are kept but not handed out."""
        return self.is_blocked or self.is_exhausted

    def pack(self) -> bytes:
        queues: list[int] = []
        for k, queue in self.queues.items():
            has_place = queue.is_queued or queue.place >= 0
            if queue.stored or has_place:
                queues += (k, queue.low, queue.tail, queue.stored, has_place)
        number = len(queues) // 5
        address = self.address.encode() if self.address else b""
        flags = (_BLOCKED if self.is_blocked else 0) | (_EXHAUSTED if self.is_exhausted else 0)
        shelf = b""
        if self.shelf != self.id:
            flags |= _SHELVED
            shelf = _SHELF.pack(self.shelf)
        return (
            _shape(number).pack(
                number,
                self.next_at,
                self.last_at,
                self.held_at,
                self.delay,
                self.crawl_delay,
                self.failures if self.failures < 65_535 else 65_535,
                self.parkings if self.parkings < 255 else 255,
                self.fetched,
                self.cause,
                flags,
                len(address),
                *queues,
            )
            + shelf
            + address
            + self.name.encode()
        )

    @classmethod
    def unpack(cls, data: bytes, host_id: int) -> Host:
        host = cls.__new__(cls)
        host.id = host_id
        shape = _shape(data[0])
        (
            _,
            host.next_at,
            host.last_at,
            host.held_at,
            host.delay,
            host.crawl_delay,
            host.failures,
            host.parkings,
            host.fetched,
            cause,
            flags,
            address_size,
            *queues,
        ) = shape.unpack_from(data)
        host.cause = _CAUSES[cause]
        host.is_blocked = bool(flags & _BLOCKED)
        host.is_exhausted = bool(flags & _EXHAUSTED)
        host.queues = {
            queues[i]: HostQueue(queues[i + 1], queues[i + 2], queues[i + 3], queues[i + 4] == 1)
            for i in range(0, len(queues), 5)
        }
        at = shape.size
        if flags & _SHELVED:
            host.shelf = _SHELF.unpack_from(data, at)[0]
            at += _SHELF.size
        else:
            host.shelf = host_id
        name_at = at + address_size
        host.address = data[at:name_at].decode() if address_size else ""
        host.name = data[name_at:].decode()
        host.is_leased = False
        host.in_hand = 0
        return host

    def __repr__(self) -> str:
        return f"<Host {self.name} stored={self.stored} next_at={self.next_at:.3f}>"


def append_to_row(row: bytes, k: int) -> tuple[bytes, bytes, int, bool] | None:
    """The packed row of a host with one more URL in queue k; the host's shelf, as it stands in
    keys; the URL's sequence number; whether the host is now to be put on front queue k.

    None for a host that is frozen or held, which may not stand there, or has no shelf but its id.
    Several times as fast as unpacking and packing.
    """
    if row[_FLAGS_AT] != _SHELVED or row[_HELD_AT : _HELD_AT + 8] != _NOT_HELD:
        return None
    end = _QUEUES_AT + row[0] * _QUEUE_BYTES
    shelf = row[end : end + 8]
    for at in range(_QUEUES_AT, end, _QUEUE_BYTES):
        if row[at] == k:
            low, tail, stored = _NUMBERS.unpack_from(row, at + 1)
            numbers = _NUMBERS.pack(low, tail + 1, stored + 1)
            was_queued = row[at + 13] == 1
            return row[: at + 1] + numbers + b"\1" + row[at + 14 :], shelf, tail, not was_queued
    first = _FIRST.pack(k, 0, 1, 1, 1)
    return bytes((row[0] + 1,)) + row[1:end] + first + row[end:], shelf, 0, True


def host_id(name: str) -> int:
    """The 64-bit id under which a host's rows are stored."""
    return xxhash.xxh3_64_intdigest(name.encode())


# For hosts in hand, which are asked for several times in a row.
host_id_again = lru_cache(maxsize=10_000)(host_id)
