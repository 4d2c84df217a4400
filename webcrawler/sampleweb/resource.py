"""What is to be found under a URL of the sample web, told without fetching it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Resource:
    """The truth about one URL.

    `status` is the lasting one: a flaky page answers otherwise `failures` times before. 0 is a
    connection reset. `location` is the target of an HTTP redirect, `original` the URL that a copy
    was made from, `nickname` a word that is found in anchors only.
    """

    url: str
    kind: str
    status: int
    content_type: str = ""
    language: str = ""
    location: str | None = None
    canonical: str | None = None
    original: str | None = None
    noindex: bool = False
    nofollow: bool = False
    failures: int = 0
    delay: float = 0.0
    is_truncated: bool = False
    nickname: str = ""

    @property
    def is_page(self) -> bool:
        """Whether a crawler that collects HTML has it after a complete crawl."""
        return (
            self.status == 200
            and not self.is_truncated
            and self.content_type.startswith(("text/html", "application/xhtml+xml"))
        )
