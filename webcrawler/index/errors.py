"""What the index tells a person.

UserError
├── QueryError            a query that cannot be understood; also a ValueError
└── IndexUnusableError    an index folder that cannot be read or written
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawler.exceptions import UserError

if TYPE_CHECKING:
    from pathlib import Path


class QueryError(UserError, ValueError):
    """A query that cannot be understood: one sentence that says what is wrong with it."""


class IndexUnusableError(UserError):
    """An index folder that cannot be used, and why."""

    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(f"the index in {folder} cannot be used: {reason}")
        self.folder = folder
        self.reason = reason
