"""What the benchmarks share: the cost of a stretch of work, memory, disk, and tables."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MEBIBYTE = 1 << 20


@dataclass(slots=True)
class Cost:
    """How many operations a stretch of work made, and what they took."""

    count: int = 0
    wall: float = 0.0  # seconds by the clock on the wall
    thread: float = 0.0  # CPU seconds of this thread alone
    process: float = 0.0  # CPU seconds of all threads: the store's compactions too

    @property
    def rate(self) -> float:
        return self.count / self.wall if self.wall else 0.0

    @property
    def thread_rate(self) -> float:
        """What the rate would be if nothing else wanted the processor."""
        return self.count / self.thread if self.thread else 0.0


class Stopwatch:
    """Adds up the cost of many short stretches."""

    def __init__(self) -> None:
        self.cost = Cost()
        self._started = (0.0, 0.0, 0.0)

    def __enter__(self) -> Stopwatch:
        self._started = (time.perf_counter(), time.thread_time(), time.process_time())
        return self

    def __exit__(self, *_: object) -> None:
        wall, thread, process = self._started
        self.cost.wall += time.perf_counter() - wall
        self.cost.thread += time.thread_time() - thread
        self.cost.process += time.process_time() - process


def memory_mib(field: str = "VmRSS", pid: int | str = "self") -> float:
    """Resident memory of a process now, or its peak (VmHWM)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    return 0.0


def disk_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def run_main(main: Callable[[], int | None]) -> NoReturn:
    """A benchmark from its start to its exit code; Ctrl-C ends it with a word, its servers too.

    SIGTERM ends it as silently: that is how one process of a benchmark ends another.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        sys.exit(130)


def run_json(command: Sequence[str]) -> dict[str, Any]:
    """Run a part of a benchmark in its own process; its last line of output is JSON.

    Ctrl-C is for the caller, which then ends that process and waits until it has cleaned up.
    """
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            output, _ = process.communicate()
        except BaseException:
            process.terminate()
            process.wait()
            raise
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    answer: dict[str, Any] = json.loads(output.strip().splitlines()[-1])
    return answer


def machine() -> str:
    """One line about where this runs; load is what others were doing at the time."""
    model = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    return (
        f"{time.strftime('%Y-%m-%d %H:%M')}, {os.cpu_count()} cores ({model}), load {load}, "
        f"Python {platform.python_version()}"
    )


def versions(*names: str) -> str:
    known = []
    for name in names:
        try:
            known.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            known.append(f"{name} not installed")
    return ", ".join(known)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table that reads well as text and as Markdown."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        first, *others = zip(cells, widths, strict=True)
        parts = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
        return "| " + " | ".join(parts) + " |"

    rule = "|" + "|".join("-" * (w + 1) + (":" if i else "-") for i, w in enumerate(widths)) + "|"
    return "\n".join([line(head), rule, *(line(row) for row in rows)])


def thousands(value: float) -> str:
    return f"{value:,.0f}"
