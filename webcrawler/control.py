"""Talking to a crawl: `scrapy frontier` asks the running crawl, or opens its job folder.

A running crawl listens on a socket in a private folder and writes where into its job folder
(`running.json`). A request is one JSON line, its answer another.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawler.exceptions import JobError, WebcrawlerError
from webcrawler.frontier.desk import ORDERS, Desk
from webcrawler.frontier.record import MAX_URL_BYTES
from webcrawler.job import write_json
from webcrawler.patience import PatientPattern
from webcrawler.urls import complete_seed, parse_host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from webcrawler.crawl_log import CrawlLog

ADDRESS = "running.json"
_MAX_LINE = 1 << 20
Question = dict[str, Any]


def answer(desk: Desk, question: Question, now: float, job: Path, log: CrawlLog) -> Iterator[Any]:
    """Answer a question, in steps between which others may work; the last one is the answer."""
    action, words = question.get("action"), [str(word) for word in question.get("words", [])]
    limit = int(question.get("limit", 20))
    if action == "stats":
        yield desk.stats(now)
    elif action == "hosts":
        order = words[0] if words else "waiting"
        if order not in ORDERS:
            raise JobError(f"hosts can be listed by {', '.join(ORDERS)}, not by {order}")
        yield desk.hosts(order, limit, now)
    elif action == "peek":
        yield desk.peek(_host(words), limit, now)
    elif action in ("block", "unblock"):
        result = desk.block(_host(words), now, blocked=action == "block")
        if not result["known"]:
            raise JobError(f"{result['host']} is no host of this crawl")
        yield result
    elif action == "why":
        yield desk.why(_url(_one(words, "a URL")), now)
    elif action == "add":
        if not words:
            raise JobError("say which URLs to add")
        yield desk.add([_url(word) for word in words])
    elif action == "drop":
        pattern = PatientPattern(_one(words, "a regular expression"))
        yield {"looked_at": 0, "dropped": 0}
        yield from desk.drop(
            pattern, now, lambda ending, via: log.write_unfetched(ending, via, "dropped by hand")
        )
    elif action == "checkpoint":
        yield make_checkpoint(desk, job, Path(_one(words, "a new folder")))
    else:
        raise JobError(f"there is no action {action}")


def make_checkpoint(desk: Desk, job: Path, folder: Path) -> dict[str, Any]:
    """Copy what a crawl needs to be started from there: the frontier, its state and figures.

    The folder appears when everything is in it: a crash leaves no half of a checkpoint.
    """
    unfinished = folder.parent / f".{folder.name}.unfinished"
    try:
        if folder.exists():
            raise JobError(f"{folder} is there already: name a new folder for the checkpoint")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        desk.checkpoint(unfinished)
        for name in ("job.json", "report.json"):
            if (job / name).exists():
                shutil.copy2(job / name, unfinished / name)
        unfinished.rename(folder)
    except OSError as error:
        raise JobError(f"cannot make a checkpoint in {folder}: {error.strerror}") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return {"folder": str(folder)}


def _one(words: list[str], what: str) -> str:
    if len(words) != 1:
        raise JobError(f"name {what}")
    return words[0]


def _host(words: list[str]) -> str:
    text = _one(words, "a host")
    try:
        return parse_host(text)
    except ValueError:
        raise JobError(f"{text} is no host") from None


def _url(text: str) -> str:
    url = complete_seed(text)
    if url is None:
        raise JobError(f"{text[:200]} is no URL")
    if len(url) > MAX_URL_BYTES:
        raise JobError(f"{text[:200]} … is longer than the {MAX_URL_BYTES:,} bytes a URL may have")
    return url


class ControlServer:
    """The running crawl's ear. `on_answer` is called when something may have been changed."""

    def __init__(
        self,
        job: Path,
        desk: Desk,
        log: CrawlLog,
        clock: Callable[[], float],
        on_answer: Callable[[], None] = lambda: None,
    ) -> None:
        self._job = job
        self._desk = desk
        self._log = log
        self._clock = clock
        self._on_answer = on_answer
        self._server: asyncio.Server | None = None
        # A socket's path may not be longer than about 100 bytes, a job folder's may.
        self._private = Path(tempfile.mkdtemp(prefix="webcrawler-"))

    async def start(self) -> None:
        remove_left_behind(self._job)
        path = self._private / "control"
        self._server = await asyncio.start_unix_server(self._serve, path, limit=_MAX_LINE)
        address = {"pid": os.getpid(), "socket": str(path), "folder": _identity(self._job)}
        write_json(self._job / ADDRESS, address)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            reply: dict[str, Any]
            try:
                question = json.loads(await reader.readline())
                result = None
                steps = answer(self._desk, question, self._clock(), self._job, self._log)
                for step in steps:
                    result = step
                    await asyncio.sleep(0)
                self._on_answer()
                reply = {"answer": result}
            except WebcrawlerError as error:
                reply = {"error": str(error)}
            except (ValueError, TypeError, AttributeError) as error:
                reply = {"error": f"not understood: {error}"}
            writer.write(json.dumps(reply).encode() + b"\n")
            await writer.drain()
        except ConnectionError:
            pass  # whoever asked has gone
        finally:
            writer.close()

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        with suppress(OSError):
            (self._job / ADDRESS).unlink()
        shutil.rmtree(self._private, ignore_errors=True)


def _identity(folder: Path) -> list[int]:
    """What a folder keeps when it is moved, and its copy does not have."""
    status = folder.stat()
    return [status.st_dev, status.st_ino]


def remove_left_behind(job: Path) -> None:
    """Remove the private folder of a crawl that was killed."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        address = json.loads((job / ADDRESS).read_text(encoding="utf-8"))
        folder = Path(address["socket"]).parent
        # A job folder may come from anywhere, and be the copy of one whose crawl still runs: only
        # what such a crawl makes is removed, and only if nobody listens there.
        if folder.parent == Path(tempfile.gettempdir()) and folder.name.startswith("webcrawler-"):
            with socket.socket(socket.AF_UNIX) as connection:
                if connection.connect_ex(str(folder / "control")) == 0:
                    return
            (folder / "control").unlink(missing_ok=True)
            folder.rmdir()


def ask_running(job: Path, question: Question) -> Any:
    """The running crawl's answer; None when no crawl runs in this job folder."""
    try:
        address = json.loads((job / ADDRESS).read_text(encoding="utf-8"))
        if address.get("folder", _identity(job)) != _identity(job):
            return None  # a copy: the crawl that listens there is not of this folder
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(600)
            connection.connect(str(address["socket"]))
            connection.sendall(json.dumps(question).encode() + b"\n")
            with connection.makefile("rb") as file:
                reply = json.loads(file.readline() or b"null")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    if reply is None:
        return None
    if "error" in reply:
        raise JobError(reply["error"])
    return reply["answer"]
