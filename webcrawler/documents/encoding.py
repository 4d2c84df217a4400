"""Which characters the bytes stand for, found out as browsers do.

In this order: a byte order mark; the charset of the Content-Type header; what the document
declares about itself; what the bytes look like. Labels mean what the WHATWG Encoding Standard
says they mean on the web (`latin1` is windows-1252).
"""

from __future__ import annotations

import codecs
from functools import lru_cache
from typing import NamedTuple

from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5

from webcrawler.documents.prescan import declared_in_html, declared_in_xml


class Encoding(NamedTuple):
    """The WHATWG name, and the Python codec that decodes it most nearly as the standard does."""

    name: str
    codec: str


class Decoded(NamedTuple):
    """A body as text. `is_clean` is false when bytes that mean no character were replaced."""

    text: str
    encoding: Encoding
    is_clean: bool


UTF_8 = Encoding("utf-8", "utf-8")
UTF_16LE = Encoding("utf-16le", "utf-16-le")
UTF_16BE = Encoding("utf-16be", "utf-16-be")
WINDOWS_1252 = Encoding("windows-1252", "cp1252")

_MARKS = (
    (codecs.BOM_UTF8, UTF_8),
    (codecs.BOM_UTF16_LE, UTF_16LE),
    (codecs.BOM_UTF16_BE, UTF_16BE),
)

# Where resiliparse's name for an encoding is not the standard's name, or where another codec is
# nearer to what the standard means by it. The others follow two rules, see `encoding_for`.
_SPECIAL = {
    "big5": Encoding("big5", "big5hkscs"),
    "cp866": Encoding("ibm866", "cp866"),
    "euc_jp": Encoding("euc-jp", "euc_jp"),
    "euc_kr": Encoding("euc-kr", "cp949"),
    "gbk": Encoding("gbk", "gb18030"),
    "iso2022_jp": Encoding("iso-2022-jp", "iso2022_jp"),
    "iso8859-11": Encoding("windows-874", "cp874"),
    "mac-roman": Encoding("macintosh", "mac-roman"),
    "shift_jis": Encoding("shift_jis", "cp932"),
    "utf-16-be": UTF_16BE,
    "utf-16-le": UTF_16LE,
    "utf-8": UTF_8,
}
_UNKNOWN_TO_RESILIPARSE = {
    "x-mac-cyrillic": Encoding("x-mac-cyrillic", "mac-cyrillic"),
    "x-mac-ukrainian": Encoding("x-mac-cyrillic", "mac-cyrillic"),
    "x-user-defined": WINDOWS_1252,  # what the standard's prescan makes of it
}

# How much of the body the detection of the last resort looks at.
_DETECTED_BYTES = 1 << 16


@lru_cache(maxsize=512)
def encoding_for(label: str) -> Encoding | None:
    """The encoding that a label means on the web; None when it means none."""
    if not label.isascii():
        return None
    label = label.strip("\t\n\f\r ").lower()
    if label in _UNKNOWN_TO_RESILIPARSE:
        return _UNKNOWN_TO_RESILIPARSE[label]
    mapped = map_encoding_to_html5(label, fallback_utf8=False)
    if mapped is None:
        return None
    mapped = mapped.lower()
    if mapped in _SPECIAL:
        return _SPECIAL[mapped]
    name = mapped.replace("cp125", "windows-125").replace("iso8859", "iso-8859")
    return Encoding(name, mapped)


def decode_html(body: bytes, charset: str) -> Decoded:
    """Decode an HTML body whose Content-Type header said `charset` ("" for nothing)."""
    declared = _marked(body) or (encoding_for(charset) if charset else None)
    if declared is None:
        label = declared_in_html(body, is_known=_is_known)
        declared = encoding_for(label) if label else None
        if declared in (UTF_16LE, UTF_16BE):
            # Whoever could read the declaration was not reading UTF-16; except where it is an
            # XML declaration in UTF-16, which `declared_in_html` recognises by its zero bytes.
            declared = declared if b"\0" in body[:6] else UTF_8
    return _decode(body, declared)


def decode_xml(body: bytes, charset: str) -> Decoded:
    """Decode an XML body: as HTML, but declared otherwise, and UTF-8 where nothing is said."""
    declared = _marked(body) or (encoding_for(charset) if charset else None)
    if declared is None:
        label = declared_in_xml(body)
        declared = encoding_for(label) if label else None
        if declared in (UTF_16LE, UTF_16BE) and b"\0" not in body[:6]:
            declared = UTF_8
    return _decode(body, declared)


def decode_text(body: bytes, charset: str) -> Decoded:
    """Decode plain text."""
    return _decode(body, _marked(body) or (encoding_for(charset) if charset else None))


def _marked(body: bytes) -> Encoding | None:
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return encoding
    return None


def _is_known(label: str) -> bool:
    return encoding_for(label) is not None


def _decode(body: bytes, declared: Encoding | None) -> Decoded:
    if declared is None:
        return _decode_undeclared(body)
    try:
        text, is_clean = body.decode(declared.codec), True
    except UnicodeDecodeError:
        text, is_clean = body.decode(declared.codec, "replace"), False
    if text.startswith("\ufeff"):
        text = text[1:]
    return Decoded(text, declared, is_clean)


def _decode_undeclared(body: bytes) -> Decoded:
    if body.isascii():
        # The standard's name for bytes that give no hint.
        return Decoded(body.decode("ascii"), WINDOWS_1252, True)
    try:
        # A body that was cut off may end in the middle of a character: not final.
        return Decoded(codecs.utf_8_decode(body, "strict", False)[0], UTF_8, True)
    except UnicodeDecodeError:
        pass
    detected = encoding_for(detect_encoding(body, max_len=_DETECTED_BYTES)) or WINDOWS_1252
    if detected == UTF_8:
        # The detector's word for "no idea" too. Where most of it is UTF-8, some bytes are wrong.
        text = body.decode("utf-8", "replace")
        if text.count("\ufffd") * 4 < sum(1 for byte in body[:_DETECTED_BYTES] if byte > 0x7F):
            return Decoded(text, UTF_8, False)
        detected = WINDOWS_1252
    return _decode(body, detected)
