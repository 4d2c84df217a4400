"""Where things are: partitions, tags and buckets."""

from __future__ import annotations

import struct

import xxhash

from webcrawler.frontier.host import host_id

FINGERPRINT = struct.Struct("<Q")  # as it stands in a packed record
VIA = struct.Struct("<H")  # behind a packed record: the partition where its referrer ended
NOWHERE = 0xFFFF
HOLDER = struct.Struct("<H")  # at the head of a page's row: the worker that ended it


class Keys:
    """The keys of one crawl. Braces make a tag; a crawl's name has none."""

    def __init__(self, name: str, partitions: int, buckets: int) -> None:
        self.name = name.replace("{", "_").replace("}", "_")
        self.partitions = partitions
        self.buckets = buckets

    def tag(self, partition: int) -> str:
        return f"{{{self.name}:{partition}}}"

    @property
    def whole(self) -> str:
        """The tag of what belongs to no partition."""
        return f"{{{self.name}}}"

    @property
    def meta(self) -> str:
        return f"{self.whole}:meta"

    @property
    def workers(self) -> str:
        return f"{self.whole}:workers"

    @property
    def numbers(self) -> str:
        return f"{self.whole}:numbers"

    def of_host(self, name: str) -> int:
        return host_id(name) % self.partitions

    def of_row(self, table: str, key: bytes) -> int:
        return xxhash.xxh3_64_intdigest(key, seed=len(table)) % self.partitions

    def seen(self, fingerprint: int) -> tuple[int, int]:
        """The fingerprint as a signed integer, and its bucket."""
        signed = fingerprint - (1 << 64) if fingerprint >> 63 else fingerprint
        return signed, (fingerprint >> 20) % self.buckets
