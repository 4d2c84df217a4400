"""Runs `scrapy` commands within the test's own process, and keeps what they write."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest import mock

from scrapy.cmdline import execute
from scrapy.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    bytes: bytes
    err: str

    @property
    def out(self) -> str:
        return self.bytes.decode()

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class _Stream(io.TextIOWrapper):
    def __init__(self, data: bytes = b"", *, is_terminal: bool = False) -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8")
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal

    def taken(self) -> bytes:
        self.flush()
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue()


def run(*argv: object, stdin: bytes = b"", is_terminal: bool = False) -> Done:
    """A command from its start to its end. Whatever it lets escape fails the test."""
    streams = {
        "stdin": _Stream(stdin),
        "stdout": _Stream(is_terminal=is_terminal),
        "stderr": _Stream(),
    }
    settings = Settings()
    settings.setmodule("webcrawler.settings", priority="project")
    environment = {"SCRAPY_SETTINGS_MODULE": "webcrawler.settings", "TERM": "xterm"}
    with (
        mock.patch.multiple(sys, **streams),
        mock.patch.dict("os.environ", environment),
    ):
        try:
            execute(["scrapy", *map(str, argv)], settings)
        except SystemExit as end:
            code = end.code
    assert isinstance(code, int)
    return Done(code, streams["stdout"].taken(), streams["stderr"].taken().decode())


def refused(done: Done, words: str) -> None:
    """One sentence on stderr, nothing on stdout, exit code 2."""
    assert done.code == 2, (done.out, done.err)
    assert done.bytes == b""
    assert len(done.err.splitlines()) == 1, done.err
    assert done.err.startswith("error: ")
    assert words in done.err


def make_job(folder: Path) -> Path:
    """A job folder that has nothing in it yet."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "job.json").write_text('{"version": 1}')
    return folder
