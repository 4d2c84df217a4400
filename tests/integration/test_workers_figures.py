"""The figures of a crawl by several workers, in `scrapy frontier stats` and in report.json."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.crawling import Crawls, read_log
from tests.redis_server import RedisServer
from webcrawler.sampleweb import SampleServer, SampleWeb

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOTHING = "http://127.0.0.1:1/"  # until both workers are there


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    server = RedisServer()
    yield server
    server.close()


def read_report(job: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((job / "report.json").read_text())
    return report


def test_figures_of_two_workers(crawls: Crawls, redis: RedisServer) -> None:
    crawls.settings = {
        "FRONTIER_BACKEND": "redis",
        "REDIS_URL": redis.url,
        "FRONTIER_PARTITIONS": 8,
        "FRONTIER_STAY": True,
        "RETRY_ENABLED": False,
    }
    options = [word for pair in crawls.settings.items() for word in ("-s", "{}={}".format(*pair))]

    def stats() -> dict[str, Any]:
        answer: dict[str, Any] = crawls.ask(*options, "stats")
        return answer

    def are_both_there() -> bool:
        answered = crawls.frontier("--json", *options, "stats")  # an error before there is a crawl
        return answered.code == 0 and len(json.loads(answered.stdout)["workers"]) == 2

    with SampleServer(SampleWeb.plain(hosts=24, pages=72)) as web:
        workers = [crawls.start("web", NOTHING) for _ in range(2)]
        for worker in workers:
            worker.until(are_both_there)
        redis.client().lpush("web:start_urls", *web.seeds)
        pages = len(web.web.truth().reachable_pages())
        found: dict[str, Any] = {}

        def is_told() -> bool:
            found.update(stats())
            return sum(worker["pages"] for worker in found["workers"]) == pages

        workers[0].until(is_told)  # a worker tells of itself once a second
        assert [worker["worker"] for worker in found["workers"]] == ["worker-1", "worker-2"]
        assert sum(worker["pages_per_second"] for worker in found["workers"]) > 0
        assert all(worker["leases"] >= 0 for worker in found["workers"])
        assert found["overlap"] == 0
        assert found["coverage"] == 1
        assert found["exchanged_per_page"] > 0, "hosts link to hosts of the other worker"
        assert found["redis_commands_per_page"] > 1
        jobs = sorted(crawls.job.glob("worker-*"))
        for job in jobs:
            workers[0].until(lambda job=job: read_report(job)["crawl"]["pages"] == pages)
        for worker in workers:
            worker.signal(signal.SIGINT)
            assert worker.wait() == 0, worker.stderr
    reports = [read_report(job) for job in jobs]
    for job, report in zip(jobs, reports, strict=True):
        assert sum(report["by_outcome"].values()) == len(read_log(job)), "of this worker"
        assert report["by_outcome"]["stored"] == report["pages"]
        assert "waiting" not in report["frontier"], "that is everybody's"
        whole = report["crawl"]
        assert (whole["overlap"], whole["coverage"]) == (0, 1)
        assert (whole["hosts"], whole["waiting"]) == (25, 0)  # and the one that is not there
    assert sum(report["pages"] for report in reports) == pages
    assert min(report["pages"] for report in reports) > 0
    assert stats()["workers"] == []


def test_one_worker_exchanges_nothing(crawls: Crawls, redis: RedisServer) -> None:
    crawls.settings = {"FRONTIER_BACKEND": "redis", "REDIS_URL": redis.url}
    with SampleServer(SampleWeb.plain(hosts=4, pages=20)) as web:
        crawls.run("web", web.seeds)
        report = read_report(crawls.job / "worker-1")
        assert report["crawl"]["exchanged_per_page"] == 0
        assert report["crawl"]["coverage"] == 1
        assert report["finished"]
        crawls.run("web", web.seeds)  # nothing is left
    again = read_report(crawls.job / "worker-1")
    assert again["pages"] == again["crawl"]["pages"] == report["pages"] == 20
