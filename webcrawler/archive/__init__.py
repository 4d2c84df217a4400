"""The archive: every fetched page as it came over the wire, in WARC files that the field reads.

A page's exchange is handed to the `ArchiveWriter`, which returns at once; a thread builds the
records (a response, or a revisit where the very same payload is there already, and the request),
compresses each into a gzip member of its own and writes it (`WarcFiles`). When the system has
the bytes, the page is told where its record lies (`Stored`), notes that in the crawl's table
(`put`) and is committed as done. So a page that is done is in the archive. A kill may leave half
a record at the end of a file that was being written: `recover` cuts it off before the next crawl
begins.

Later, `list_records` tells what there is, `get` finds a page by its URL, by the table or without
it, `with_base` makes it readable from a local file, and `check` reads everything and says
what is wrong. Archives are read as if a stranger had written them.
"""

from __future__ import annotations

from webcrawler.archive.base import with_base
from webcrawler.archive.check import Problem, Report, check
from webcrawler.archive.command import (
    describe,
    find_page,
    list_lines,
    page_bytes,
    report_lines,
)
from webcrawler.archive.exchange import Exchange, Message, Original, Stored
from webcrawler.archive.files import DEFAULT_LEVEL, DEFAULT_MAX_BYTES, WarcFiles
from webcrawler.archive.index import (
    TABLE,
    Entry,
    counted_places,
    dated_key,
    entries,
    latest_key,
    put,
    unpack,
)
from webcrawler.archive.listing import Listed, list_records
from webcrawler.archive.reader import ArchiveReader, Capture, get
from webcrawler.archive.recovery import Recovered, recover
from webcrawler.archive.writer import ArchiveWriter

__all__ = [
    "DEFAULT_LEVEL",
    "DEFAULT_MAX_BYTES",
    "TABLE",
    "ArchiveReader",
    "ArchiveWriter",
    "Capture",
    "Entry",
    "Exchange",
    "Listed",
    "Message",
    "Original",
    "Problem",
    "Recovered",
    "Report",
    "Stored",
    "WarcFiles",
    "check",
    "counted_places",
    "dated_key",
    "describe",
    "entries",
    "find_page",
    "get",
    "latest_key",
    "list_lines",
    "list_records",
    "page_bytes",
    "put",
    "recover",
    "report_lines",
    "unpack",
    "with_base",
]
