"""Deployed with the real scrapyd-deploy to a real Scrapyd: scheduled, cancelled, gone on."""

from __future__ import annotations

import configparser
import json
import shutil
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.crawling import PATIENCE, ROOT, read_log
from tests.odd_server import Answer, Asked, OddServer, page
from tests.ports import free_port
from tests.redis_server import RedisServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BIN = Path(sys.executable).parent
DATA = ("frontier/backends/lua/probe.lua", "ui/probe.html", "ui/probe.css", "index/probe.json")
PAGES = 30
HOSTS = [f"host-{number}.test" for number in range(8)]


def wait_for(what: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE
    while not (found := what()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)
    return found


@dataclass
class Scrapyd:
    """A running Scrapyd and the folder it runs in."""

    folder: Path
    url: str

    def ask(self, action: str, **words: str | list[str]) -> dict[str, Any]:
        data = urllib.parse.urlencode(words, doseq=True).encode()
        is_question = action.startswith(("list", "daemon"))
        url = f"{self.url}{action}.json" + (f"?{data.decode()}" if is_question else "")
        with urllib.request.urlopen(url, None if is_question else data, PATIENCE) as answer:
            said: dict[str, Any] = json.load(answer)
        assert said["status"] == "ok", said
        return said

    def schedule(self, *settings: str, **arguments: str) -> str:
        said = self.ask(
            "schedule", project="webcrawler", spider="site", setting=list(settings), **arguments
        )
        return str(said["jobid"])

    def wait(self, job: str) -> None:
        def has_finished() -> bool:
            jobs = self.ask("listjobs", project="webcrawler")["finished"]
            return job in [each["id"] for each in jobs]

        wait_for(has_finished)

    def log(self, job: str) -> str:
        return (self.folder / f"logs/webcrawler/site/{job}.log").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project: building leaves things behind. What runs says that it is the copy."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("setup.py", "README.md", "requirements.txt", "pyproject.toml", "scrapy.cfg"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(
        ROOT / "webcrawler", folder / "webcrawler", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in DATA:
        path = folder / "webcrawler" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("probe")
    with (folder / "webcrawler/__init__.py").open("a", encoding="utf-8") as file:
        file.write('\n__version__ = "7.7.7"\n')
    return folder


@pytest.fixture(scope="module")
def scrapyd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scrapyd]:
    folder = tmp_path_factory.mktemp("scrapyd")
    port = free_port()
    (folder / "scrapyd.conf").write_text(
        f"[scrapyd]\nbind_address = 127.0.0.1\nhttp_port = {port}\npoll_interval = 0.2\n"
    )
    server = Scrapyd(folder, f"http://127.0.0.1:{port}/")
    output = (folder / "scrapyd.out").open("wb")
    process = subprocess.Popen([BIN / "scrapyd"], cwd=folder, stdout=output, stderr=output)

    def is_up() -> bool:
        assert process.poll() is None, (folder / "scrapyd.out").read_text()
        try:
            return bool(server.ask("daemonstatus"))
        except OSError:
            return False

    try:
        wait_for(is_up)
        yield server
    finally:
        process.terminate()
        process.wait(PATIENCE)
        output.close()


def deploy(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(BIN / "scrapyd-deploy"), *words]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=PATIENCE)


def test_the_egg_holds_the_data_files_too(project: Path):
    done = deploy(project, "--build-egg", "project.egg")
    assert done.returncode == 0, done.stderr
    names = zipfile.ZipFile(project / "project.egg").namelist()
    assert {f"webcrawler/{name}" for name in DATA} <= set(names)
    assert not [name for name in names if name.startswith(("tests", "benchmarks"))]


def test_deploy_schedule_cancel_and_go_on(project: Path, scrapyd: Scrapyd):
    config = configparser.ConfigParser()
    config.read(project / "scrapy.cfg")
    config["deploy"]["url"] = scrapyd.url
    with (project / "scrapy.cfg").open("w") as file:
        config.write(file)
    done = deploy(project)
    assert done.returncode == 0, done.stdout + done.stderr
    spiders = scrapyd.ask("listspiders", project="webcrawler")["spiders"]
    assert spiders == ["directory", "site", "web"]

    links = [f"/{number}.html" for number in range(1, PAGES)]
    with OddServer({("127.0.0.1", "/robots.txt"): Answer(404)}) as web:
        web.answers["127.0.0.1", "/"] = page(*links)
        for link in links:
            web.answers["127.0.0.1", link] = Answer(body=f"<p>This is {link}</p>".encode())
        seed = f"http://127.0.0.1:{web.port}/"
        slow, quick = "POLITENESS_MIN_DELAY=0.2", "POLITENESS_MIN_DELAY=0.01"
        first = scrapyd.schedule(slow, seeds=seed, job="watched")
        folder = scrapyd.folder / "crawls/watched"
        wait_for(lambda: len(read_log(folder)) >= 3)
        scrapyd.ask("cancel", project="webcrawler", job=first)
        scrapyd.wait(first)
        stopped = read_log(folder)
        assert 3 <= len(stopped) < PAGES
        assert json.loads((folder / "report.json").read_text())["reason"] == "shutdown"
        assert not (folder / "running.json").exists()

        second = scrapyd.schedule(quick, seeds=seed, job="watched")
        scrapyd.wait(second)
        asked = [request for request in web.asked if request.path != "/robots.txt"]
        assert sorted(request.path for request in asked) == sorted(["/", *links])
        assert {request.headers["User-Agent"] for request in web.asked} == {"webcrawler/7.7.7"}
    ended = [line["url"] for line in read_log(folder)]
    assert sorted(ended) == sorted(seed[:-1] + path for path in ["/", *links])
    report = json.loads((folder / "report.json").read_text())
    assert (report["finished"], report["pages"]) == (True, PAGES)
    for job, words in ((first, "new crawl"), (second, "going on")):
        assert words in scrapyd.log(job)
        assert "Traceback" not in scrapyd.log(job)
        assert "is not known" not in scrapyd.log(job)  # Scrapyd's own argument is no typo


def test_a_job_that_is_refused_says_why_in_its_log(project: Path, scrapyd: Scrapyd):
    """After the deployment above."""
    job = scrapyd.schedule(seeds="http://")
    scrapyd.wait(job)
    assert "argument seeds='http://' is not understood" in scrapyd.log(job)


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    server = RedisServer()
    yield server
    server.close()


def test_several_jobs_are_workers_of_one_crawl(scrapyd: Scrapyd, redis: RedisServer):
    """After the deployment above. A chain of pages goes on until the test has seen enough."""
    paths = [f"/{number}.html" for number in range(5)]
    is_shared, is_over = threading.Event(), threading.Event()
    with OddServer({(host, "/robots.txt"): Answer(404) for host in HOSTS}) as web:
        everything = [web.url(host, path) for host in HOSTS[1:] for path in paths]

        def chain(asked: Asked) -> Answer:
            if is_over.is_set() or asked.path in paths:
                return Answer()
            links = everything if is_shared.is_set() else []
            return page(f"/{len(asked.path)}{asked.path}", *links)

        web.answers[HOSTS[0]] = chain
        settings = [
            "FRONTIER_BACKEND=redis",
            f"REDIS_URL={redis.url}",
            "DNS_HOSTS=*.test=127.0.0.1",
            "POLITENESS_MIN_DELAY=0.1",
        ]
        seeds = ",".join(web.url(host) for host in HOSTS)
        jobs = [scrapyd.schedule(*settings, seeds=seeds, job="shared") for _ in range(2)]
        folder = scrapyd.folder / "crawls/shared"

        def logged() -> list[str]:
            return [line["url"] for job in folder.glob("worker-*") for line in read_log(job)]

        wait_for(lambda: redis.client().hlen("{shared}:workers") == 2)
        is_shared.set()
        wait_for(lambda: set(everything) <= set(logged()))
        scrapyd.ask("cancel", project="webcrawler", job=jobs[0])
        scrapyd.wait(jobs[0])
        is_over.set()
        scrapyd.wait(jobs[1])
        asked = [web.url(a.host, a.path) for a in web.asked if a.path != "/robots.txt"]
        assert sorted(asked) == sorted(logged()), "each page once, by one of them"
        assert len(set(asked)) == len(asked)
    reports = [json.loads(path.read_text()) for path in folder.glob("worker-*/report.json")]
    assert sorted(report["reason"] for report in reports) == ["finished", "shutdown"]
    for job in jobs:
        assert "Traceback" not in scrapyd.log(job)
        assert "a worker is gone" not in scrapyd.log(job), "it left its hosts behind"
