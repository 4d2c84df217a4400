"""Digests as WARC labels them: `sha1:` and base 32, as is customary, or `sha256:` and base 16."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import TYPE_CHECKING

from webcrawler.exceptions import SettingError

if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import ReadableBuffer

    Hasher = Callable[[ReadableBuffer], "hashlib._Hash"]

#: By its label: the algorithm's place in packed entries, which must never change, and its length.
ALGORITHMS: dict[str, tuple[int, int]] = {
    "sha1": (1, 20),
    "sha256": (2, 32),
    "md5": (3, 16),
    "sha512": (4, 64),
}
WRITTEN = ("sha1", "sha256")


def hasher(algorithm: str) -> Hasher:
    """The function that starts a digest with some bytes."""
    if algorithm == "sha1":
        return _sha1
    if algorithm == "sha256":
        return hashlib.sha256
    raise SettingError("ARCHIVE_DIGEST", algorithm, f"one of {', '.join(WRITTEN)}")


def _sha1(data: ReadableBuffer) -> hashlib._Hash:
    return hashlib.sha1(data, usedforsecurity=False)


def label(algorithm: str, value: bytes) -> str:
    """The digest as it stands in a record's head."""
    if algorithm == "sha1":
        return f"sha1:{base64.b32encode(value).decode('ascii')}"
    return f"{algorithm}:{value.hex()}"


def parse_label(text: str) -> tuple[str, bytes] | None:
    """Algorithm and value of a label, in whichever base it is written; None when unknown."""
    algorithm, _, written = text.strip().partition(":")
    algorithm = algorithm.lower().replace("-", "")
    if algorithm not in ALGORITHMS:
        return None
    length = ALGORITHMS[algorithm][1]
    try:
        if len(written) == 2 * length:
            value = bytes.fromhex(written)
        elif len(written.rstrip("=")) == -(-length * 8 // 5):
            bare = written.rstrip("=")
            value = base64.b32decode(bare + "=" * (-len(bare) % 8), casefold=True)
        else:
            value = base64.b64decode(written.replace("-", "+").replace("_", "/"), validate=True)
    except (ValueError, binascii.Error):
        return None
    return (algorithm, value) if len(value) == length else None


def start(algorithm: str) -> hashlib._Hash:
    """A digest to be fed piece by piece, for checking; any algorithm of `ALGORITHMS`."""
    return hashlib.new(algorithm, usedforsecurity=False)
