"""What is in an archive: one line a record, without reading the pages."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from webcrawler.archive.dates import parse_warc_date, warc_date
from webcrawler.archive.files import archive_files, final_name
from webcrawler.archive.http import MAX_HEADER_BLOCK, HeaderBlock, parse_header_block
from webcrawler.archive.members import BrokenMember, Member, members

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from webcrawler.archive.files import Folders


@dataclass(frozen=True, slots=True)
class Listed:
    """A record as a list shows it.

    `status` and `mime` are those of the HTTP message where it has them; `fetched_at` is 0 where
    the record has no date that can be read; `length` is that of the compressed record.
    """

    kind: str
    url: str
    fetched_at: float
    status: int | None
    mime: str
    file: str
    offset: int
    length: int
    payload_digest: str = ""
    refers_to_url: str = ""
    refers_to_date: float | None = None

    def line(self) -> str:
        """One line of text: fields separated by one space, `-` for what is not there."""
        fields = (
            warc_date(self.fetched_at) if self.fetched_at else "-",
            self.kind or "-",
            str(self.status) if self.status is not None else "-",
            self.mime or "-",
            str(self.length),
            f"{self.file}:{self.offset}",
            self.url or "-",
        )
        return " ".join(field.replace(" ", "%20") for field in fields)

    def as_dict(self) -> dict[str, object]:
        """The record for JSON; times as WARC writes them."""
        shown = asdict(self)
        shown["fetched_at"] = warc_date(self.fetched_at) if self.fetched_at else None
        if self.refers_to_date is not None:
            shown["refers_to_date"] = warc_date(self.refers_to_date)
        return {name: value for name, value in shown.items() if value not in ("", None)}


def list_records(folder: Folders) -> Iterator[Listed]:
    """Every readable record of an archive, file by file, each in its order.

    Files still being written are read as far as they go. What cannot be read is left out:
    saying what and why is the business of `check`.
    """
    for path in archive_files(folder):
        try:
            yield from list_file(path)
        except OSError:
            # Renamed since the folder was listed, or unreadable, which `check` says.
            closed = path.with_name(final_name(path))
            if closed != path and closed.exists():
                yield from list_file(closed)


def list_file(path: Path) -> Iterator[Listed]:
    """Every readable record of one file. Raises OSError when the file cannot be read."""
    file = final_name(path)
    last: tuple[Member, HeaderBlock | None] | None = None
    for found in members(path):
        # Whether a record is whole, and how long it is, shows when the next one is looked for.
        if last is not None and last[0].next_offset:
            yield listed(file, *last)
        last = (found, read_header_block(found)) if isinstance(found, Member) else None
    if last is not None and last[0].next_offset:
        yield listed(file, *last)


def listed(file: str, member: Member, block: HeaderBlock | None) -> Listed:
    """What a list shows of a record whose head and header block were read."""
    fields = member.fields
    refers_to_date = fields.get("warc-refers-to-date")
    return Listed(
        kind=fields.get("warc-type", ""),
        url=fields.get("warc-target-uri", "").strip("<>"),
        fetched_at=parse_warc_date(fields.get("warc-date", "")) or 0.0,
        status=block.status if block is not None else None,
        mime=block.mime if block is not None else "",
        file=file,
        offset=member.offset,
        length=member.next_offset - member.offset,
        payload_digest=fields.get("warc-payload-digest", ""),
        refers_to_url=fields.get("warc-refers-to-target-uri", "").strip("<>"),
        refers_to_date=parse_warc_date(refers_to_date) if refers_to_date else None,
    )


def has_http(member: Member) -> bool:
    """Whether the record's block is said to be an HTTP message."""
    return member.fields.get("content-type", "").lower().startswith("application/http")


def read_header_block(member: Member) -> HeaderBlock | None:
    """The status line and headers of a record's HTTP message, None where there is none.

    Reads as little of the member as shows them.
    """
    if not has_http(member):
        return None
    read = b""
    try:
        while len(read) < MAX_HEADER_BLOCK:
            piece = member.read()
            read += piece
            block = parse_header_block(read[: member.content_length])
            if block is not None or not piece:
                return block
    except BrokenMember:
        pass
    return None
