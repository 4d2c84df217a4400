"""Record: a URL on its way through the frontier, and its compact stored form."""

from __future__ import annotations

import struct

# flags, retries, hops, depth, fingerprint, referrer's fingerprint, anchor length, URL length
_HEAD = struct.Struct("<BBBHQQBH")
_SEED = 1
# What the first byte of a payload says.
REQUEST = b"["  # a user's own request, as JSON
ROBOTS = b"R"
SITEMAP = b"S"
MAX_ANCHOR_BYTES = 255
MAX_URL_BYTES = 65_535
MAX_DEPTH = 65_535


class Record:
    """What the frontier keeps of a waiting URL.

    `queue` is its front queue, `sequence` its place in its host's FIFO of that queue: both are
    the record's address in the store and not part of the packed form. `payload` is a user's own
    request, serialised; empty for a link. `hops` counts the redirects that led here.
    """

    __slots__ = (
        "anchor",
        "depth",
        "fingerprint",
        "hops",
        "host",
        "is_seed",
        "payload",
        "queue",
        "retries",
        "sequence",
        "url",
        "via",
    )

    def __init__(
        self,
        url: str,
        fingerprint: int,
        host: str,
        queue: int = 1,
        depth: int = 0,
        via: int = 0,
        anchor: str = "",
        is_seed: bool = False,
        hops: int = 0,
        retries: int = 0,
        payload: bytes = b"",
        sequence: int = 0,
    ) -> None:
        self.url = url
        self.fingerprint = fingerprint
        self.host = host
        self.queue = queue
        self.depth = depth
        self.via = via
        self.anchor = anchor
        self.is_seed = is_seed
        self.hops = hops
        self.retries = retries
        self.payload = payload
        self.sequence = sequence

    @property
    def kind(self) -> bytes:
        """b"" for a link, REQUEST for a user's own request, ROBOTS or SITEMAP for our errands."""
        return self.payload[:1]

    @property
    def errand(self) -> str:
        """What an errand's payload says."""
        return self.payload[1:].decode()

    def pack(self) -> bytes:
        """The stored form, without the host and the place in the queue, which are its key."""
        url = self.url.encode()
        anchor = self.anchor.encode()[:MAX_ANCHOR_BYTES] if self.anchor else b""
        head = _HEAD.pack(
            _SEED if self.is_seed else 0,
            self.retries if self.retries < 255 else 255,
            self.hops if self.hops < 255 else 255,
            self.depth if self.depth < MAX_DEPTH else MAX_DEPTH,
            self.fingerprint,
            self.via,
            len(anchor),
            len(url),
        )
        return head + url + anchor + self.payload

    @classmethod
    def unpack(cls, data: bytes, host: str, queue: int, sequence: int) -> Record:
        flags, retries, hops, depth, fingerprint, via, anchor_size, url_size = _HEAD.unpack_from(
            data
        )
        url_end = _HEAD.size + url_size
        anchor_end = url_end + anchor_size
        return cls(
            data[_HEAD.size : url_end].decode(),
            fingerprint,
            host,
            queue,
            depth,
            via,
            # The anchor may have been cut within a character.
            data[url_end:anchor_end].decode("utf-8", "ignore") if anchor_size else "",
            bool(flags & _SEED),
            hops,
            retries,
            data[anchor_end:],
            sequence,
        )

    def __repr__(self) -> str:
        return f"<Record {self.url} queue={self.queue} depth={self.depth}>"


def url_of_packed(data: bytes) -> str:
    """Only the URL of a packed record: for listings and patterns."""
    size = _HEAD.unpack_from(data)[7]
    return data[_HEAD.size : _HEAD.size + size].decode()
