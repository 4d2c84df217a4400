"""The layout's promises: pure packages know nothing of Scrapy, settings have one reader."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "webcrawler"
PURE = (
    "urls",
    "documents",
    "robots",
    "politeness",
    "frontier",
    "dedup",
    "index",
    "archive",
    "pages",
    "sampleweb",
    "lab",
)
NOT_FOR_PURE = ("scrapy", "twisted", "itemadapter", "scrapy_redis")


def imports(path: Path) -> set[str]:
    """Every module that a file imports at run time, wherever in it."""
    names: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    hidden = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def test_there_is_something_to_check():
    for package in PURE:
        assert list((PACKAGE / package).glob("*.py")), package


@pytest.mark.parametrize("package", PURE)
def test_pure_packages_import_no_scrapy(package):
    for path in (PACKAGE / package).rglob("*.py"):
        bad = {name for name in imports(path) if name.split(".")[0] in NOT_FOR_PURE}
        assert not bad, f"{path.relative_to(ROOT)} imports {bad}"


@pytest.mark.parametrize("package", PURE)
def test_importing_a_pure_package_loads_no_scrapy(package):
    code = (
        f"import sys, webcrawler.{package}; "
        "print([m for m in ('scrapy', 'twisted', 'itemadapter') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert result.stdout.strip() == "[]"


def test_only_config_reads_settings_of_our_own():
    from webcrawler.defaults import SETTINGS

    readers = {
        "config.py",
        "defaults.py",
        "base.py",
    }  # base.py: the folder, before there is a Crawl
    # Handed to the command line of a crawl, or a name in a message.
    mentions = {"demo.py"}
    for path in PACKAGE.rglob("*.py"):
        if path.name in readers | mentions or "download" in path.parts:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if not node.func.attr.startswith("get"):
                    continue
                words = {a.value for a in node.args if isinstance(a, ast.Constant)}
                assert not words & set(SETTINGS), f"{path.name} reads {words & set(SETTINGS)}"


def test_no_file_is_a_heap():
    for path in PACKAGE.rglob("*.py"):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= 700, f"{path.relative_to(ROOT)} has {lines} lines: is it one concept?"
