"""running.json may lie: a job folder may be a copy, or come from anywhere."""

from __future__ import annotations

import json
import shutil
import socket
import tempfile
import threading
from pathlib import Path

import pytest

from webcrawler.control import ADDRESS, ask_running, remove_left_behind


@pytest.fixture
def private():
    folder = Path(tempfile.mkdtemp(prefix="webcrawler-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def listener(private):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(private / "control"))
        server.listen()
        yield server


def point(job: Path, private: Path, **more: object) -> None:
    (job / ADDRESS).write_text(json.dumps({"socket": str(private / "control"), **more}))


def test_what_a_killed_crawl_left_is_removed(tmp_path, private):
    (private / "control").touch()
    point(tmp_path, private)
    remove_left_behind(tmp_path)
    assert not private.exists()


@pytest.mark.usefixtures("listener")
def test_a_copy_does_not_take_the_socket_of_the_crawl_that_runs(tmp_path, private):
    point(tmp_path, private)
    remove_left_behind(tmp_path)
    assert (private / "control").exists()


def test_nothing_else_is_removed(tmp_path, private):
    (private / "kept").touch()
    point(tmp_path, private)
    remove_left_behind(tmp_path)
    assert (private / "kept").exists()


def test_a_copy_does_not_ask_the_crawl_that_runs(tmp_path, private, listener):
    job, copy = tmp_path / "job", tmp_path / "copy"
    job.mkdir()
    copy.mkdir()
    status = job.stat()
    for folder in (job, copy):
        point(folder, private, folder=[status.st_dev, status.st_ino])

    def answer_once() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1000)
            connection.sendall(b'{"answer": 1}\n')

    answering = threading.Thread(target=answer_once)
    answering.start()
    listener.settimeout(10)
    assert ask_running(copy, {"action": "stats"}) is None
    assert ask_running(job, {"action": "stats"}) == 1
    answering.join()


@pytest.mark.parametrize("text", ["[1]", "{", "7", "null"])
def test_a_damaged_one_says_nothing(tmp_path, text):
    (tmp_path / ADDRESS).write_text(text)
    remove_left_behind(tmp_path)
    assert ask_running(tmp_path, {"action": "stats"}) is None
