"""Virtual environments of peers and of tools, under `.bench/`, made once."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from measure import versions

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


def all_versions() -> str:
    """What was compared, and what it was served and stored with, for the record."""
    known = [versions("scrapy", "scrapy-redis", "aiohttp", "rocksdict", "tantivy")]
    python = crawlee_python()
    programs = {"nginx": ["-v"], "redis-server": ["--version"], "wget": ["--version"]}
    commands = {
        name: [shutil.which(name) or shutil.which(name, path="/usr/sbin"), *words]
        for name, words in programs.items()
    }
    commands["crawlee"] = [python, "-c", "import crawlee; print(crawlee.__version__)"]
    for name, command in commands.items():
        if command[0] is not None:
            told = subprocess.run(command, check=False, capture_output=True, text=True)
            number = re.search(r"\d+(\.\d+)+", told.stdout + told.stderr)
            known.append(f"{name} {number.group() if number else 'of unknown version'}")
    return ", ".join(known)


def py_spy() -> Path | None:
    """The sampling profiler."""
    programs = environment("py-spy", "py-spy>=0.4,<1")
    return programs / "py-spy" if programs else None
