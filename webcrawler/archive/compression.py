"""One record, one gzip member, in a single call that lets other threads run meanwhile.

Levels 1 to 3 are ISA-L's: on a page of 100 KB seven to twelve times faster than zlib's usual
level 6, for a fifth more bytes. Levels 4 to 9 are zlib's own, for archives where size matters more.

Each member says in its header how long it is (the skip lengths of the WARC standard's annex on
compression, subfield `sl`), so that a reader can go from record to record without decompressing
the pages between. Readers that do not know the field pass over it.
"""

from __future__ import annotations

import zlib
from struct import Struct
from typing import Any, Protocol, cast

try:
    from isal import isal_zlib as _fast
except ImportError:  # a platform without a wheel: the same bytes out, only slower
    _fast = None  # type: ignore[assignment]  # a module or nothing

MAGIC = b"\x1f\x8b\x08"
FAST_LEVELS = 3
_EXTRA = 0x04
# Magic, flags, time (unknown), flags, system (unknown), length of the extra field, subfield.
_HEAD = Struct("<3sBIBBH2sHII")
_TAIL = Struct("<II")
_SUBFIELD = b"sl"
HEAD_LENGTH = _HEAD.size
_UINT32 = 0xFFFFFFFF


class Decompressor(Protocol):
    """What zlib's and ISA-L's decompressors share."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    @property
    def unconsumed_tail(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = 0, /) -> bytes: ...


#: What a decompressor raises on bytes that are no gzip.
DecompressionError: tuple[type[Exception], ...] = (zlib.error,)
if _fast is not None:
    # Its type information calls the class an instance.
    DecompressionError = (zlib.error, cast(type[Exception], _fast.error))


def compress_member(data: bytes, level: int) -> bytes:
    """The bytes as one whole gzip member."""
    library: Any = _fast if level <= FAST_LEVELS and _fast is not None else zlib
    deflated: bytes = library.compress(data, level, -15)
    size = len(data) & _UINT32
    length = HEAD_LENGTH + len(deflated) + _TAIL.size
    # A length that does not fit says nothing: 0 is no length.
    length = length if length <= _UINT32 else 0
    head = _HEAD.pack(MAGIC, _EXTRA, 0, 0, 255, 12, _SUBFIELD, 8, length, size)
    return b"".join((head, deflated, _TAIL.pack(library.crc32(data), size)))


def member_length(head: bytes) -> int:
    """The length a member's first bytes claim for it; 0 where they claim none."""
    if len(head) < HEAD_LENGTH or head[:4] != b"\x1f\x8b\x08\x04":
        return 0
    *_, name, size, length, _ = _HEAD.unpack_from(head)
    return int(length) if name == _SUBFIELD and size == 8 else 0


def decompressor() -> Decompressor:
    """A decompressor for one gzip member, checking its checksum at the end."""
    found: Decompressor = (_fast if _fast is not None else zlib).decompressobj(31)
    return found
