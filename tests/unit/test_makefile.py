"""The Makefile's own list of targets."""

from __future__ import annotations

import re
import subprocess

from tests.suites import ROOT


def test_help_is_a_table_of_all_targets() -> None:
    said = subprocess.run(
        ["make", "-s", "--no-print-directory", "help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    expected = dict(re.findall(r"^([a-z-]+):.*?##\s*(.+)$", makefile, re.MULTILINE))
    assert {"crawl", "test", "bench"} <= expected.keys()
    assert dict(line.split(maxsplit=1) for line in said.splitlines()) == expected
    assert len({line.index(expected[line.split()[0]]) for line in said.splitlines()}) == 1
