"""A crawl reaches the same pages as wget, on real documentation served by a real nginx."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.ports import free_port
from tests.programs import folder, program
from tests.suites import ROOT

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def documentation(tmp_path: Path):
    """Debian's python3.11-doc behind nginx; the URL of its start page."""
    pages = folder("/usr/share/doc/python3.11/html", "python3.11-doc")
    config, port = tmp_path / "nginx.conf", free_port()
    config.write_text(
        f"""daemon off; master_process off; pid {tmp_path}/pid; error_log {tmp_path}/error;
        events {{}}
        http {{
          types {{ text/html html; text/css css; application/javascript js; image/png png; }}
          access_log off;
          server {{ listen 127.0.0.1:{port}; root {pages}; }}
        }}"""
    )
    with subprocess.Popen(
        [program("nginx"), "-c", str(config), "-e", f"{tmp_path}/error"]
    ) as nginx:
        try:
            yield f"http://127.0.0.1:{port}/index.html"
        finally:
            nginx.terminate()


@pytest.mark.slow
def test_same_pages_as_wget(documentation: str, tmp_path: Path):
    mirror = tmp_path / "mirror"
    subprocess.run(
        [
            program("wget"),
            *("-q", "-r", "-l", "inf", "-np", "-e", "robots=off", "--reject", "png,js,css,txt"),
            *("-P", str(mirror), documentation),
        ],
        check=False,  # 8: one of the links leads to a 404
    )
    root = mirror / documentation.split("/")[2]
    by_wget = {f"/{path.relative_to(root)}" for path in root.rglob("*.html")}
    assert len(by_wget) > 500, "wget found the documentation"

    job = tmp_path / "job"
    subprocess.run(
        [
            *(sys.executable, "-m", "scrapy", "crawl", "site", "-a", f"seeds={documentation}"),
            *("-s", f"JOBDIR={job}", "-s", "POLITENESS_MIN_DELAY=0", "-s", "CONTENTSEEN_ENABLED=0"),
            *("-s", "POLITENESS_LATENCY_FACTOR=0", "-s", "INDEX_ENABLED=0"),
            *("-s", "ARCHIVE_ENABLED=0", "-s", "NEARDUP_ENABLED=0"),
        ],
        check=True,
        cwd=ROOT,
        capture_output=True,
    )
    lines = [json.loads(line) for line in (job / "crawl.log").read_text().splitlines()]
    fetched = [line for line in lines if line["status"] == 200 and line["type"] == "text/html"]
    assert {urlsplit(line["url"]).path for line in fetched} == by_wget
    assert len({line["url"] for line in lines}) == len(lines), "every URL ended once"
