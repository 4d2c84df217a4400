"""Programs and pages that tests need besides Python packages.

With root, `make test` installs them (tests/debian-packages.txt). Elsewhere tests that need them are
skipped with the reason; in CI nothing may be skipped for a missing program, so there they fail.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin", "/sbin"])


def missing(what: str) -> NoReturn:
    """Skip the calling test for want of something; fail it in CI."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is missing, and in CI nothing may be", pytrace=False)
    pytest.skip(f"{what} is missing: see tests/debian-packages.txt")


def program(name: str) -> str:
    """The path of a program."""
    return shutil.which(name, path=_PATH) or missing(name)


def folder(path: str, package: str) -> Path:
    """A folder of Debian's documentation."""
    found = Path(path)
    if not found.is_dir():
        missing(f"{path} of Debian's package {package}")
    return found
