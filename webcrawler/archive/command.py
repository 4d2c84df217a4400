"""What `scrapy archive list|get|check` says: text in, text out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from webcrawler.archive.base import with_base
from webcrawler.archive.dates import parse_moment, warc_date
from webcrawler.archive.listing import list_records
from webcrawler.archive.reader import NO_ORIGINAL, ArchiveReader
from webcrawler.exceptions import ArgumentError, UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawler.archive.check import Report
    from webcrawler.archive.files import Folders
    from webcrawler.archive.reader import Capture

_HTML = ("text/html", "application/xhtml+xml", "")


def list_lines(
    folder: Folders,
    *,
    kind: str = "",
    part: str = "",
    as_json: bool = False,
    places: set[tuple[str, int]] | None = None,
) -> Iterator[str]:
    """A line for each record, or for those of one kind, with a text in their URL, at `places`."""
    for record in list_records(folder):
        if places is not None and (record.file, record.offset) not in places:
            continue
        if (not kind or record.kind == kind) and part in record.url:
            yield json.dumps(record.as_dict(), ensure_ascii=False) if as_json else record.line()


def find_page(reader: ArchiveReader, url: str, when: str = "") -> Capture:
    """The capture a person asks for; raises UserError with one sentence when there is none."""
    moment = parse_moment(when) if when else None
    if when and moment is None:
        raise ArgumentError("when", when, "a time such as 2024, 2024-05-31 or 20240531120000")
    capture = reader.get(url, moment)
    if capture is None:
        raise UserError(f"{url} is not in the archive")
    if NO_ORIGINAL in capture.problems:
        raise UserError(
            f"{url} is in the archive only as a copy of {capture.original_url or 'another page'}, "
            "which is not there"
        )
    return capture


def page_bytes(
    capture: Capture, *, base: bool = False, headers: bool = False, raw: bool = False
) -> bytes:
    """A page as it is printed: its body, decoded unless `raw`.

    With `headers` the stored header block comes first; with `base` an HTML page gets a BASE tag.
    """
    body = capture.payload if raw else capture.body()[0]
    if base and not raw and capture.header_block.mime in _HTML:
        body = with_base(body, capture.url, capture.header_block.charset or "utf-8")
    if headers:
        block = capture.header_block
        lines = [block.start_line, *[name + b": " + value for name, value in block.headers]]
        body = b"\r\n".join(lines) + b"\r\n\r\n" + body
    return body


def report_lines(report: Report, *, as_json: bool = False) -> Iterator[str]:
    """What a check found: problems first, the sum last."""
    if as_json:
        yield json.dumps(
            {
                "sound": report.is_sound,
                "files": report.files,
                "bytes": report.compressed_bytes,
                "records": dict(report.records),
                "unfinished": report.unfinished,
                "problems": dict(report.problem_counts),
                "places": [
                    {"file": p.file, "offset": p.offset, "name": p.name, "detail": p.detail}
                    for p in report.problems
                ],
            },
            ensure_ascii=False,
        )
        return
    for problem in report.problems:
        yield f"{problem.file}:{problem.offset} {problem.name} {problem.detail}".rstrip()
    hidden = report.problem_counts.total() - len(report.problems)
    if hidden:
        yield f"and {hidden} more"
    kinds = ", ".join(f"{count} {kind}" for kind, count in report.records.most_common())
    yield f"{report.files} files, {report.compressed_bytes} bytes, records: {kinds or 'none'}"
    if report.is_sound:
        yield "every record can be read, every digest is right, every revisit leads to its original"
    else:
        counts = ", ".join(f"{count} {name}" for name, count in report.problem_counts.most_common())
        yield f"{report.problem_counts.total()} problems: {counts}"


def describe(capture: Capture) -> str:
    """One line about a capture, for standard error beside a printed page."""
    line = f"{capture.url} as of {warc_date(capture.fetched_at)}, status {capture.status}"
    if capture.kind == "revisit":
        line += f", payload of {capture.original_url}"
    return f"{line} ({', '.join(capture.problems)})" if capture.problems else line
