"""The fields of the index, and how a page becomes a document and a document a page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tantivy import Document, Schema, SchemaBuilder

from webcrawler.index.anchors import Anchor
from webcrawler.index.journal import MAX_BODY, MAX_TITLE, IndexedPage
from webcrawler.urls import host_key

if TYPE_CHECKING:
    from collections.abc import Sequence

FORMAT = 1

#: The tokenizer's name in every schema; what it does depends on the part (language.py).
ANALYSIS = "analysis"
PLAIN = "plain"
#: The fields that words are looked for in.
TEXT_FIELDS = ("title", "anchors", "body")

_SHOWN_ANCHORS = 8
_MAX_LABELS = 10


def build_schema() -> Schema:
    builder = SchemaBuilder()
    builder.add_unsigned_field("fingerprint", indexed=True, fast=True, stored=True)
    builder.add_text_field("url", stored=True, tokenizer_name=PLAIN)
    builder.add_text_field("host", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("title", stored=True, tokenizer_name=ANALYSIS)
    builder.add_text_field("anchors", tokenizer_name=ANALYSIS)
    # Stored, since a document cannot be changed: new anchors of a page mean adding it again.
    builder.add_text_field("body", stored=True, tokenizer_name=ANALYSIS)
    builder.add_bytes_field("anchor_counts", stored=True)
    builder.add_text_field("language", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_float_field("fetched_at", stored=True, fast=True)
    builder.add_boolean_field("fetched", indexed=True, fast=True)
    builder.add_unsigned_field("depth", stored=True, fast=True)
    builder.add_float_field("rank", stored=True, fast=True)
    return builder.build()


def make_document(page: IndexedPage, anchors: Sequence[Anchor]) -> Document:
    document = Document()
    document.add_unsigned("fingerprint", page.fingerprint)
    document.add_text("url", page.url)
    for host in host_and_domains(host_key(page.url)):
        document.add_text("host", host)
    document.add_text("title", _clean(page.title[:MAX_TITLE]))
    for anchor in anchors:
        for _ in range(anchor.repeats):
            document.add_text("anchors", anchor.text)
    document.add_text("body", _clean(page.body[:MAX_BODY]))
    if anchors:
        shown = [(a.text, a.weight, a.pages, a.sites) for a in anchors[:_SHOWN_ANCHORS]]
        document.add_bytes("anchor_counts", json.dumps(shown, ensure_ascii=False).encode())
    document.add_text("language", page.language)
    document.add_float("fetched_at", page.fetched_at)
    document.add_boolean("fetched", page.fetched_at > 0)
    document.add_unsigned("depth", max(page.depth, 0))
    document.add_float("rank", page.rank)
    return document


def read_page(document: Document) -> IndexedPage:
    return IndexedPage(
        document.get_first("fingerprint") or 0,
        document.get_first("url") or "",
        document.get_first("title") or "",
        document.get_first("body") or "",
        document.get_first("language") or "",
        document.get_first("fetched_at") or 0.0,
        document.get_first("depth") or 0,
        document.get_first("rank") or 0.0,
    )


def read_anchors(document: Document) -> tuple[Anchor, ...]:
    packed = document.get_first("anchor_counts")
    return tuple(Anchor(*row) for row in json.loads(bytes(packed))) if packed else ()


def host_and_domains(host: str) -> list[str]:
    """Everything `site:` finds a host by: with its port, without, and every domain above it."""
    name, colon, port = host.rpartition(":")
    if not colon or not port.isdigit():
        name = host
    found = [host] if name == host else [host, name]
    labels = name.split(".")[-_MAX_LABELS:]
    if not labels[-1].isdigit():  # an address has nothing above it
        found += [".".join(labels[start:]) for start in range(1, len(labels))]
    return found


def _clean(text: str) -> str:
    """Lone surrogates cannot be written as UTF-8; hostile pages have them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text
