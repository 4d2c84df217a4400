"""A setting, command, argument or stat without documentation fails here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from webcrawler.defaults import SETTINGS
from webcrawler.spiders.arguments import NAMES

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


def test_every_setting_is_documented_with_its_default():
    text = (DOCS / "settings.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([A-Z_]+)` \| `(.*?)` \|", text, re.MULTILINE))
    assert set(rows) == set(SETTINGS)
    for name, setting in SETTINGS.items():
        assert rows[name] == _shown(setting.default), name


def _shown(default: object) -> str:
    return repr(default) if not isinstance(default, list) or len(default) < 4 else "a list"


def test_every_argument_is_documented():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in NAMES:
        assert f"`{name}`" in text, name


@pytest.mark.parametrize(
    "name",
    [
        path.stem
        for path in (ROOT / "webcrawler" / "commands").glob("*.py")
        if path.stem != "__init__"
    ],
)
def test_every_command_is_documented(name):
    texts = "".join(path.read_text(encoding="utf-8") for path in DOCS.glob("*.md"))
    texts += (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"scrapy {name}" in texts


def test_links_between_documents_lead_somewhere():
    for path in (*DOCS.glob("*.md"), ROOT / "README.md"):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_no_default_is_documented_that_is_not_there():
    text = (DOCS / "settings.md").read_text(encoding="utf-8")
    for name in re.findall(r"^\| `([A-Z_]+)`", text, re.MULTILINE):
        assert name in SETTINGS
