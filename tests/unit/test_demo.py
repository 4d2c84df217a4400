"""On which port `make crawl` serves its sample web: the same command goes on only on the same."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING

import pytest

from webcrawler.demo import CRAWLS, port_before, remember_port

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """One that is free, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def report(name: str, *, is_finished: bool) -> None:
    (CRAWLS / name / "report.json").write_text(json.dumps({"finished": is_finished}))


def test_any_the_first_time(port: int) -> None:
    assert port_before("") == port_before("monday") == 0


def test_that_of_the_crawl_that_was_stopped(port: int) -> None:
    remember_port(CRAWLS / "sample-1", 1)
    report("sample-1", is_finished=True)
    remember_port(CRAWLS / "sample-2", port)
    assert port_before("") == port  # killed before its first report
    report("sample-2", is_finished=False)
    assert port_before("") == port
    report("sample-2", is_finished=True)
    assert port_before("") == 0


def test_a_named_job_keeps_its_port(port: int) -> None:
    remember_port(CRAWLS / "monday", port)
    report("monday", is_finished=True)
    assert port_before("monday") == port
    assert port_before("") == 0


@pytest.mark.parametrize("text", ["", "no port", "99999"])
def test_a_port_that_is_none(port: int, text: str) -> None:
    remember_port(CRAWLS / "monday", port)
    (CRAWLS / "monday/sample-port").write_text(text)
    assert port_before("monday") == 0


def test_not_where_somebody_else_listens(port: int) -> None:
    remember_port(CRAWLS / "monday", port)
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        assert port_before("monday") == 0


def test_a_folder_that_cannot_be_made_is_left_to_the_crawl(port: int) -> None:
    CRAWLS.write_text("a file")
    remember_port(CRAWLS / "monday", port)
    assert port_before("monday") == 0
