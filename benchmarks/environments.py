"""Virtual environments of peers and of tools, under `.bench/`, made once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PLACE = Path(__file__).resolve().parent.parent / ".bench"


def environment(name: str, *packages: str) -> Path | None:
    """The folder with the programs of an environment of its own; None if it cannot be made."""
    programs = PLACE / name / "bin"
    ready = PLACE / name / ".ready"
    if ready.exists():
        return programs
    print(f"== installing {' '.join(packages)} into .bench/{name} (once)", file=sys.stderr)
    PLACE.mkdir(exist_ok=True)
    steps = (
        [sys.executable, "-m", "venv", str(PLACE / name)],
        [str(programs / "python"), "-m", "pip", "install", "--quiet", *packages],
    )
    for step in steps:
        if subprocess.run(step, check=False, stdout=sys.stderr).returncode:
            return None
    ready.touch()
    return programs


def crawlee_python() -> Path | None:
    """The interpreter that has crawlee: its requirements are not ours to share."""
    programs = environment("crawlee", "crawlee[parsel]>=1,<2")
    return programs / "python" if programs else None


def py_spy() -> Path | None:
    """The sampling profiler."""
    programs = environment("py-spy", "py-spy>=0.4,<1")
    return programs / "py-spy" if programs else None
