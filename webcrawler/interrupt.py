"""Ctrl-C before anything listens for it: a word instead of a traceback through imports."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType


def end_quietly() -> None:
    """Let a Ctrl-C that nobody catches end this process so; it still ends by the signal."""
    sys.excepthook = _say


def _say(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        print("stopped", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, traceback)
