"""PDF, read in a process of its own."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import pytest

from webcrawler.documents import Options, PDFDocument, open_document, pdf
from webcrawler.items import Link

URL = "http://a.example/dir/x.pdf"


def make(*pages: str, uri: str = "", extra: str = "") -> bytes:
    """A small PDF with one line of text on each page, and a link on each."""
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R /Lang (en-GB) {extra} >>",
        "<< /Type /Pages /Kids [{kids}] /Count {count} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        "<< /Title (A  Title) >>",
    ]
    kids = []
    for line in pages:
        stream = f"BT /F1 12 Tf 72 700 Td ({line}) Tj ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        annotations = (
            f"/Annots [<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] "
            f"/A << /S /URI /URI ({uri}) >> >>]"
            if uri
            else ""
        )
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {len(objects)} 0 R "
            f"/Resources << /Font << /F1 3 0 R >> >> {annotations} >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = objects[1].format(kids=" ".join(kids), count=len(kids))
    out, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{content}\nendobj\n".encode()
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    trailer = f"trailer << /Size {len(objects) + 1} /Root 1 0 R /Info 4 0 R >>\n"
    start = f"startxref\n{len(out)}\n%%EOF"
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{trailer}{start}".encode()
    return out


def opened(body: bytes, **options: Any) -> PDFDocument:
    document = open_document(body, URL, "application/pdf", options=Options(**options))
    assert isinstance(document, PDFDocument)
    return document


def test_a_pdf() -> None:
    body = make("Hello page one", "See http://b.example/written.", uri="../other.html#x")
    document = opened(body)
    assert document.text == "Hello page one See http://b.example/written."
    assert document.title == "A Title"
    assert document.language == "en-gb"
    assert document.links == [
        Link("http://a.example/other.html", "", "", "pdf"),
        Link("http://a.example/other.html", "", "", "pdf"),
        Link("http://b.example/written", "", "", "pdf"),
    ]
    assert document.problems == []


def test_an_annotated_url_that_is_written_too_counts_once() -> None:
    document = opened(make("http://b.example/x", uri="http://b.example/x"))
    assert [link.url for link in document.links] == ["http://b.example/x"]


def test_other_schemes_are_no_links() -> None:
    assert opened(make("x", uri="javascript:x")).links == []


def test_limits() -> None:
    body = make(*["some words"] * 5)
    document = opened(body, max_pdf_pages=2)
    assert document.text == "some words some words"
    assert document.problems == ["truncated"]
    document = opened(body, max_text_chars=14)
    assert document.text == "some words som"
    assert document.problems == ["truncated"]
    document = opened(body, max_pdf_bytes=100)
    assert document.text == ""
    assert document.problems == ["truncated"]


@pytest.mark.parametrize("cut", [6, 100, 400])
def test_damaged(cut: int) -> None:
    document = opened(make("text")[:cut])
    assert document.links == []
    assert document.title == ""
    assert document.problems in (["unparseable"], [])


def test_it_is_not_read_before_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    original = subprocess.run
    monkeypatch.setattr(pdf.subprocess, "run", lambda *a, **k: calls.append(1) or original(*a, **k))
    document = opened(make("text"))
    assert (document.mime, calls) == ("application/pdf", [])
    assert (document.text, document.links, document.title) == ("text", [], "A Title")
    assert calls == [1]


def test_a_crash_and_a_loop_end_with_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "_program", lambda: "import os; os.abort()")
    document = opened(make("text"))
    assert document.text == ""
    assert document.problems == ["unparseable"]
    monkeypatch.setattr(pdf, "_program", lambda: "while True: pass")
    document = opened(make("text"), max_pdf_secs=0.2)
    assert document.text == ""
    assert document.problems == ["truncated"]


def test_ctrl_c_on_the_terminal_does_not_reach_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes to a whole process group; this page would lose its text and its links."""
    program = 'import os; print(\'{"problems": [], "title": "%d"}\' % os.getpgid(0))'
    monkeypatch.setattr(pdf, "_program", lambda: program)
    assert int(opened(make("text")).title) != os.getpgid(0)


def test_pages_that_contain_themselves_end() -> None:
    body = make("text").replace(b"/Kids [6 0 R]", b"/Kids [2 0 R]")
    assert isinstance(opened(body).text, str)
