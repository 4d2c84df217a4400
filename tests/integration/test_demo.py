"""What `make crawl` runs, and Ctrl-C on it: that reaches every process of the terminal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from tests.crawling import PATIENCE, read_log
from tests.odd_server import Answer, OddServer, page

if TYPE_CHECKING:
    from pathlib import Path


def test_ctrl_c_stops_cleanly_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = webcrawler.settings\n")
    with OddServer({("127.0.0.1", "/robots.txt"): Answer(404)}) as web:
        web.answers["127.0.0.1", "/"] = page(*(f"/{number}" for number in range(500)))
        seeds = ("--seeds", f"http://127.0.0.1:{web.port}/")
        argv = [sys.executable, "-m", "webcrawler.demo", *seeds, "-a", "job=stopped"]
        argv += ["-s", "POLITENESS_MIN_DELAY=0.1"]
        job = tmp_path / "crawls/stopped"
        with subprocess.Popen(
            argv, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
        ) as crawl:
            deadline = time.monotonic() + PATIENCE
            while len(read_log(job)) < 3 and crawl.poll() is None and time.monotonic() < deadline:
                time.sleep(0.05)
            if crawl.poll() is None:
                os.killpg(crawl.pid, signal.SIGINT)
            _, said = crawl.communicate(timeout=PATIENCE)
    assert crawl.returncode == 0, said
    assert "Traceback" not in said
    assert "the same command goes on" in said
    assert json.loads((job / "report.json").read_text())["reason"] == "shutdown"


def test_the_sample_web_goes_on_under_the_name_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = webcrawler.settings\n")
    argv = [sys.executable, "-m", "webcrawler.demo", "-a", "job=little"]
    for pages in (3, 6):
        limited = [*argv, "-a", f"max_pages={pages}"]
        subprocess.run(limited, cwd=tmp_path, check=True, capture_output=True, timeout=PATIENCE)
        log = read_log(tmp_path / "crawls/little")
        assert len({line["url"] for line in log}) == len(log) >= pages  # none twice
    assert [folder.name for folder in (tmp_path / "crawls").iterdir()] == ["little"]
    assert len({line["url"].split("/")[2].partition(":")[2] for line in log}) == 1  # one port


def test_ctrl_c_while_it_is_imported_leaves_no_traceback(tmp_path: Path) -> None:
    """Whenever it comes: an import that waits to be interrupted stands for a slow one."""
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = slow\n")
    (tmp_path / "slow.py").write_text(
        "import webcrawler.commands, os, signal\n"
        # Whoever started the tests may have left it ignored, as shells do in the background.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", "crawl", "site"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "stopped\n")
