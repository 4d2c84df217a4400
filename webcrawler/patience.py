"""A regular expression of somebody's that may not take for ever.

Some expressions need longer than the world will last for a text of a hundred letters (`(a+)+$`),
and while one is matched nothing else happens in the process. Signals are let in, so a timer ends
it.
"""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

from webcrawler.exceptions import JobError

if TYPE_CHECKING:
    from types import FrameType

SECS = 1.0  # for one text; a good expression needs microseconds


class PatientPattern:
    """Searched as `re.Pattern` is, but a search ends after a second. Only in the main thread."""

    def __init__(self, text: str, secs: float = SECS) -> None:
        try:
            self._pattern = re.compile(text)
        except (re.error, OverflowError, RecursionError) as error:
            raise JobError(f"{text} is no regular expression: {error}") from None
        self._text = text
        self._secs = secs

    def search(self, text: str) -> bool:
        """Whether it is found. JobError when that takes too long."""
        before = signal.signal(signal.SIGALRM, self._too_long)
        signal.setitimer(signal.ITIMER_REAL, self._secs)
        try:
            return self._pattern.search(text) is not None
        except TimeoutError:
            raise JobError(
                f"{self._text} takes more than {self._secs:g} s on {text[:200]}: say it in "
                "another way; what was dropped before stays so"
            ) from None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    @staticmethod
    def _too_long(number: int, frame: FrameType | None) -> None:
        raise TimeoutError
