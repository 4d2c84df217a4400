"""Encodings, found out as browsers do."""

from __future__ import annotations

import json

import pytest

from tests.suites import suite_path
from webcrawler.documents import open_document
from webcrawler.documents.encoding import decode_html, decode_xml, encoding_for

# Cases of the suite that we answer otherwise, each with its reason: none.
EXCEPTIONS: dict[str, str] = {}


def test_suite() -> None:
    cases = json.loads(suite_path("html/html5lib_encoding.json").read_text())
    wrong = []
    for case in cases:
        body = case["data_latin1"].encode("latin-1")
        found = decode_html(body, "").encoding.name
        if found != case["encoding"] and case["data_latin1"] not in EXCEPTIONS:
            wrong.append((body[:200], case["encoding"], found))
    assert len(cases) > 80
    assert wrong == []


def html(body: bytes, header: str = "text/html") -> tuple[str, str, list[str]]:
    document = open_document(body, "http://a.example/", header)
    return document.text, document.encoding, document.problems


def test_the_mark_beats_the_header_beats_the_meta() -> None:
    meta = b"<meta charset=koi8-r>"
    assert html(b"\xef\xbb\xbf" + meta + "ü".encode(), "text/html; charset=latin1") == (
        "ü",
        "utf-8",
        [],
    )
    assert html(meta + b"\xfc", "text/html; charset=latin1") == ("ü", "windows-1252", [])
    assert html(meta + "ю".encode("koi8-r")) == ("ю", "koi8-r", [])


def test_an_unknown_charset_counts_as_none() -> None:
    assert html(b"<meta charset=koi8-r>\xc0", "text/html; charset=klingon")[1] == "koi8-r"
    assert html(b"<meta charset=klingon>abc")[1] == "windows-1252"


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf_16_by_its_mark(codec: str) -> None:
    body = ("\ufeff<title>t</title><p>Ünïcode <a href=/x>link</a>").encode(codec)
    document = open_document(body, "http://a.example/", "text/html")
    assert document.text == "Ünïcode link"
    assert document.encoding == codec.replace("utf-16-", "utf-16")
    assert [link.url for link in document.links] == ["http://a.example/x"]


def test_undeclared_content_is_looked_at() -> None:
    russian = "Съешь же ещё этих мягких французских булок, да выпей чаю. " * 5
    assert html(russian.encode())[:2] == (russian.strip(), "utf-8")
    assert html(russian.encode("cp1251"))[0] == russian.strip()
    japanese = "これは日本語の文章です。文字コードを推定します。" * 5
    assert html(japanese.encode("shift_jis"))[:2] == (japanese, "shift_jis")


def test_a_wrong_charset_replaces_and_says_so() -> None:
    text, encoding, problems = html(b"<p>caf\xe9 au lait", "text/html; charset=utf-8")
    assert (text, encoding, problems) == ("caf\ufffd au lait", "utf-8", ["encoding"])


def test_a_body_cut_within_a_character_is_still_utf_8() -> None:
    body = ("<p>" + "grüße " * 50 + "ü").encode()[:-1]
    assert html(body)[1:] == ("utf-8", [])


def test_some_wrong_bytes_do_not_make_utf_8_another_encoding() -> None:
    body = ("<p>" + "größer ünd schöner " * 40).encode() + b"\xff\xfe\xff"
    text, encoding, problems = html(body)
    assert encoding == "utf-8"
    assert text.startswith("größer ünd")
    assert problems == ["encoding"]


def test_a_late_meta_counts() -> None:
    body = b"<!--" + b"x" * 5000 + b"-->" + b"<meta charset=iso-8859-2>" + "ł".encode("iso8859-2")
    assert html(body)[:2] == ("ł", "iso-8859-2")


def test_a_meta_in_a_late_script_does_not() -> None:
    body = b"<p>" + b"x" * 2000 + b"<script>'<meta charset=koi8-r>'</script>" + "ü".encode()
    assert html(body)[1] == "utf-8"


def test_xml_declarations() -> None:
    assert decode_xml(b'<?xml version="1.0" encoding="koi8-r"?><a/>', "").encoding.name == "koi8-r"
    assert decode_xml("<?xml version='1.0'?>".encode("utf-16-le"), "").encoding.name == "utf-16le"
    assert decode_xml(b'<?xml version="1.0" encoding="utf-16"?>\xc3\xbc', "").text[-1] == "ü"
    assert decode_html(b'<?xml version="1.0" encoding="koi8-r"?>', "").encoding.name == "koi8-r"


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("latin1", "windows-1252"),
        (" UTF8\t", "utf-8"),
        ("gb2312", "gbk"),
        ("ks_c_5601-1987", "euc-kr"),
        ("sjis", "shift_jis"),
        ("x-mac-ukrainian", "x-mac-cyrillic"),
        ("tis-620", "windows-874"),
        ("iso-8859-9", "windows-1254"),
        ("\u212aoi8", None),
        ("", None),
        ("hex", None),
        ("rot13", None),
        ("idna", None),
    ],
)
def test_labels(label: str, name: str | None) -> None:
    found = encoding_for(label)
    assert (found.name if found else None) == name


def test_every_label_has_a_codec_that_decodes() -> None:
    labels = (
        "866 big5 cp1250 cp1258 euc-jp euc-kr gbk gb18030 hebrew iso-2022-jp iso-8859-16 koi8-u"
    )
    labels += " macintosh shift_jis utf-16 utf-16be windows-874 x-mac-cyrillic x-user-defined"
    for label in labels.split():
        encoding = encoding_for(label)
        assert encoding is not None, label
        assert b"".decode(encoding.codec) == ""
