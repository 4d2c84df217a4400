"""How the tests run beside each other, with `pytest -n` (which `make test` uses) or without."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

_MEMORY = Path("/dev/shm")
_ENOUGH = 4 << 30  # all tests together leave less than a tenth of this


# A test does not fail because the machine is busy.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


def pytest_configure() -> None:
    """Keep what tests write in memory: stores are opened a thousand times, and wait for the disk.

    What a killed process leaves is the same there. A small /dev/shm (a container's) is not used.
    """
    if (
        "TMPDIR" not in os.environ
        and _MEMORY.is_dir()
        and shutil.disk_usage(_MEMORY).free > _ENOUGH
    ):
        os.environ["TMPDIR"] = str(_MEMORY)  # for what tests start, too
        tempfile.tempdir = None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first, so that no worker is left with one at the end.

    Before them those that want the machine for themselves, while nothing else has begun.
    """
    folders = ("properties", "integration")

    def place(item: pytest.Item) -> tuple[bool, int]:
        folder = item.path.parent.name
        rank = folders.index(folder) if folder in folders else len(folders)
        return item.get_closest_marker("alone") is None, rank

    items.sort(key=place)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """With several workers, a test marked `alone` runs while the others pause between two tests."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    if run is None:
        return (yield)
    path = Path(tempfile.gettempdir()) / f"webcrawler-tests-{run}"
    is_alone = item.get_closest_marker("alone") is not None
    with ExitStack() as stack:
        # Who wants to be alone keeps the door shut while waiting for those inside to come out.
        with _locked(path.with_suffix(".door"), is_exclusive=is_alone):
            stack.enter_context(_locked(path.with_suffix(".room"), is_exclusive=is_alone))
        return (yield)


@contextmanager
def _locked(path: Path, *, is_exclusive: bool) -> Iterator[TextIO]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX if is_exclusive else fcntl.LOCK_SH)
        yield file


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput"):
        return  # a worker: others may still be at it
    for path in Path(tempfile.gettempdir()).glob(f"webcrawler-tests-{_run(session)}.*"):
        path.unlink(missing_ok=True)


def _run(session: pytest.Session) -> str:
    """The name that pytest-xdist gave to this run."""
    manager = session.config.pluginmanager.get_plugin("dsession")
    return str(manager.nodemanager.testrunuid) if manager is not None else "none"
