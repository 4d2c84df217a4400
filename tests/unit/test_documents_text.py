"""Plain text."""

from __future__ import annotations

import pytest

from webcrawler.documents import Options, TextDocument, open_document


def text(body: str, **options: int) -> TextDocument:
    document = open_document(
        body.encode(), "http://a.example/t.txt", "text/plain", options=Options(**options)
    )
    assert isinstance(document, TextDocument)
    return document


@pytest.mark.parametrize(
    ("body", "urls"),
    [
        ("see http://b.example/x.", ["http://b.example/x"]),
        ("(http://b.example/x)", ["http://b.example/x"]),
        ("http://b.example/x_(y), and", ["http://b.example/x_(y)"]),
        ('<http://b.example/x> "HTTPS://C.example"', ["http://b.example/x", "https://c.example/"]),
        ("http://b.example/x#f http://b.example/x", ["http://b.example/x"] * 2),
        ("[http://b.example/x]: http://", ["http://b.example/x"]),
        ("http://a.example/t.txt", []),
        ("ftp://b.example/x mailto:a@b.example www.b.example", []),
        ("http://[ http://b.example/y", ["http://b.example/y"]),
        ("http://b.example/" + ")" * 5000, []),
    ],
)
def test_links(body: str, urls: list[str]) -> None:
    assert [link.url for link in text(body).links] == urls


def test_text_and_language() -> None:
    body = "Der schnelle\n\n\tbraune Fuchs springt über den faulen Hund, und der Hund schläft."
    document = text(body)
    assert document.text == " ".join(body.split())
    assert document.main_text == document.text
    assert (document.language, document.encoding, document.title) == ("de", "utf-8", "")


def test_latin1() -> None:
    document = open_document("é".encode("latin-1"), "", "text/plain; charset=iso-8859-1")
    assert (document.text, document.encoding, document.problems) == ("é", "windows-1252", [])


def test_limits() -> None:
    document = text("http://b.example/x " * 1000, max_links=5, max_text_chars=50)
    assert len(document.links) == 5
    assert len(document.text) == 50
    assert document.problems == ["truncated"]
    assert len(text("x" * 1000, max_text_bytes=10).text) == 10
