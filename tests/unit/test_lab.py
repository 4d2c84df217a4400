"""The lab: replayable, polite, and it loses nothing."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from webcrawler.frontier.backends import SIDE_TABLES
from webcrawler.frontier.backends.embedded import EmbeddedStore
from webcrawler.frontier.backends.kv import DictKV
from webcrawler.frontier.backends.layout import OWN_TABLES
from webcrawler.frontier.backends.rocks import RocksKV
from webcrawler.lab.__main__ import main
from webcrawler.lab.auditor import Auditor
from webcrawler.lab.picture import sparkline, svg
from webcrawler.lab.planning import needs
from webcrawler.lab.simulation import Outcome, Simulation
from webcrawler.lab.web import SimulatedWeb

DAY = 86_400.0


def crawl(seed: int = 1, kv=None, hosts: int = 150, days: float = 30, **options) -> Outcome:
    web = SimulatedWeb(seed, hosts, 60, **options)
    simulation = Simulation(web, EmbeddedStore(kv or DictKV()), concurrency=32, seed=seed)
    return simulation.run(days * DAY)


def test_the_same_seed_gives_the_same_crawl():
    assert crawl(1).digest == crawl(1).digest
    assert crawl(1).digest != crawl(2).digest


def test_the_store_does_not_change_the_crawl(tmp_path):
    kv = RocksKV(tmp_path / "frontier", (*OWN_TABLES, *SIDE_TABLES))
    stored, remembered = crawl(3, kv, days=2, news=30), crawl(3, days=2, news=30)
    assert stored.digest == remembered.digest
    assert stored.waits == remembered.waits


def test_every_page_is_reached_and_no_host_hurried():
    outcome = crawl(dead=0.0, flaky=0.0)
    web = SimulatedWeb(1, 150, 60)
    assert outcome.is_finished
    assert outcome.pages == sum(web.size(host) for host in range(150))
    assert outcome.violations == 0
    assert outcome.smallest_spare >= -1e-6
    assert outcome.seconds > web.size(0), "the largest host has a page a second at most"
    assert sum(outcome.buckets) == outcome.pages


def test_what_is_published_meanwhile_is_fetched_soon():
    outcome = crawl(news=600, dead=0.0, days=1)
    assert outcome.seconds == DAY
    assert not outcome.is_finished
    assert outcome.news == pytest.approx(600 * 24, rel=0.01)
    assert outcome.news_fetched >= outcome.news - 600
    assert outcome.news_wait_secs / outcome.news_fetched < 600
    assert outcome.violations == 0
    assert len(outcome.waits) == len(outcome.buckets)
    assert max(outcome.waits) == outcome.waits[0] > outcome.waits[-1]


def test_failures_end_and_nothing_waits_for_ever():
    outcome = crawl(dead=0.3, flaky=0.3)
    assert outcome.failed
    assert outcome.waiting == 0
    assert outcome.violations == 0


def test_the_auditor_sees_what_is_wrong():
    auditor = Auditor(10, minimum=1.0, factor=1.0)
    auditor.start(1, 0.0)
    auditor.start(1, 0.5)
    assert auditor.violations == 1, "two at once"
    auditor.end(1, 0.5, crawl_delay=5.0, now=1.0)
    auditor.start(1, 5.9)
    assert auditor.violations == 2, "before its Crawl-delay"


def test_a_plan_from_costs():
    costs = {
        "ours": {"pages": 100, "rate": 10.0, "cpu_ms": 7, "peak_mb": 1024, "stored": {"warc": 200}}
    }
    (need,) = needs(costs, pages=86_400_000, days=1)
    assert need.workers == 143  # 1000 pages a second by 7 of each
    assert need.cores == pytest.approx(10.0)
    assert need.stored_tb == {"warc": pytest.approx(0.0001728)}


def test_pictures():
    assert sparkline([0, 1, 100]) == " ▁█"
    assert sparkline([]) == ""
    outcome = Outcome(bucket_secs=10.0, buckets=[1000, 0, 1], waits=[500, 5, 0])
    drawn = svg("a < b", outcome, 30, "")
    assert ElementTree.fromstring(drawn).tag.endswith("svg")
    assert "a &lt; b" in drawn
    for mark in ("day 30", ">100<", ">0.1<"):
        assert mark in drawn


def test_the_command(capsys, tmp_path):
    words = [
        "--hosts",
        "50",
        "--largest",
        "20",
        "--news",
        "60",
        "--days",
        "2",
        "--backend",
        "memory",
    ]
    assert main([*words, "--json", "--svg", str(tmp_path / "a.svg")]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["violations"] == 0
    assert told["plan"]["pages"] == 15_000_000_000
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
    assert main(words) == 0
    assert "A model" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["--hosts", "0"],
        ["--hosts", "100000000000"],
        ["--days", "nan"],
        ["--days", "inf"],
        ["--max-pages", "-1"],
        ["--min-delay", "-1"],
        ["--svg", "/nowhere/a.svg"],
        ["--costs", "/nowhere.json"],
        ["--costs", "/dev/null"],
        ["--costs", "OTHER"],
    ],
    ids=" ".join,
)
def test_bad_input_gives_one_sentence(words, capsys, tmp_path):
    other = tmp_path / "other.json"
    other.write_text('{"sites": {"doc": {"ours, links only": {"rate": 5}}}}')
    option, value = words
    assert main([option, str(other) if value == "OTHER" else value]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert option in said or value in said or str(other) in said
