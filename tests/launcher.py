"""Starts `scrapy` commands quickly: everything is imported once, each command is a fork of that.

A process of its own, driven by JSON lines on its standard input. A job (argv, cwd, env, limits,
by how much the machine's clock is wrong, and files for stdin, stdout and stderr) is answered with
its pid; `{"reap": pid}`, asked when the process has ended, with its exit code. The child is an
ordinary process: it can be killed, and ends as Python does.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import pkgutil
import resource
import signal
import struct
import sys
import time
import warnings
from typing import Any

from webcrawler import clock

_CAPABILITY_VERSION = 0x20080522


_PACKAGES = (
    "scrapy.commands",
    "scrapy.downloadermiddlewares",
    "scrapy.extensions",
    "scrapy.spidermiddlewares",
    "webcrawler",
)
_LEFT_OUT = ("__main__", "statsmailer")  # the second is deprecated, and says so
_MODULES = ("datasketch", "rich.table", "scrapy.cmdline", "tldextract", "uvloop")


def preload() -> None:
    """Import what crawls import, but no reactor: each child installs its own."""
    for name in _MODULES:
        importlib.import_module(name)
    for name in _PACKAGES:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            if module.name.rpartition(".")[2] not in _LEFT_OUT:
                importlib.import_module(module.name)
    assert "twisted.internet.reactor" not in sys.modules


def become(job: dict[str, Any]) -> None:
    """Turn this forked child into the command."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        flags = os.O_RDONLY if name == "stdin" else os.O_WRONLY | os.O_CREAT | os.O_APPEND
        descriptor = os.open(job.get(name) or os.devnull, flags, 0o644)
        os.dup2(descriptor, number)
        os.close(descriptor)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.update(job.get("env", {}))
    os.chdir(job["cwd"])
    for name, value in job.get("limits", {}).items():
        resource.setrlimit(getattr(resource, name), (value, value))
    if shift := job.get("clock_shift"):
        right = time.time
        time.time = lambda: right() + shift
        clock.now.set_by(time.time)
    if job.get("is_powerless"):
        # Even root obeys file modes without its capabilities; for others this changes nothing.
        header, nothing = struct.pack("II", _CAPABILITY_VERSION, 0), bytes(24)
        assert ctypes.CDLL(None, use_errno=True).capset(header, nothing) == 0


def main() -> None:
    preload()
    gc.freeze()  # so that the children share what is there
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a test run is pytest's
    print("ready", flush=True)
    for line in iter(sys.stdin.readline, ""):
        job = json.loads(line)
        if "reap" in job:
            _, status = os.waitpid(job["reap"], 0)
            print(os.waitstatus_to_exitcode(status), flush=True)
            continue
        pid = os.fork()
        if pid:
            print(pid, flush=True)
            continue
        become(job)
        from scrapy.cmdline import execute
        from scrapy.exceptions import ScrapyDeprecationWarning

        warnings.simplefilter("error", ScrapyDeprecationWarning)
        sys.argv = ["scrapy", *job["argv"]]
        execute()
        return


if __name__ == "__main__":
    main()
