"""Where the cases that nobody here wrote are found; tests skip, with the reason, without them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SUITES = Path(os.environ.get("WEBCRAWLER_SUITES", ROOT.parent / "shared" / "suites"))


def suite_path(name: str) -> Path:
    """The path of one suite file; skips the calling test where the suites are not there."""
    path = SUITES / name
    if not path.exists():
        pytest.skip(
            f"no suite {name} below {SUITES}: set WEBCRAWLER_SUITES", allow_module_level=True
        )
    return path
