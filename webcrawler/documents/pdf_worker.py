"""Reads one PDF from standard input, in a process of its own; run by `pdf`, never imported there.

Imports nothing of this package, so that it starts fast. The arguments are the limits: pages,
characters, links, bytes of memory, seconds of processor time. Writes one JSON object.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import sys
from typing import Any

_ENCRYPTED = 4  # FPDF_ERR_PASSWORD
_MAX_URL_BYTES = 16_384


def main() -> None:
    """The life of the process."""
    pages, characters, links, memory, seconds = (int(argument) for argument in sys.argv[1:6])
    _limit(memory, seconds)
    body = sys.stdin.buffer.read()
    found = {"title": "", "language": "", "texts": [], "links": [], "problems": []}
    with contextlib.suppress(MemoryError):
        read(body, pages, characters, links, found)
    sys.stdout.write(json.dumps(found))


def read(body: bytes, pages: int, characters: int, links: int, found: dict[str, Any]) -> None:
    """Put what can be had into `found`."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(body)
        count = len(document)
    except pypdfium2.PdfiumError as error:
        encrypted = getattr(error, "err_code", None) == _ENCRYPTED or "assword" in str(error)
        found["problems"].append("encrypted" if encrypted else "unparseable")
        return
    if count > pages:
        found["problems"].append("truncated")
    with contextlib.suppress(pypdfium2.PdfiumError):
        found["title"] = document.get_metadata_value("Title")[:1000]
    found["language"] = _language(document)
    room = characters
    for number in range(min(count, pages)):
        try:
            page = document[number]
            text = page.get_textpage().get_text_bounded()
        except pypdfium2.PdfiumError:
            if "unparseable" not in found["problems"]:
                found["problems"].append("unparseable")
            continue
        found["texts"].append(text[:room])
        room -= len(text)
        found["links"].extend(_links(document, page, links - len(found["links"])))
        if room < 0 or len(found["links"]) >= links:
            found["problems"].append("truncated")
            return


def _links(document: Any, page: Any, limit: int) -> list[str]:
    """The URIs of a page's link annotations."""
    from pypdfium2 import raw

    position, link = ctypes.c_int(0), raw.FPDF_LINK()
    urls: list[str] = []
    while len(urls) < limit and raw.FPDFLink_Enumerate(page, position, link):
        action = raw.FPDFLink_GetAction(link)
        if not action or raw.FPDFAction_GetType(action) != raw.PDFACTION_URI:
            continue
        length = raw.FPDFAction_GetURIPath(document, action, None, 0)
        if 0 < length <= _MAX_URL_BYTES:
            buffer = ctypes.create_string_buffer(length)
            raw.FPDFAction_GetURIPath(document, action, buffer, length)
            urls.append(buffer.value.decode("utf-8", "replace"))
    return urls


def _language(document: Any) -> str:
    from pypdfium2 import raw

    if not hasattr(raw, "FPDFCatalog_GetLanguage"):
        return ""  # a PDFium from before 2025
    length = raw.FPDFCatalog_GetLanguage(document, None, 0)
    if not 0 < length <= 200:
        return ""
    buffer = ctypes.create_string_buffer(length)
    wide = ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort))
    raw.FPDFCatalog_GetLanguage(document, wide, length)
    return buffer.raw[:length].decode("utf-16-le", "replace").rstrip("\0")


def _limit(memory: int, seconds: int) -> None:
    try:
        import resource
    except ImportError:  # not on Windows, where the parent's patience is the only limit
        return
    limits = (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_CORE, 0),
    )
    for kind, value in limits:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (value, value))


if __name__ == "__main__":
    main()
