"""The job folder: where a crawl leaves what it has, and from where it goes on."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from webcrawler.exceptions import JobError

if TYPE_CHECKING:
    from pathlib import Path

VERSION = 1


class Job:
    """A job folder. `state` is what job.json says: spider, seeds, started_at, finished …"""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state: dict[str, Any] = {}

    def open(self) -> Job:
        """Make the folder if need be and read its state; JobError when it cannot be used."""
        path = self.folder / "job.json"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not os.access(self.folder, os.W_OK | os.X_OK):
                raise PermissionError(13, "Permission denied")
            if path.exists():
                self.state = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise JobError(
                f"cannot write to the job folder {self.folder}: {error.strerror or error}"
            ) from None
        except ValueError:
            raise JobError(
                f"{path} is damaged: it is no JSON; remove it to go on, or use another job folder"
            ) from None
        if not isinstance(self.state, dict):
            raise JobError(f"{path} is damaged: use another job folder")
        version = self.state.get("version", VERSION)
        if not isinstance(version, int) or version > VERSION:
            raise JobError(
                f"the job folder {self.folder} was written by a newer version of webcrawler "
                f"(format {version}, this one reads up to {VERSION}): upgrade, or use another job"
            )
        return self

    def update(self, **changes: Any) -> None:
        """Change the state on disk."""
        self.state.update(changes, version=VERSION)
        write_json(self.folder / "job.json", self.state)


def write_json(path: Path, value: Any) -> None:
    """Replace a JSON file in one step: readers see the old one or the new one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(value, indent=2, default=str) + "\n", encoding="utf-8")
    temporary.replace(path)


def job_name(*parts: str) -> str:
    """A folder name of such parts as a spider's name and a host."""
    name = "-".join(re.sub(r"[^\w.-]+", "_", part) for part in parts if part)
    return name.strip(".")[:120] or "crawl"


def is_job_name(name: str) -> bool:
    """Whether a name a user gave can be a folder's name."""
    return bool(re.fullmatch(r"[\w][\w.@+-]{0,119}", name))
