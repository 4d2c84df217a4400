"""What a tag is, told by its first four letters, for all tags of a page at once.

Four letters are five bits each, which makes an index into a table of a million entries: names that
begin alike (base and basefont) are told apart by whoever needs to know.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

# The first two differ only in the gap that they make in a text.
GAP, INLINE, LITERAL, BOGUS, COMMENT = range(5)
A, AREA, BASE, BODY, FOREIGN, HTML, IFRAME, IMG, LINK, META = range(5, 15)
NOSCRIPT, SCRIPT, SELECT, STYLE, TEXTAREA, TITLE, UNUSUAL = range(15, 22)
_KIND_COUNT: Final = 22

# Elements that stand within a word or a line, the frequent ones first. All others make a gap:
# rather a word too many than two glued together.
INLINE_NAMES: Final = (
    *("span", "a", "code", "b", "i", "em", "strong", "sub", "sup", "small", "u", "s", "tt", "font"),
    *("mark", "abbr", "cite", "q", "kbd", "var", "samp", "time", "big", "ins", "del", "bdi", "bdo"),
    *("wbr", "nobr", "acronym", "dfn", "ruby", "strike"),
)
_SPECIAL_NAMES: Final = {
    "a": A,
    "area": AREA,
    "base": BASE,
    "body": BODY,
    "html": HTML,
    "iframe": IFRAME,
    "image": IMG,  # so says the standard
    "img": IMG,
    "link": LINK,
    "math": FOREIGN,
    "meta": META,
    "noscript": NOSCRIPT,
    "script": SCRIPT,
    "select": SELECT,
    "style": STYLE,
    "svg": FOREIGN,
    "textarea": TEXTAREA,
    "title": TITLE,
    # What comes after these is not read as it stands.
    **dict.fromkeys(
        ("frame", "frameset", "noembed", "noframes", "plaintext", "template", "xmp"), UNUSUAL
    ),
}

_ENDS: Final = b"\t\n\f />"
_OTHER: Final = 27


def _codes() -> npt.NDArray[np.uint8]:
    """Five bits for every byte: 0 ends a name, letters count from 1, nothing else is in names."""
    codes = np.full(256, _OTHER, np.uint8)
    codes[list(_ENDS)] = 0
    for number in range(26):
        codes[[ord("a") + number, ord("A") + number]] = number + 1
    return codes


def _place(name: str) -> int:
    return sum((ord(letter) - ord("a") + 1) << 5 * i for i, letter in enumerate(name[:4]))


def _kinds() -> npt.NDArray[np.uint8]:
    kinds = np.full(1 << 20, GAP, np.uint8)
    kinds[[_place(name) for name in INLINE_NAMES]] = INLINE
    for name, kind in _SPECIAL_NAMES.items():
        kinds[_place(name)] = kind
    return kinds


_CODES: Final = _codes()
_KINDS: Final = _kinds()
_SLASH: Final = ord("/")

# By the byte behind the "<".
_ODD_KINDS: Final = np.full(256, LITERAL, np.uint8)
_ODD_KINDS[list(b"/!?")] = BOGUS
_COMMENT_WORD: Final = int.from_bytes(b"<!--", "little")


def kind_set(*kinds: int) -> npt.NDArray[np.bool_]:
    """A table that says of every kind whether it is one of these."""
    table = np.zeros(_KIND_COUNT, np.bool_)
    table[list(kinds)] = True
    return table


def kinds_of(
    markup: bytes, array: npt.NDArray[np.uint8], starts: npt.NDArray[np.intp]
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.bool_]]:
    """The kind of what begins at each "<", and whether it is a closing tag.

    Five bytes must follow the last of them.
    """
    is_closing = array[starts + 1] == _SLASH
    # Four bytes at every position, whether aligned or not.
    words = np.ndarray((len(markup) - 3,), "<u4", markup, strides=(1,))
    letters = _CODES.take(words[starts + 1 + is_closing].view(np.uint8)).view("<u4")
    first = letters & 0xFF
    # Nothing counts behind the byte that ends a name: the lowest that is zero.
    zeros = (letters - np.uint32(0x01010101)) & ~letters & np.uint32(0x80808080)
    letters &= (zeros & -zeros) - np.uint32(1)
    places = letters & 0x1F
    for letter in (1, 2, 3):
        places |= (letters >> np.uint32(3 * letter)) & np.uint32(0x1F << 5 * letter)
    kinds = _KINDS.take(places)
    odd = np.flatnonzero((first == 0) | (first == _OTHER))
    if odd.size:
        # No letter where a name would begin: comments, declarations, a "<" in a text.
        kinds[odd] = _ODD_KINDS.take(array[starts[odd] + 1])
        kinds[odd[words[starts[odd]] == _COMMENT_WORD]] = COMMENT
        is_closing[odd] = False
    return kinds, is_closing
