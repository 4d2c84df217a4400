"""Fixtures of the tests that run real crawls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.crawling import Crawls, Launcher
from webcrawler.sampleweb import SampleServer, SampleWeb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def launcher() -> Iterator[Launcher]:
    launcher = Launcher()
    yield launcher
    launcher.close()


@pytest.fixture
def crawls(launcher: Launcher, tmp_path: Path) -> Iterator[Crawls]:
    crawls = Crawls(launcher, tmp_path)
    yield crawls
    crawls.end()


@pytest.fixture(scope="module")
def make_crawls(
    launcher: Launcher, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Crawls]]:
    """Crawls that several tests of a module look at."""
    made: list[Crawls] = []

    def make(name: str) -> Crawls:
        made.append(Crawls(launcher, tmp_path_factory.mktemp(name)))
        return made[-1]

    yield make
    for crawls in made:
        crawls.end()


@pytest.fixture(scope="module")
def plain() -> Iterator[SampleServer]:
    """Good pages only: 6 hosts, 60 pages."""
    with SampleServer(SampleWeb.plain(hosts=6, pages=60)) as server:
        yield server
