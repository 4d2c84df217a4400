"""Real crawls for tests: started as processes, waited for, killed, and what they leave read."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections import deque
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.cmdline import execute

from webcrawler.control import remove_left_behind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from webcrawler.sampleweb import SampleServer

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 120.0  # seconds that a loaded machine may need for what takes one
LOG_FIELDS = ("at", "url", "status", "bytes", "ms", "depth", "type", "via", "outcome", "digest")
# A crawl as fast as it goes, and nothing made of its pages.
FAST = {
    "POLITENESS_MIN_DELAY": 0,
    "POLITENESS_LATENCY_FACTOR": 0,
    "POLITENESS_BACKOFF": 0.05,
    "ROBOTSTXT_OBEY": False,
    "CONTENTSEEN_ENABLED": False,
    "NEARDUP_ENABLED": False,
    "ANCHORS_ENABLED": False,
    "INDEX_ENABLED": False,
    "ARCHIVE_ENABLED": False,
    "REPORT_SECS": 0.5,
    "LOG_LEVEL": "INFO",
}


class Launcher:
    """The process that forks the commands (tests/launcher.py)."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.launcher"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if self._answer() != "ready":
            raise RuntimeError("the launcher could not start")

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def ask(self, job: dict[str, Any]) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return int(self._answer())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE)


class Command:
    """A running `scrapy` command."""

    def __init__(
        self, launcher: Launcher, folder: Path, argv: Iterable[object], **job: Any
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        number = sum(1 for _ in folder.glob("*.stderr"))
        self._outputs = {name: folder / f"{number:03}.{name}" for name in ("stdout", "stderr")}
        for path in self._outputs.values():
            path.touch()
        self.argv = [str(word) for word in argv]
        self._launcher = launcher
        self._code: int | None = None
        self.pid = launcher.ask(
            {
                "argv": self.argv,
                "cwd": str(folder),
                **{name: str(path) for name, path in self._outputs.items()},
                **job,
            }
        )
        self._descriptor = os.pidfd_open(self.pid)

    @property
    def stdout(self) -> str:
        return self._outputs["stdout"].read_text(encoding="utf-8", errors="replace")

    @property
    def stderr(self) -> str:
        return self._outputs["stderr"].read_text(encoding="utf-8", errors="replace")

    def has_ended(self, timeout: float = 0.0) -> bool:
        if self._code is not None:
            return True
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        if not poll.poll(timeout * 1000):
            return False
        self._code = self._launcher.ask({"reap": self.pid})
        os.close(self._descriptor)
        return True

    def wait(self, timeout: float = PATIENCE) -> int:
        """The exit code; minus the signal's number for a killed one."""
        if not self.has_ended(timeout):
            self.kill()
            raise TimeoutError(f"{self.argv} did not end in {timeout} s:\n{self.stderr[-5000:]}")
        assert self._code is not None
        assert "ScrapyDeprecationWarning" not in self.stderr, self.stderr
        return self._code

    def signal(self, number: int) -> None:
        if self._code is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        self.signal(signal.SIGKILL)
        assert self.has_ended(PATIENCE)

    def until(self, condition: Callable[[], Any], timeout: float = PATIENCE) -> Any:
        """Wait for something that the running command is to bring about."""
        deadline = time.monotonic() + timeout
        while True:
            result = condition()
            if result:
                return result
            if self.has_ended(0.01):
                result = condition()
                assert result, f"it ended first:\n{self.stderr[-5000:]}"
                return result
            if time.monotonic() > deadline:
                self.kill()
                raise TimeoutError(f"waited in vain:\n{self.stderr[-5000:]}")


@dataclass(frozen=True)
class Answered:
    """How a command in this process ended."""

    code: object
    stdout: str
    stderr: str


@dataclass
class Crawls:
    """Crawls of one job folder below a test's own folder."""

    launcher: Launcher
    folder: Path
    dns: dict[str, str] = field(default_factory=lambda: {"*.test": "127.0.0.1"})
    settings: dict[str, Any] = field(default_factory=dict)
    commands: list[Command] = field(default_factory=list)
    name: str = "job"

    @property
    def job(self) -> Path:
        return self.folder / self.name

    def start(
        self,
        spider: str,
        seeds: str | Iterable[str] = (),
        *options: object,
        stdin: str | None = None,
        limits: dict[str, int] | None = None,
        is_powerless: bool = False,
        clock_shift: float = 0.0,
        **changes: Any,
    ) -> Command:
        """Start a crawl; lower-case changes are arguments, upper-case ones settings."""
        settings = {**FAST, "JOBDIR": self.job, "DNS_HOSTS": self._hosts, **self.settings}
        arguments = {"seeds": seeds if isinstance(seeds, str) else ",".join(seeds)}
        for name, value in changes.items():
            (settings if name.isupper() else arguments)[name] = value
        argv: list[object] = ["runspider" if spider.endswith(".py") else "crawl", spider, *options]
        for name, value in arguments.items():
            if value != "":
                argv += ["-a", f"{name}={value}"]
        for name, value in settings.items():
            if value is not None:
                argv += [
                    "-s",
                    f"{name}={value if not isinstance(value, dict) else json.dumps(value)}",
                ]
        job: dict[str, Any] = {
            "limits": limits or {},
            "is_powerless": is_powerless,
            "clock_shift": clock_shift,
        }
        if stdin is not None:
            path = self.folder / "input.txt"
            path.write_text(stdin, encoding="utf-8")
            job["stdin"] = str(path)
        return self._started(argv, job)

    def run(
        self, spider: str, seeds: str | Iterable[str] = (), *options: object, **k: Any
    ) -> Command:
        """A crawl from its start to its end, which must be a good one."""
        command = self.start(spider, seeds, *options, **k)
        assert command.wait() == 0, command.stderr
        assert "Traceback" not in command.stderr, command.stderr
        return command

    def frontier(self, *words: object) -> Answered:
        """A `scrapy frontier` command on the job, in this process: it needs no reactor."""
        self._make_project()
        argv = ["scrapy", "frontier", "--job", str(self.job), *map(str, words)]
        code: object = None
        environment, path = dict(os.environ), list(sys.path)
        out, errors = StringIO(), StringIO()
        with chdir(self.folder), redirect_stdout(out), redirect_stderr(errors):
            try:
                execute(argv)
            except SystemExit as end:
                code = end.code
            finally:
                # Scrapy makes itself at home in a project's folder.
                os.environ.clear()
                os.environ.update(environment)
                sys.path[:] = path
        return Answered(code, out.getvalue(), errors.getvalue())

    def ask(self, *words: object) -> Any:
        """The answer of `scrapy frontier --json`, which must be one."""
        answered = self.frontier("--json", *words)
        assert answered.code == 0, answered.stderr
        return json.loads(answered.stdout)

    def command(self, *argv: object) -> Command:
        """Any other command, to its end."""
        command = self._started(list(argv), {})
        command.wait()
        return command

    def _make_project(self) -> None:
        """A project of its own, so that whatever is made by default is made here."""
        config = self.folder / "scrapy.cfg"
        if not config.exists():
            config.write_text("[settings]\ndefault = webcrawler.settings\n")

    def _started(self, argv: list[object], job: dict[str, Any]) -> Command:
        self._make_project()
        command = Command(self.launcher, self.folder, argv, **job)
        self.commands.append(command)
        return command

    def end(self) -> None:
        """Leave nothing running."""
        for command in self.commands:
            if not command.has_ended():
                command.kill()
        for address in self.folder.rglob("running.json"):
            remove_left_behind(address.parent)

    @property
    def _hosts(self) -> str:
        return ",".join(f"{name}={address}" for name, address in self.dns.items())

    # -- what is left

    @property
    def log(self) -> list[dict[str, Any]]:
        return read_log(self.job)

    @property
    def report(self) -> dict[str, Any]:
        report: dict[str, Any] = json.loads((self.job / "report.json").read_text())
        return report

    @property
    def urls(self) -> list[str]:
        return [line["url"] for line in self.log]

    def ended(self, url: str) -> dict[str, Any]:
        """The one line of a URL."""
        lines = [line for line in self.log if line["url"] == url]
        assert len(lines) == 1, (url, lines)
        return lines[0]


def read_log(job: Path) -> list[dict[str, Any]]:
    """The lines of crawl.log; one that is being written is left out."""
    path = job / "crawl.log"
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")
    return [json.loads(line) for line in lines[:-1]]


def fetched(server: SampleServer) -> list[str]:
    """The URLs that were asked for, in the order of the answers; robots.txt left out."""
    port = "" if server.port == 80 else f":{server.port}"
    return [
        f"http://{arrival.host}{port}{arrival.path}"
        for arrival in server.arrivals
        if arrival.path != "/robots.txt"
    ]


def reachable(
    server: SampleServer, seeds: Iterable[str], follow: Callable[[str], bool]
) -> dict[str, int]:
    """The pages that a breadth-first crawl from these seeds finds, with their depths.

    For what Truth.reachable cannot be asked: `follow` says which links are followed.
    """
    links = server.web.truth().links
    depths = dict.fromkeys(seeds, 0)
    waiting = deque(depths)
    while waiting:
        url = waiting.popleft()
        for link in links.get(url, ()):
            if link.url not in depths and follow(link.url):
                depths[link.url] = depths[url] + 1
                waiting.append(link.url)
    return depths
