"""After a crash: files left open are cut after their last whole record and closed."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webcrawler.archive.files import OPEN, archive_files, final_name
from webcrawler.archive.locks import try_lock
from webcrawler.archive.members import BrokenMember, Member, members
from webcrawler.exceptions import StoreError

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Recovered:
    """A file that was left open: what was kept of it, and how much was cut off."""

    file: str
    records: int
    kept_bytes: int
    cut_bytes: int


def recover(folder: str | os.PathLike[str]) -> list[Recovered]:
    """Mend and close every file of a folder that a dead process has left open.

    Every record is decompressed and its checksum compared, so that what is kept is readable; a
    file without any is deleted. Files that a living process writes are locked and left alone.
    Killed on the way, it can simply be run again. Raises StoreError when a file cannot be mended.
    """
    recovered = []
    for path in archive_files(folder):
        if path.name.endswith(OPEN):
            try:
                done = _recover_file(path)
            except OSError as error:
                raise StoreError(
                    f"cannot mend the archive file {path}: {error.strerror or error}"
                ) from error
            if done is not None:
                recovered.append(done)
    return recovered


def _recover_file(path: Path) -> Recovered | None:
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return None  # closed, or mended by another, since the folder was listed
    try:
        if not try_lock(descriptor):
            return None
        if not path.exists():
            return None
        size = os.fstat(descriptor).st_size
        records, kept = _whole_records(path)
        name = final_name(path)
        target = path.with_name(name)
        if not kept:
            os.unlink(path)
        else:
            if kept < size:
                os.ftruncate(descriptor, kept)
                os.fsync(descriptor)
            if target.exists():  # never write over an archive
                raise FileExistsError(errno.EEXIST, f"{name} exists already")
            os.rename(path, target)
        return Recovered(name, records, kept, size - kept)
    finally:
        os.close(descriptor)


def _whole_records(path: Path) -> tuple[int, int]:
    """How many records can be read, and where the last of them ends.

    A record that went bad in the middle of a file stays: it is no reason to lose those after it.
    """
    records = kept = 0
    for found in members(path, hop=False):
        if isinstance(found, Member):
            with suppress(BrokenMember):
                kept = found.end()
                records += 1
    return records, kept
