"""Small valid files of other types, written by hand so that their bytes never change."""

from __future__ import annotations

from hashlib import shake_128
from struct import pack
from typing import TYPE_CHECKING
from zlib import adler32, crc32

if TYPE_CHECKING:
    from collections.abc import Sequence


def stored_gzip(data: bytes) -> bytes:
    """A gzip file without compression: compressed bytes would depend on the zlib at hand."""
    head = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
    return head + _stored_deflate(data) + pack("<II", crc32(data), len(data) & 0xFFFFFFFF)


def png(name: str) -> bytes:
    """A grey image of eight by eight dots, which the name decides."""
    dots = shake_128(name.encode()).digest(64)
    rows = b"".join(b"\x00" + dots[row : row + 8] for row in range(0, 64, 8))
    packed = b"\x78\x01" + _stored_deflate(rows) + pack(">I", adler32(rows))
    return (
        b"\x89PNG\r\n\x1a\n"
        + _png_chunk(b"IHDR", pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0))
        + _png_chunk(b"IDAT", packed)
        + _png_chunk(b"IEND", b"")
    )


def binary(name: str) -> bytes:
    """Bytes without meaning."""
    return b"\x00\xff" + shake_128(name.encode()).digest(2046)


def pdf(title: str, paragraphs: Sequence[str], url: str) -> bytes:
    """One page of text, with one link to the URL."""
    lines = [line for text in (title, *paragraphs) for line in _wrapped(text, 80)][:50]
    shown = "\n".join(f"({_pdf_text(line)}) Tj T*" for line in lines)
    content = f"BT /F1 11 Tf 14 TL 50 780 Td\n{shown}\nET".encode("latin-1")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> /Annots [6 0 R] >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        b"<< /Type /Annot /Subtype /Link /Rect [50 50 300 70] /Border [0 0 0]"
        b" /A << /S /URI /URI (%s) >> >>" % _pdf_text(url).encode("latin-1"),
        b"<< /Title (%s) >>" % _pdf_text(title).encode("latin-1"),
    ]
    out = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    offsets = []
    for index, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (index, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<< /Size %d /Root 1 0 R /Info 7 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        start,
    )
    return bytes(out)


def rss(title: str, home: str, items: Sequence[tuple[str, str]]) -> bytes:
    """An RSS feed of (URL, title) items."""
    shown = "".join(
        f"<item><title>{name}</title><link>{url}</link><guid>{url}</guid></item>\n"
        for url, name in items
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0"><channel>\n'
        f"<title>{title}</title><link>{home}</link><description>{title}</description>\n"
        f"{shown}</channel></rss>\n"
    ).encode()


def atom(title: str, home: str, items: Sequence[tuple[str, str]]) -> bytes:
    """An Atom feed of (URL, title) entries."""
    shown = "".join(
        f'<entry><title>{name}</title><link href="{url}"/><id>{url}</id>'
        "<updated>2024-01-01T00:00:00Z</updated></entry>\n"
        for url, name in items
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f'<title>{title}</title><link href="{home}"/><id>{home}</id>'
        f"<updated>2024-01-01T00:00:00Z</updated>\n{shown}</feed>\n"
    ).encode()


def _stored_deflate(data: bytes) -> bytes:
    blocks = [data[start : start + 65535] for start in range(0, len(data), 65535)] or [b""]
    return b"".join(
        pack("<BHH", index == len(blocks) - 1, len(block), len(block) ^ 0xFFFF) + block
        for index, block in enumerate(blocks)
    )


def _png_chunk(kind: bytes, data: bytes) -> bytes:
    return pack(">I", len(data)) + kind + data + pack(">I", crc32(kind + data))


def _pdf_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _wrapped(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] += word + " "
    return lines
