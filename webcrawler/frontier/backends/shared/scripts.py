"""The atomic steps: Lua files, each named for what it does and saying what it guarantees."""

from __future__ import annotations

import hashlib
from importlib import resources

NAMES = (
    "delivered", "done", "drop", "freeze", "give_back", "holders", "inherit", "lease", "leave",
    "orphans", "put", "refill", "release", "renew", "retry", "save", "tickets", "time", "wake",
    "write",
)  # fmt: skip


class Script:
    """The text of a step and the digest by which Redis knows it."""

    __slots__ = ("digest", "name", "text")

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self.digest = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def read_scripts(queues: int) -> dict[str, Script]:
    """All steps, for a crawl with so many front queues."""
    folder = resources.files(__package__) / "lua"
    common = f"local F = {queues}\n" + (folder / "common.lua").read_text(encoding="utf-8")
    return {
        name: Script(name, common + (folder / f"{name}.lua").read_text(encoding="utf-8"))
        for name in NAMES
    }
