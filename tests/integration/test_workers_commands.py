"""Commands on the job folder of several workers read the folders of all of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.commanding import refused, run
from tests.crawling import read_log
from tests.integration.test_workers import assert_good, server, shared, start
from webcrawler.sampleweb import SampleServer, SampleWeb

if TYPE_CHECKING:
    from pathlib import Path

    from tests.crawling import Crawls

__all__ = ["server", "shared"]  # fixtures
KEPT: dict[str, Any] = {
    "ANCHORS_ENABLED": True,
    "ARCHIVE_ENABLED": True,
    "CONTENTSEEN_ENABLED": True,
    "POLITENESS_MIN_DELAY": 0,
}


@pytest.fixture
def web(shared: Crawls) -> SampleServer:
    """Crawled by two workers, one after the other, so that each is certain to have pages."""
    with SampleServer(SampleWeb.plain(hosts=6, pages=60, duplicates=0.2, cross_host=0.5)) as web:
        half = len(web.web.truth().reachable_pages()) // 2
        for name, limit in (("worker-1", half), ("worker-2", "")):
            assert_good(start(shared, web, 1, FRONTIER_WORKER=name, max_pages=limit, **KEPT))
    return web


def logs(shared: Crawls) -> dict[Path, list[dict[str, Any]]]:
    found = {folder: read_log(folder) for folder in sorted(shared.job.glob("worker-*"))}
    assert len(found) == 2
    assert all(found.values())
    return found


def test_archive_and_links_of_all_workers(shared: Crawls, web: SampleServer) -> None:
    lines = logs(shared)
    job = ("--job", shared.job)
    listed = [json.loads(line) for line in run("archive", *job, "list", "--json").lines]
    kept = [record for record in listed if record["kind"] in ("response", "revisit")]
    every = [line["url"] for log in lines.values() for line in log]
    assert sorted(record["url"] for record in kept) == sorted(every)
    counted = run("archive", *job, "list", "--counted").lines
    assert sorted(line.split()[-1] for line in counted) == sorted(every)
    by_file = {record["file"] for record in listed}
    assert len(by_file) == 2
    assert all(any(folder.name in name for name in by_file) for folder in lines)

    for log in lines.values():
        found = run("archive", *job, "get", log[0]["url"])
        assert (found.code, len(found.bytes)) == (0, log[0]["bytes"])
    checked = run("archive", *job, "check", "--json")
    assert (checked.code, checked.json["sound"], checked.json["files"]) == (0, True, 2)

    owner = {line["url"]: folder for folder, log in lines.items() for line in log}
    links = web.web.truth().links
    sources: dict[str, set[str]] = {}
    copies = {line["url"] for log in lines.values() for line in log if line["outcome"] != "stored"}
    for source, targets in links.items():
        for link in targets:
            if source in owner and source not in copies and link.url != source:
                sources.setdefault(link.url, set()).add(source)
    target = next(url for url, linking in sources.items() if len({owner[u] for u in linking}) == 2)
    told = run("links", *job, "--json", "--in", "-n", 1000, target).json
    assert {link["url"] for link in told["in"]["links"]} == sources[target]
    for folder, log in lines.items():
        page = next(line["url"] for line in log if line["outcome"] == "stored")
        assert run("links", *job, "--json", "--out", page).json["out"] is not None, folder


def test_one_index_of_all_workers(shared: Crawls, web: SampleServer, tmp_path: Path) -> None:
    stored = {
        line["url"] for log in logs(shared).values() for line in log if line["outcome"] == "stored"
    }
    built = run(
        "index", "--job", shared.job, "--json", "--fetched-only", "build", tmp_path / "whole"
    )
    assert (built.code, built.json["fetched"]) == (0, len(stored)), built.err


def test_a_job_without_anything(tmp_path: Path) -> None:
    job = tmp_path / "job"
    (job / "worker-1").mkdir(parents=True)
    (job / "job.json").write_text('{"version": 1}')
    refused(run("archive", "--job", job, "list"), "has archived nothing")
    refused(run("links", "--job", job, "http://a.test/"), "has kept no tables")
