"""What a page's ending has for other partitions, packed: steps to be made there."""

from __future__ import annotations

import struct

_HEAD = struct.Struct("<H10sI")
_SIZE = struct.Struct("<I")
Step = tuple[int, str, list[bytes]]  # partition, script, arguments


def pack_steps(steps: list[Step]) -> bytes:
    parts: list[bytes] = []
    for partition, script, args in steps:
        parts.append(_HEAD.pack(partition, script.encode(), len(args)))
        for arg in args:
            parts += (_SIZE.pack(len(arg)), arg)
    return b"".join(parts)


def unpack_steps(data: bytes) -> list[Step]:
    steps: list[Step] = []
    at = 0
    while at < len(data):
        partition, script, number = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        args = []
        for _ in range(number):
            (size,) = _SIZE.unpack_from(data, at)
            at += _SIZE.size
            args.append(data[at : at + size])
            at += size
        steps.append((partition, script.rstrip(b"\0").decode(), args))
    return steps
