"""The content-seen test: has another URL already given this very document?

Table `content` has two kinds of rows, so that a page that changes takes its claim along:

    d + checksum     → fingerprint of the first URL with this content, the original
    u + fingerprint  → the checksum that this URL is the original of

One holds exactly where the other does. When an original is fetched again and has changed,
its old `d` row goes, and the next page with the old content becomes the original. Without
this, an article that moves from the front page to a page of its own would be called a copy of
what is no longer there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from webcrawler.dedup.checksum import EMPTY
from webcrawler.dedup.reading import Reading

if TYPE_CHECKING:
    from webcrawler.dedup.reading import Steps
    from webcrawler.tables import Batch

CONTENT: Final = "content"


@dataclass(frozen=True, slots=True)
class Seen:
    """What the content-seen test found out about a page.

    `original` is the fingerprint of the URL this page is a copy of, or None. `write` appends
    what is to be remembered to the page's batch; it is called once, duplicate or not.
    """

    fingerprint: int
    digest: int
    original: int | None
    previous: int | None

    def write(self, batch: Batch) -> None:
        owns = self.original is None and self.digest != EMPTY
        if owns and self.previous == self.digest:
            return
        if self.previous is not None:
            batch.delete(CONTENT, digest_key(self.previous))
        if owns:
            batch.put(CONTENT, digest_key(self.digest), pack_number(self.fingerprint))
            batch.put(CONTENT, url_key(self.fingerprint), pack_number(self.digest))
        elif self.previous is not None:
            batch.delete(CONTENT, url_key(self.fingerprint))


class ContentSeen:
    """The content-seen test on the table `content`: one reading of two keys a page.

    A page is never a duplicate of its own past: fetched again and unchanged, it is still the
    original. Pages that end at the same moment on two workers may both become the original
    of the same content; that costs one copy kept, and nothing else.
    """

    def examine(self, fingerprint: int, digest: int) -> Steps[Seen]:
        """Steps to what is known about a document with this checksum at this URL."""
        values = yield Reading(CONTENT, [digest_key(digest), url_key(fingerprint)])
        owner, previous = unpack_number(values[0]), unpack_number(values[1])
        if owner == fingerprint or digest == EMPTY:
            owner = None
        return Seen(fingerprint, digest, owner, previous)

    def forget(self, fingerprint: int) -> Steps[Seen]:
        """Steps to a finding whose `write` removes a page that is gone."""
        return self.examine(fingerprint, EMPTY)


def digest_key(digest: int) -> bytes:
    return b"d" + pack_number(digest)


def url_key(fingerprint: int) -> bytes:
    return b"u" + pack_number(fingerprint)


def pack_number(number: int) -> bytes:
    """A 64-bit number as it stands in keys and values."""
    return number.to_bytes(8, "big")


def unpack_number(value: bytes | None) -> int | None:
    """The number, or None where there is no row or it is not one of ours."""
    return int.from_bytes(value, "big") if value is not None and len(value) == 8 else None
