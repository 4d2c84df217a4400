"""The folder of one worker in a job folder that several workers on one machine share."""

from __future__ import annotations

import fcntl
from typing import IO, TYPE_CHECKING

from webcrawler.exceptions import JobError
from webcrawler.job import Job, write_json

if TYPE_CHECKING:
    from pathlib import Path

_MOST = 1024
_PARTS = ("frontier", "warc")


def folders_of(job: Path) -> list[Path]:
    """The folders of a job that hold pages: its own, and one for each of its workers."""
    found = [path for path in job.glob("*/") if any((path / part).is_dir() for part in _PARTS)]
    own = [job] if any((job / part).is_dir() for part in _PARTS) else []
    return own + sorted(found, key=lambda path: (len(path.name), path.name))


class WorkerFolder:
    """`worker-1`, or the first that no running worker has: the same command can be given again
    and again, and a worker that was stopped goes on in its old folder. A lock tells who runs.
    """

    def __init__(self, job: Job, name: str = "") -> None:
        if not (job.folder / "job.json").exists():
            write_json(job.folder / "job.json", {"version": 1})
        names = [name] if name else [f"worker-{number}" for number in range(1, _MOST)]
        for self.number, chosen in enumerate(names, 1):
            self.folder: Path = job.folder / chosen
            self.folder.mkdir(exist_ok=True)
            self._file: IO[str] = (self.folder / "lock").open("w")
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                self._file.close()
            else:
                return
        raise JobError(f"the worker {names[-1]} of {job.folder} is running already")

    def close(self) -> None:
        self._file.close()
