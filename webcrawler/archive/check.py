"""Is the archive sound: every record readable, every digest right, every revisit resolvable.

Memory does not grow with what records hold, only by a few numbers for each of them. Nothing
raises on what is in the files: what is wrong is named, with its place, and the check goes on.
"""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from xxhash import xxh3_64_intdigest

from webcrawler.archive import digests
from webcrawler.archive.dates import microseconds, parse_warc_date
from webcrawler.archive.files import OPEN, archive_files, final_name
from webcrawler.archive.http import MAX_HEADER_BLOCK, parse_header_block
from webcrawler.archive.listing import has_http
from webcrawler.archive.members import MAX_RECORD, Broken, BrokenMember, Member, members

if TYPE_CHECKING:
    import hashlib
    from collections.abc import Iterator
    from pathlib import Path

    import numpy.typing as npt

    from webcrawler.archive.files import Folders

#: How many problems are kept with their place; all are counted.
MAX_SHOWN = 1000
_NEEDED = ("warc-type", "warc-record-id", "warc-date", "content-length")
_END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with the record at a place; `name` is short and has no spaces."""

    file: str
    offset: int
    name: str
    detail: str = ""


@dataclass(slots=True)
class Report:
    """What a check found. `unfinished` counts files whose last record is just being written."""

    files: int = 0
    compressed_bytes: int = 0
    unfinished: int = 0
    records: Counter[str] = field(default_factory=Counter)
    problem_counts: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        """Whether nothing at all is wrong."""
        return not self.problem_counts

    def add(self, problem: Problem) -> None:
        """Count a problem and, while they are few, keep it."""
        self.problem_counts[problem.name] += 1
        if len(self.problems) < MAX_SHOWN:
            self.problems.append(problem)


def check(folder: Folders) -> Report:
    """Read every byte of an archive and report. Raises StoreError when the folder is unreadable."""
    report = Report()
    originals = _Originals()
    for path in archive_files(folder):
        report.files += 1
        try:
            report.compressed_bytes += path.stat().st_size
            _check_file(path, report, originals)
        except FileNotFoundError:
            # Closed since the folder was listed: it has its other name now.
            closed = path.with_name(final_name(path))
            if closed == path or not closed.exists():
                report.add(Problem(path.name, 0, "unreadable-file", "it is gone"))
            else:
                _check_file(closed, report, originals)
        except OSError as error:
            report.add(Problem(path.name, 0, "unreadable-file", error.strerror or str(error)))
    for problem in originals.unresolved():
        report.add(problem)
    return report


def _check_file(path: Path, report: Report, originals: _Originals) -> None:
    file = final_name(path)
    for found in members(path, hop=False):
        if isinstance(found, Broken):
            if found.problem == "torn-record" and path.name.endswith(OPEN):
                report.unfinished += 1
            else:
                report.add(Problem(file, found.offset, found.problem))
            continue
        try:
            problems = _check_record(found)
            found.end()
        except BrokenMember:
            continue  # comes again, as Broken
        report.records[found.fields.get("warc-type", "")[:32].lower() or "none"] += 1
        for name, detail in problems:
            report.add(Problem(file, found.offset, name, detail))
        originals.note(file, found)


def _check_record(member: Member) -> list[tuple[str, str]]:
    """What is wrong with a record whose head could be read; raises BrokenMember."""
    fields = member.fields
    problems = [("missing-field", name) for name in _NEEDED if not fields.get(name)]
    if fields.get("warc-date") and parse_warc_date(fields["warc-date"]) is None:
        problems.append(("bad-date", fields["warc-date"][:40]))
    if member.content_length > MAX_RECORD:
        return [*problems, ("too-large", f"{member.content_length} bytes are more than is read")]

    is_revisit = fields.get("warc-type", "").lower() == "revisit"
    block = _Digest(fields.get("warc-block-digest", ""))
    payload = _Digest("" if is_revisit else fields.get("warc-payload-digest", ""))
    is_http = has_http(member) and member.content_length > 0
    waiting = b""  # the header block, until its end is seen
    is_payload = not is_http
    left = member.content_length
    while left and (piece := member.read(min(left, 64 << 10))):
        left -= len(piece)
        block.update(piece)
        if is_payload:
            payload.update(piece)
        else:
            waiting += piece
            parsed = parse_header_block(waiting)
            if parsed is not None:
                payload.update(waiting[parsed.length :])
                waiting, is_payload = b"", True
            elif len(waiting) > MAX_HEADER_BLOCK:
                break
    if not is_payload:
        problems.append(("no-http-head", ""))
    if left and is_payload:
        problems.append(("short-block", f"{left} of {member.content_length} bytes are missing"))
    elif is_payload:
        rest = member.read(len(_END))
        while 0 < len(rest) < len(_END) and (more := member.read(len(_END) - len(rest))):
            rest += more
        if rest != _END or member.read(1):
            problems.append(("trailing-data", ""))
        problems.extend(block.problems("block-digest"))
        problems.extend(payload.problems("payload-digest"))
    return problems


class _Digest:
    """A digest being computed, to be compared with what a record says it is."""

    __slots__ = ("_hash", "_label", "_wanted")

    def __init__(self, label: str) -> None:
        self._label = label
        self._wanted = digests.parse_label(label) if label else None
        self._hash: hashlib._Hash | None = None
        if self._wanted is not None:
            self._hash = digests.start(self._wanted[0])

    def update(self, piece: bytes) -> None:
        if self._hash is not None:
            self._hash.update(piece)

    def problems(self, name: str) -> list[tuple[str, str]]:
        if not self._label:
            return []
        if self._wanted is None or self._hash is None:
            return [("unknown-digest", self._label[:80])]
        if self._hash.digest() == self._wanted[1]:
            return []
        return [(name, self._label[:80])]


class _Originals:
    """Which records there are to refer to, and which are referred to, as 64-bit numbers."""

    def __init__(self) -> None:
        self._places = array("Q")
        self._payloads = array("Q")
        self._files: list[str] = []
        self._revisit_files = array("Q")
        self._revisit_offsets = array("Q")
        self._revisit_places = array("Q")
        self._revisit_payloads = array("Q")

    def note(self, file: str, member: Member) -> None:
        fields = member.fields
        kind = fields.get("warc-type", "").lower()
        digest = digests.parse_label(fields.get("warc-payload-digest", ""))
        if kind in ("response", "resource"):
            place = _number(fields.get("warc-target-uri", ""), fields.get("warc-date", ""))
            self._places.append(place)
            self._payloads.append(_payload_number(place, digest))
        elif kind == "revisit":
            place = _number(
                fields.get("warc-refers-to-target-uri", ""), fields.get("warc-refers-to-date", "")
            )
            is_identical = fields.get("warc-profile", "").endswith("/identical-payload-digest")
            if self._files[-1:] != [file]:
                self._files.append(file)
            self._revisit_files.append(len(self._files) - 1)
            self._revisit_offsets.append(member.offset)
            self._revisit_places.append(place)
            # Where the digest is not to be compared, 0.
            self._revisit_payloads.append(_payload_number(place, digest) if is_identical else 0)

    def unresolved(self) -> Iterator[Problem]:
        """A problem for every revisit whose original is not there, or is not the same."""
        if not self._revisit_places:
            return
        has_original = np.isin(_numbers(self._revisit_places), _numbers(self._places))
        payloads = _numbers(self._revisit_payloads)
        is_right = np.isin(payloads, _numbers(self._payloads)) | (payloads == 0)
        for at in np.flatnonzero(~(has_original & is_right)):
            name = "revisit-digest" if has_original[at] else "revisit-unresolved"
            file = self._files[self._revisit_files[at]]
            yield Problem(file, self._revisit_offsets[at], name)


def _numbers(values: array[int]) -> npt.NDArray[np.uint64]:
    return np.array(values, dtype=np.uint64)


def _number(url: str, date: str) -> int:
    time = parse_warc_date(date)
    text = f"{microseconds(time) if time is not None else date} {url.strip('<>')}"
    return xxh3_64_intdigest(text.encode("utf-8", "replace"))


def _payload_number(place: int, digest: tuple[str, bytes] | None) -> int:
    algorithm, value = digest or ("", b"")
    return xxh3_64_intdigest(b"%d %b %b" % (place, algorithm.encode(), value)) or 1
