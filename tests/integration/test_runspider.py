"""A spider of ours in a file, outside of any project: it brings its wiring along."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from scrapy.settings import Settings

from tests.crawling import PATIENCE, ROOT, read_log
from webcrawler.spiders.base import BaseSpider

if TYPE_CHECKING:
    from pathlib import Path

    from webcrawler.sampleweb import SampleServer

SPIDER = """
from webcrawler.spiders.site import SiteSpider


class Recipes(SiteSpider):
    name = "recipes"

    def parse(self, response):
        yield from super().parse(response)
        yield {"title": response.css("h1::text").get()}
"""


def test_a_spider_alone_in_a_folder_crawls(tmp_path: Path, plain: SampleServer) -> None:
    (tmp_path / "recipes.py").write_text(SPIDER)
    argv = [sys.executable, "-m", "scrapy", "runspider", "recipes.py", "-O", "out.jl"]
    argv += ["-a", f"seeds={plain.seeds[0]}", "-a", "max_pages=2", "-a", "job=alone"]
    argv += ["-s", "DNS_HOSTS=*.sample.test=127.0.0.1", "-s", "POLITENESS_MIN_DELAY=0"]
    known = {name: value for name, value in os.environ.items() if not name.startswith("SCRAPY_")}
    done = subprocess.run(
        argv,
        cwd=tmp_path,
        env={**known, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert "Traceback" not in done.stderr
    items = [json.loads(line) for line in (tmp_path / "out.jl").read_text().splitlines()]
    assert len([item for item in items if item.get("title")]) >= 2
    assert [line["outcome"] for line in read_log(tmp_path / "crawls/alone")] == ["stored"] * 2


def test_who_has_said_which_scheduler_keeps_it() -> None:
    settings = Settings({"SCHEDULER": "their.Scheduler"})
    BaseSpider.update_settings(settings)
    assert not settings.getdict("ADDONS")
