"""crawl.log: one JSON line for every URL that ended, whatever the ending."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from webcrawler.exceptions import StoreError

if TYPE_CHECKING:
    from pathlib import Path

    from webcrawler.frontier.ending import Ending
    from webcrawler.visit import Visit


class CrawlLog:
    """Appends lines, each with one write: a line is there whole or, after a crash, not at all.

    `listeners` get every line as a dict: the report and the progress display. A line that cannot
    be written raises StoreError.
    """

    def __init__(self, folder: Path | None) -> None:
        self.listeners: list[Any] = []
        self._descriptor = -1
        if folder is not None:
            self._path = folder / "crawl.log"
            try:
                self._descriptor = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
            except OSError as error:
                raise StoreError.of(
                    error, self._path, f"cannot write {self._path}: {error.strerror}"
                ) from None
            self._cut_torn_line()

    def write(self, visit: Visit, ending: Ending) -> None:
        record, page = visit.record, visit.page
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(ending.at, UTC).isoformat(timespec="milliseconds"),
            "url": record.url,
            "status": ending.status,
            "bytes": visit.body_bytes,
            "ms": round(visit.fetch.seconds * 1000, 1),
            "depth": record.depth,
            "type": page.mime if page is not None else visit.content_type.partition(";")[0][:100],
            "via": visit.via,
            "outcome": ending.outcome,
            "digest": f"{ending.digest:016x}" if ending.digest else "",
        }
        if visit.reason:
            line["reason"] = visit.reason[:500]
        if page is not None and page.of:
            line["of"] = page.of
            if page.similarity is not None:
                line["similarity"] = round(page.similarity, 3)
        self._write(line)

    def write_unfetched(self, ending: Ending, via: str, reason: str) -> None:
        """The line of a URL that ended while it waited."""
        record = ending.record
        self._write(
            {
                "at": datetime.fromtimestamp(ending.at, UTC).isoformat(timespec="milliseconds"),
                "url": record.url,
                "status": 0,
                "bytes": 0,
                "ms": 0.0,
                "depth": record.depth,
                "type": "",
                "via": via,
                "outcome": ending.outcome,
                "digest": "",
                "reason": reason,
            }
        )

    def _write(self, line: dict[str, Any]) -> None:
        if self._descriptor >= 0:
            data = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
            self._append(data.encode("utf-8", "surrogatepass") + b"\n")
        for listener in self.listeners:
            listener(line)

    def _append(self, data: bytes) -> None:
        try:
            written = os.write(self._descriptor, data)
            if written < len(data):
                # Only a full disk does this; the rest of the line says why.
                os.write(self._descriptor, data[written:])
        except OSError as error:
            self._cut_torn_line()
            raise StoreError.of(
                error,
                self._path,
                f"cannot write {self._path}: {error.strerror}; start the same command again when "
                f"that is mended: nothing that was committed is lost",
            ) from None

    def _cut_torn_line(self) -> None:
        """Remove what a crash or a full disk left of a line: its URL has not ended."""
        size = os.fstat(self._descriptor).st_size
        end = size
        while end and os.pread(self._descriptor, 1, end - 1) != b"\n":
            end -= 1
        if end < size:
            os.ftruncate(self._descriptor, end)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
