"""Reading records back, from files that may be torn, corrupt or made to harm.

A record is a gzip member. `Member` reads one: first its head, then its block as a stream, so that
memory does not grow with what the member claims or holds. `members` goes through a file, and
where something cannot be read it says so, looks for the next record, and goes on.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webcrawler.archive.compression import (
    HEAD_LENGTH,
    MAGIC,
    DecompressionError,
    decompressor,
    member_length,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: How much of a member is looked at before its head must have ended.
MAX_HEAD = 64 << 10
#: How much one record may hold, decompressed.
MAX_RECORD = 4 << 30
#: After a broken record: how many places that look like another are tried in a file.
MAX_TRIES = 10_000
_FIRST_READ = 4 << 10
_READ = 64 << 10
# What may follow a block: two line ends, and whatever little else a careless writer adds.
_TRAILER = 64 << 10
_END = b"\r\n\r\n"


class BrokenMember(Exception):
    """A member that cannot be read; `problem` is a short name for why."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Broken:
    """A place in a file where there should be a record."""

    offset: int
    problem: str


class Member:
    """One record, from its place in a file. The constructor reads the head or raises BrokenMember.

    `fields` are the head's named fields, names in lower case, the first of each kept;
    `content_length` is what the head says of the block, `claimed_length` what the gzip header says
    of the whole member, 0 where it says nothing. `next_offset` is where the next record begins:
    0 until `members` has gone on, and for ever where this one turned out to be broken.
    """

    __slots__ = (
        "_buffer",
        "_descriptor",
        "_ended",
        "_input",
        "_next_read",
        "_position",
        "_read",
        "_stream",
        "claimed_length",
        "content_length",
        "fields",
        "next_offset",
        "offset",
        "version",
    )

    def __init__(self, descriptor: int, offset: int) -> None:
        self.offset = offset
        self.next_offset = 0
        self._descriptor = descriptor
        self._position = offset
        self._input = b""
        self._next_read = _FIRST_READ
        self._stream = decompressor()
        self._buffer = b""
        self._read = 0
        self._ended: int | BrokenMember | None = None
        self.version = ""
        self.fields: dict[str, str] = {}
        self._fill()
        if not self._input.startswith(MAGIC):
            raise BrokenMember("not-gzip" if len(self._input) >= len(MAGIC) else "torn-record")
        self.claimed_length = member_length(self._input[:HEAD_LENGTH])
        self._parse(self._read_head())
        length = self.fields.get("content-length", "")
        if not (length.isdecimal() and length.isascii() and len(length) < 20):
            raise BrokenMember("no-content-length")
        self.content_length = int(length)

    def read(self, size: int = _READ) -> bytes:
        """The next bytes of the member, at most `size`; none at its end. Raises BrokenMember."""
        if self._buffer:
            piece, self._buffer = self._buffer[:size], self._buffer[size:]
        else:
            piece = self._inflate(size)
        self._read += len(piece)
        return piece

    def end(self) -> int:
        """Where the next member starts: what is left of this one is decompressed and thrown away.

        Raises BrokenMember, as often as it is asked; also when there is much more in the member
        than its head says.
        """
        if self._ended is None:
            try:
                self._ended = self._find_end()
            except BrokenMember as error:
                self._ended = error
        if isinstance(self._ended, BrokenMember):
            raise self._ended
        return self._ended

    def _find_end(self) -> int:
        limit = min(self.content_length, MAX_RECORD) + _TRAILER
        while self._read <= limit:
            if not self.read():
                break
        else:
            raise BrokenMember("too-large")
        return self._position - len(self._stream.unused_data)

    def _fill(self) -> None:
        self._input = os.pread(self._descriptor, self._next_read, self._position)
        self._position += len(self._input)
        self._next_read = _READ

    def _inflate(self, size: int) -> bytes:
        stream = self._stream
        while not stream.eof:
            if not self._input:
                self._fill()
            data = self._input
            try:
                piece = stream.decompress(data, size)
            except DecompressionError as error:
                raise BrokenMember("corrupt-record") from error
            self._input = b"" if stream.eof else stream.unconsumed_tail
            if piece:
                return piece
            if not data and not stream.eof:
                raise BrokenMember("torn-record")
        return b""

    def _read_head(self) -> bytes:
        read = self._inflate(_FIRST_READ)
        if not read.startswith(b"WARC/"[: len(read)]):
            raise BrokenMember("not-a-record")
        while (end := read.find(_END)) < 0:
            if len(read) > MAX_HEAD:
                raise BrokenMember("head-too-long")
            piece = self._inflate(_FIRST_READ)
            if not piece:
                raise BrokenMember("not-a-record")
            read += piece
        self._buffer = read[end + len(_END) :]
        return read[:end]

    def _parse(self, head: bytes) -> None:
        self.version, *lines = head.decode("utf-8", "replace").split("\r\n")
        if not self.version.startswith("WARC/"):
            raise BrokenMember("not-a-record")
        fields = self.fields
        for line in lines:
            name, _, value = line.partition(":")
            fields.setdefault(name.strip().lower(), value.strip())


def members(path: Path, *, hop: bool = True) -> Iterator[Member | Broken]:
    """Every record of a file in order, and every place where one cannot be read.

    What is left unread of a record is passed over: with `hop` by the length its header
    claims, where a record begins there; otherwise, and without `hop`, by decompressing it, which
    also checks it. A file that cannot be opened or read raises OSError.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        size = os.fstat(descriptor).st_size
        offset = tries = 0
        while offset < size:
            try:
                member = Member(descriptor, offset)
                yield member
                claimed = offset + member.claimed_length if hop and member.claimed_length else 0
                if not (claimed and _begins_at(descriptor, claimed, size)):
                    claimed = member.end()
                member.next_offset = offset = claimed
            except BrokenMember as error:
                yield Broken(offset, error.problem)
                claimed = _claimed_end(descriptor, offset)
                if claimed and _begins_at(descriptor, claimed, size):
                    offset = claimed
                    continue
                if error.problem == "torn-record":
                    return  # it reaches to the file's end: what looks like a record is its body
                offset, tries = _next_record(descriptor, offset + 1, size, tries)
                if tries >= MAX_TRIES:
                    yield Broken(offset, "rest-unreadable")
                    return
    finally:
        os.close(descriptor)


def _claimed_end(descriptor: int, offset: int) -> int:
    claimed = member_length(os.pread(descriptor, HEAD_LENGTH, offset))
    return offset + claimed if claimed else 0


def _begins_at(descriptor: int, offset: int, size: int) -> bool:
    return offset == size or os.pread(descriptor, len(MAGIC), offset) == MAGIC


def _next_record(descriptor: int, offset: int, size: int, tries: int) -> tuple[int, int]:
    """The next offset at which a record's head can be read, or the file's end; tries so far."""
    while offset < size and tries < MAX_TRIES:
        data = os.pread(descriptor, _READ, offset)
        at = data.find(MAGIC)
        if at < 0:
            # The magic may lie across the border.
            offset += max(len(data) - len(MAGIC) + 1, 1)
            continue
        offset += at
        tries += 1
        try:
            Member(descriptor, offset)
        except BrokenMember:
            offset += 1
        else:
            return offset, tries
    return min(offset, size), tries
