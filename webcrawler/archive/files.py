"""The files of an archive: named, opened, grown by whole records, and closed at a size.

A file being written is called `….warc.gz.open` and is locked; closing it (full, or the end of the
crawl) writes it through to the disk and takes `.open` off. Wherever a record is said to lie,
the final name is meant: it does not change when the file is closed.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from webcrawler.archive.compression import compress_member
from webcrawler.archive.digests import hasher
from webcrawler.archive.exchange import Stored
from webcrawler.archive.locks import try_lock
from webcrawler.archive.record import FORMAT_URL, build, build_info
from webcrawler.exceptions import SettingError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from webcrawler.archive.exchange import Exchange

    Folder = str | os.PathLike[str]
    Folders = Folder | Sequence[Folder]

SUFFIX = ".warc.gz"
OPEN = ".open"
DEFAULT_MAX_BYTES = 1_000_000_000
DEFAULT_LEVEL = 2
_UNNAMEABLE = re.compile(r"[^A-Za-z0-9._-]+")


class _File(NamedTuple):
    descriptor: int
    name: str
    path: Path


class WarcFiles:
    """Writes exchanges, one after the other, into files of a folder.

    Not for two threads at once. Every call either writes whole records or raises StoreError and
    leaves the file as it was before.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        prefix: str = "webcrawler",
        worker: str = "1",
        max_bytes: int = DEFAULT_MAX_BYTES,
        level: int = DEFAULT_LEVEL,
        digest: str = "sha1",
        software: str = "webcrawler",
        settings: Mapping[str, object] | None = None,
        hostname: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not 1 <= level <= 9:
            raise SettingError("ARCHIVE_GZIP_LEVEL", level, "1 (fastest) to 9 (smallest)")
        if max_bytes < 1:
            raise SettingError("ARCHIVE_MAX_BYTES", max_bytes, "a size of at least one byte")
        self.folder = Path(folder)
        self._prefix = _UNNAMEABLE.sub("_", prefix) or "webcrawler"
        self._worker = _UNNAMEABLE.sub("_", worker) or "1"
        self._max_bytes = max_bytes
        self._level = level
        self._digest = digest
        self._hasher = hasher(digest)
        self._info: dict[str, object] = {
            "software": software,
            "format": "WARC File Format 1.1",
            "conformsTo": FORMAT_URL,
        }
        if hostname:
            self._info["hostname"] = hostname
        for name, value in (settings or {}).items():
            self._info[f"setting-{name}"] = value
        self._clock = clock
        self._serial = 0
        self._file: _File | None = None
        self._size = 0
        self._begin = 0
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _trouble("make the archive's folder", self.folder, error) from error

    def write(self, exchange: Exchange) -> Stored:
        """Compress an exchange's records and hand them to the operating system, in one write."""
        built = build(exchange, self._digest, self._hasher)
        members = [compress_member(record, self._level) for record in built.records]
        data = members[0] if len(members) == 1 else b"".join(members)
        file = self._file
        if (
            file is not None
            and self._size > self._begin
            and (self._size + len(data) > self._max_bytes)
        ):
            self.close()
            file = None
        if file is None:
            file = self._open()
        offset = self._append(file, data)
        return Stored(
            kind=built.kind,
            file=file.name,
            offset=offset,
            length=len(members[0]),
            fetched_at=exchange.fetched_at,
            payload_digest=built.payload_digest,
        )

    def close(self) -> None:
        """Finish the file being written, if there is one: on the disk, under its final name."""
        file, self._file = self._file, None
        if file is None:
            return
        try:
            try:
                if not self._size:  # not even its first record could be written
                    os.unlink(file.path)
                    return
                os.fsync(file.descriptor)
                # Still locked: nobody recovers the file between its closing and its renaming.
                os.rename(file.path, file.path.with_name(file.name))
            finally:
                os.close(file.descriptor)
        except OSError as error:
            raise _trouble("finish the archive file", file.path, error) from error

    def _open(self) -> _File:
        while True:
            self._serial += 1
            now = self._clock()
            stamp = time.strftime("%Y%m%d%H%M%S", time.gmtime(now)) + f"{int(now % 1 * 1000):03d}"
            name = f"{self._prefix}-{stamp}-{self._serial:05d}-{self._worker}{SUFFIX}"
            path = self.folder / (name + OPEN)
            if (self.folder / name).exists():
                continue
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
            except FileExistsError:
                continue
            except OSError as error:
                raise _trouble("make the archive file", path, error) from error
            # Somebody recovering the folder may have met the file before it was locked.
            if try_lock(descriptor) and _is_at(descriptor, path):
                break
            os.close(descriptor)
        self._file = file = _File(descriptor, name, path)
        self._size = 0
        info = build_info(name, now, self._info, self._digest, self._hasher)
        self._append(file, compress_member(info, self._level))
        self._begin = self._size
        return file

    def _append(self, file: _File, data: bytes) -> int:
        offset = self._size
        try:
            written = os.write(file.descriptor, data)
            while written < len(data):  # a disk about to be full, or more than 2 GB
                written += os.write(file.descriptor, memoryview(data)[written:])
        except OSError as error:
            self._take_back(file, offset)
            raise _trouble("write to the archive file", file.path, error) from error
        self._size = offset + len(data)
        return offset

    def _take_back(self, file: _File, offset: int) -> None:
        """Cut off what was written of a record: the file holds whole records only."""
        try:
            os.ftruncate(file.descriptor, offset)
            os.lseek(file.descriptor, offset, os.SEEK_SET)
        except OSError:
            # Not even that: leave it as it is, named as open, for `recover` to mend.
            self._file = None
            os.close(file.descriptor)


def folders_of(archive: Folders) -> list[Path]:
    """The folders of an archive: one, or one for each worker of a crawl."""
    if isinstance(archive, str | os.PathLike):
        return [Path(archive)]
    return [Path(folder) for folder in archive]


def archive_files(archive: Folders) -> list[Path]:
    """The archive's files in the order of their names, those still being written among them."""
    return [path for folder in folders_of(archive) for path in _files_in(folder)]


def _files_in(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = [
                entry.name for entry in entries if entry.name.endswith((SUFFIX, SUFFIX + OPEN))
            ]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _trouble("read the archive's folder", folder, error) from error
    return [folder / name for name in sorted(names)]


def final_name(path: Path) -> str:
    """The name under which the records of a file are known, whether it is closed or not."""
    return path.name.removesuffix(OPEN)


def find_file(archive: Folders, name: str) -> Path | None:
    """The file of that final name, closed or still being written; None when there is none."""
    for folder in folders_of(archive):
        closed = folder / Path(name).name  # a stored name never leads out of the folder
        for path in (closed, closed.with_name(closed.name + OPEN), closed):
            if path.is_file():
                return path
    return None


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        there = os.stat(path)
    except OSError:
        return False
    return os.path.samestat(os.fstat(descriptor), there)


def _trouble(doing: str, path: Path, error: OSError) -> StoreError:
    return StoreError.of(error, path, f"cannot {doing} {path}: {error.strerror or error}")
