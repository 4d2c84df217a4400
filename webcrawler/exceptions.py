"""What can go wrong, and who is to be told.

WebcrawlerError
├── UserError              one sentence for the person at the keyboard; exit code 2
│   ├── ArgumentError      a spider argument
│   ├── SettingError       a setting
│   └── JobError           the job folder: unreadable, unwritable, newer, finished, in use
└── StoreError             the frontier's store: full disk, corrupt, gone
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self


class WebcrawlerError(Exception):
    """The root of the tree."""


class UserError(WebcrawlerError):
    """Something a user can cause and mend: shown as one sentence, never as a traceback."""


class ArgumentError(UserError):
    """A spider argument that cannot be understood."""

    def __init__(self, name: str, value: object, right_form: str) -> None:
        super().__init__(f"argument {name}={_shown(value)} is not understood: {right_form}")
        self.name = name
        self.value = value


class SettingError(UserError):
    """A setting whose value is not allowed."""

    def __init__(self, name: str, value: object, allowed: str) -> None:
        super().__init__(f"setting {name}={_shown(value)} is not allowed: {allowed}")
        self.name = name
        self.value = value


class JobError(UserError):
    """A job folder that cannot be used as asked."""


class StoreError(WebcrawlerError):
    """The frontier's store cannot go on: a full disk, a corrupt file, a lost server."""

    @classmethod
    def of(cls, error: BaseException, path: Path, otherwise: str) -> Self:
        """What went wrong at a path: a full disk has one sentence, whatever met it first."""
        if "no space left" in str(error).lower():
            otherwise = (
                f"the disk with {path} is full: free some space and start the same command "
                f"again; nothing that was committed is lost"
            )
        return cls(otherwise)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 120 else text[:117] + "..."
