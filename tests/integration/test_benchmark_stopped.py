"""Ctrl-C while a benchmark runs: a word, no traceback, and nothing that goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.programs import program
from tests.suites import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# What is to run when it is interrupted: a word of its command line.
WAYS = {
    "crawl.py --quick --site tiny --only links": "site",
    "politeness.py --hosts 5 --secs 60": "site",
    "frontier.py large": "one",
}


@pytest.fixture(autouse=True)
def _heard() -> Iterator[None]:
    """Where tests run in the background SIGINT may be ignored, and children would inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(("command", "word"), WAYS.items(), ids=str)
def test_a_stopped_benchmark_leaves_nothing(command: str, word: str, tmp_path: Path) -> None:
    if not command.startswith("frontier"):
        program("nginx")
    name, *words = command.split()
    before = {pid for pid, _ in processes()}
    with subprocess.Popen(
        [sys.executable, str(ROOT / "benchmarks" / name), *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as process:
        until = time.monotonic() + 60
        while not any(
            pid not in before and word in line and (str(tmp_path) in line or name in line)
            for pid, line in processes()
        ) or not list(tmp_path.iterdir()):
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < until, process.kill()
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 130
    assert said.endswith("\nstopped\n")
    assert "Traceback" not in said
    left = [line for pid, line in processes() if str(tmp_path) in line]
    assert not left
    assert not list(tmp_path.iterdir())


def processes() -> list[tuple[int, str]]:
    """Number and command line of each."""
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{int(name)}/cmdline") as file:
                found.append((int(name), file.read().replace("\0", " ")))
        except (OSError, ValueError):
            continue
    return found
