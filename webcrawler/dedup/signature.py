"""Signatures: what is stored and compared of a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webcrawler.dedup.shingles import Shingler
from webcrawler.dedup.sketch import Sketcher, pack

if TYPE_CHECKING:
    from typing import Self


class Signer:
    """Makes a text's signature: its packed sketch, or the hash of a short text as a whole."""

    def __init__(self, shingler: Shingler, sketcher: Sketcher, min_shingles: int) -> None:
        self.shingler = shingler
        self.sketcher = sketcher
        self.min_shingles = min_shingles

    def sign(self, text: str) -> bytes | None:
        """What is stored and compared of a text; None where it has no words."""
        words = self.shingler.words(text)
        if not words.size:
            return None
        shingles = self.shingler.shingles(words)
        if shingles.size < self.min_shingles:
            return self.shingler.exact(words)
        return pack(self.sketcher.sketch(shingles))

    def pack(self) -> tuple[Any, ...]:
        """Plain values from which another process makes the same, without datasketch."""
        shingler = (self.shingler.size, self.shingler.max_characters)
        return shingler, self.sketcher.arrays, self.min_shingles

    @classmethod
    def unpack(cls, packed: tuple[Any, ...]) -> Self:
        shingler, arrays, min_shingles = packed
        return cls(Shingler(*shingler), Sketcher(*arrays), min_shingles)
