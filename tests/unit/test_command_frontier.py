"""What `scrapy frontier` shows people; the rest is tested on real crawls."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from webcrawler.commands.frontier import show

ROW = {
    "waiting": 1,
    "fetched": 0,
    "in_secs": 0.0,
    "because": "never hit",
    "failures": 0,
    "blocked": False,
    "budget_used_up": False,
}


@pytest.mark.parametrize("host", ["[fe80::1]:8000", "[b]", "a.test"])
def test_a_host_in_brackets_is_shown(host):
    out = StringIO()
    show("hosts", [{"host": host, **ROW}], Console(file=out, width=100, highlight=False))
    assert out.getvalue().splitlines()[1].startswith(f"{host} ")
