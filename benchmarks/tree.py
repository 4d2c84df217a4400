"""Runs a command and watches its whole process tree: CPU, and peak memory of all together."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Ended:
    code: int
    ended_at: float
    cpu_secs: float
    peak_mb: float


def run_tree(command: list[str], cwd: Path, log: Path, limit_secs: float = 1800) -> Ended:
    """CPU counts every descendant that was waited for. Shared memory is counted once (PSS).

    The tree is a session of its own: Ctrl-C is for the benchmark, which then ends all of it.
    """
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=cwd, stdout=out, stderr=out, start_new_session=True)
    over = threading.Event()
    peak = [0.0]

    def watch() -> None:
        started = time.monotonic()
        while not over.wait(0.2):
            peak[0] = max(peak[0], tree_mb(process.pid))
            if time.monotonic() - started > limit_secs:
                os.killpg(process.pid, signal.SIGKILL)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        over.set()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    ended_at = time.time()
    over.set()
    watcher.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    cpu = usage.ru_utime + usage.ru_stime
    return Ended(process.returncode, ended_at, cpu, max(peak[0], usage.ru_maxrss / 1024))


def descendants(pid: int) -> list[int]:
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:
            continue
        for child in children:
            found += descendants(int(child))
    return found


def tree_mb(pid: int) -> float:
    """Memory of a process alone is in its rusage: it is only added up when there are several."""
    pids = descendants(pid)
    if len(pids) < 2:
        return 0.0
    total = 0
    for one in pids:
        try:
            for line in Path(f"/proc/{one}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
        except OSError:
            continue
    return total / 1024
