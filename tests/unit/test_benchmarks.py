"""What the benchmarks' figures are computed by: an error here would look like a figure."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from tests.suites import ROOT

if TYPE_CHECKING:
    from pathlib import Path

sys.path.insert(0, str(ROOT / "benchmarks"))
try:
    import costs
    import crawl
    import measure
    import politeness
    import tree
    from crawlers import CRAWLERS, STOCK, Missing, Task, crawlee, wget
    from results import Result, Site, markdown, plot_rows
    from serve import Seen, addresses_from
    from serve import Site as Served
    from svg import bars
finally:
    sys.path.remove(str(ROOT / "benchmarks"))

OURS = "ours, links only"
PAGES = frozenset(f"127.0.0.1/{number}.html" for number in range(100))


def result(secs: float, cpu: float = 1.0, peak: float = 50.0, pages: frozenset[str] = PAGES):
    return Result(pages, len(pages) + 7, secs, cpu, peak, {"warc": 5000})


def two_sites() -> Site:
    """Three rounds, in the second of which the machine was ten times as slow."""
    found = {
        STOCK: [result(10, 8), result(100, 80), result(12, 9)],
        "scrapy-redis": [result(20, 16, 90)],
        OURS: [result(1, 1, 70), result(10, 10, 80), result(2, 3, 75)],
    }
    return Site("doc", 2, found, {"GNU wget -r": "wget is not installed"})


def test_ratios_are_of_the_same_round_and_figures_medians() -> None:
    told = two_sites().summary()
    assert told[STOCK]["ratio"] == told[STOCK]["cpu_ratio"] == 1
    ours = told[OURS]
    assert ours["ratio"] == 10  # of 10, 10 and 6
    assert ours["cpu_ratio"] == 8  # of 8, 8 and 3
    assert ours["rate"] == 50  # of 100, 10 and 50 pages a second
    assert ours["cpu_ms"] == 30  # of 10, 100 and 30
    assert ours["peak_mb"] == 80  # the highest
    assert (ours["pages"], ours["requests"], ours["runs"]) == (100, 107, 3)
    slow = told["scrapy-redis"]
    assert (slow["ratio"], slow["runs"]) == (0.5, 1)  # beside the first round alone


def test_the_page_says_what_was_measured_and_what_was_not() -> None:
    site = two_sites()
    text = markdown("today, 2 cores", "scrapy 2.19", 3, [site])
    for said in ("today, 2 cores", "scrapy 2.19", "doc: 100 pages on 2 addresses", "first of 3"):
        assert said in text
    assert "Left out: GNU wget -r: wget is not installed." in text
    row = next(line for line in text.splitlines() if line.startswith(f"| {OURS} "))
    assert [cell.strip() for cell in row.split("|")[2:6]] == ["10.00", "50", "30.00", "8.0"]
    present = [crawler for crawler in CRAWLERS if crawler.name in site.found]
    for crawler in present:
        assert crawler.does in text
        assert crawler.at_once in text
    assert "GNU wget -r |" not in text, "no word on what it does where it has no figures"


def test_the_picture_has_a_bar_for_each_in_proportion() -> None:
    drawn = ElementTree.fromstring(bars("a < b", plot_rows([two_sites()]), "foot"))
    _, *rects = drawn.iter("{http://www.w3.org/2000/svg}rect")
    stock, slow, ours = (float(rect.get("width", 0)) for rect in rects)
    assert ours == pytest.approx(10 * stock, rel=0.01)
    assert stock == pytest.approx(2 * slow, rel=0.01)
    words = "".join(drawn.itertext())
    assert "a < b" in words
    assert "10.0 x" in words


def test_other_pages_have_no_figures() -> None:
    site = Site("doc", 1, {STOCK: [result(10)]})
    crawl.check_same(OURS, result(1), site)
    fewer = result(1, pages=PAGES - {"127.0.0.1/5.html"})
    with pytest.raises(SystemExit, match=r"missed 1 \['127.0.0.1/5.html'\] and reached 0"):
        crawl.check_same(OURS, fewer, site)
    with pytest.raises(Missing, match="not the same pages"):
        crawl.check_same("GNU wget -r", fewer, site)
    with pytest.raises(SystemExit):  # stock itself, in a later round
        crawl.check_same(STOCK, fewer, site)
    crawl.check_same(STOCK, fewer, Site("doc", 1))  # it says in the first what pages there are


def test_what_a_server_saw(tmp_path: Path) -> None:
    log = tmp_path / "log"
    lines = (
        "100.5 0.5 200 text/html 127.0.0.1/a b.html",
        "101.0 0.0 200 text/html 127.0.0.2/c.html",
        "101.5 0.1 404 text/html 127.0.0.1/missing.html",
        "102.0 0.1 200 image/png 127.0.0.1/d.png",
        "103.0 0.1 200 text/html 127.0.0.2/c.html",
    )
    log.write_text("\n".join(lines) + "\n")
    pages = frozenset({"127.0.0.1/a b.html", "127.0.0.2/c.html"})
    assert Served([], log, 1).seen() == Seen(pages, 5, 100.0, 103.0)
    log.write_text("")
    assert Served([], log, 1).seen() == Seen(frozenset(), 0, 0.0, 0.0)


def test_no_polite_crawl_is_faster_than_its_delays_allow() -> None:
    every_second = [float(second) for second in range(41)]
    assert politeness.rate_of(every_second, 10.0, 1.0) == 1.0  # 31 of them in 30 seconds
    assert politeness.rate_of(every_second[::2], 10.0, 1.0) == 0.5
    assert politeness.rate_of([1.0], 0.5, 1.0) == 0.0


def test_addresses_go_on_after_the_last_of_a_network() -> None:
    assert addresses_from("127.0.0.253", 3) == ["127.0.0.253", "127.0.0.254", "127.0.1.1"]
    assert len(set(addresses_from("127.0.0.1", 600))) == 600


@pytest.mark.parametrize(
    ("frames", "part"),
    [
        ("run (asyncio/runners.py:1);put (webcrawler/frontier/mercator.py:3)", "frontier"),
        ("x (webcrawler/documents/pieces.py:1);f (xml.py:1)", "links"),
        ("x (webcrawler/documents/html.py:1)", "parse"),
        ("x (scrapy/core/engine.py:1);y (json.py:2)", "engine (Scrapy, Twisted, asyncio)"),
        ("f (somewhere.py:1)", "other"),
        ("_find_and_load (importlib:1);x (webcrawler/urls/canonical.py:1)", None),
        ("", None),
    ],
)
def test_samples_go_to_the_part_nearest_to_the_top(frames: str, part: str | None) -> None:
    assert costs.place_of(f"process 1:;{frames}".replace("process 1:", "T: MainThread")) == part


def test_a_tree_is_measured_with_its_children(tmp_path: Path) -> None:
    burn = "import time\nx = bytearray(60 << 20)\nwhile time.process_time() < 0.6: pass"
    parent = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {burn!r}])"
    ended = tree.run_tree([sys.executable, "-c", parent], tmp_path, tmp_path / "log")
    assert ended.code == 0
    assert ended.cpu_secs >= 0.6
    assert ended.peak_mb >= 60


def test_an_interrupted_tree_is_ended_whole(tmp_path: Path) -> None:
    """Ctrl-C while a crawler runs: neither it nor what it started goes on."""
    started = tmp_path / "started"
    child = (
        "import time, pathlib, os\n"
        f"pathlib.Path({str(started)!r}).write_text(str(os.getpid()))\n"
        "time.sleep(60)"
    )
    parent = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {child!r}])"
    words = ["-c", parent]
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'benchmarks')!r})\n"
        "import measure, tree\nfrom pathlib import Path\n"
        f"measure.run_main(lambda: tree.run_tree([sys.executable, *{words!r}], Path('.'), "
        f"Path({str(tmp_path / 'log')!r})))"
    )
    benchmark, answers = os.pipe()
    with os.fdopen(benchmark) as said:
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-c", code],
            os.environ,
            setsigdef=[signal.SIGINT],  # ignored where tests run in the background
            file_actions=[(os.POSIX_SPAWN_DUP2, answers, 2), (os.POSIX_SPAWN_CLOSE, benchmark)],
        )
        os.close(answers)
        _wait_until(started.exists)
        _wait_until(started.read_text)
        os.kill(pid, signal.SIGINT)
        _, status = os.waitpid(pid, 0)
        assert said.read() == "\nstopped\n"
    assert os.waitstatus_to_exitcode(status) == 130
    _wait_until(lambda: not _is_alive(int(started.read_text())))


def _wait_until(question) -> None:
    until = time.monotonic() + 60
    while not question():
        assert time.monotonic() < until
        time.sleep(0.02)


def _is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_part_that_fails_is_named() -> None:
    assert measure.run_json([sys.executable, "-c", "print('progress'); print('{\"a\": 1}')"]) == {
        "a": 1
    }
    with pytest.raises(SystemExit, match="ended with 3"):
        measure.run_json([sys.executable, "-c", "raise SystemExit(3)"])


def test_a_missing_program_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Missing, match="apt-get install wget"):
        wget(Task(["http://a.test/"], "", tmp_path))
    monkeypatch.setattr("environments.PLACE", tmp_path / "none" / "at" / "all")
    monkeypatch.setattr("crawlers.crawlee_python", lambda: None)
    with pytest.raises(Missing, match="crawlee could not be installed"):
        crawlee(Task(["http://a.test/"], "", tmp_path))
