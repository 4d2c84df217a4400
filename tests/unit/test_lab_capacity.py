"""The table of what crawls of several sizes need, from measured costs only."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from webcrawler.lab.capacity import SIZES, WAYS, main

if TYPE_CHECKING:
    from pathlib import Path

COST = {"rate": 100.0, "cpu_ms": 8.0, "peak_mb": 1024.0, "pages": 1000, "stored": {"warc": 2_000}}
MEASURED: dict[str, Any] = {
    "crawl.json": {"machine": "on Monday", "sites": {"doc": dict.fromkeys(WAYS, COST)}},
    "shared_memory.json": {
        "machine": "on Tuesday",
        "url": 70,
        "waiting": 50,
        "known": 10,
        "ended": 190,
        "tables": 2000,
    },
    "workers.json": {"machine": "on Friday", "rounds": {"one worker": [{"redis_cpu": 0.7}]}},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, told in MEASURED.items():
        (tmp_path / name).write_text(json.dumps(told))
    return tmp_path


def rows_of(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    assert main(["--folder", str(folder), "--json", *words]) == 0
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return rows


def test_needs_follow_from_the_costs(folder: Path, capsys: pytest.CaptureFixture[str]):
    rows = rows_of(folder, capsys, "--days", "10", "--known-per-page", "3")
    assert [row["pages"] for row in rows] == [size for size in SIZES for _ in WAYS]
    links, everything = rows[2:4]
    wanted = 1e9 / 864_000  # pages a second
    assert links["workers"] == pytest.approx(wanted / 70, abs=1), "each loaded to 70 %"
    assert links["disk_tb"] == pytest.approx(0.002)
    # A page that ended: 190 and its fingerprint; two more URLs wait: 70 and 50 each.
    assert links["redis_gb"] == pytest.approx(190 + 10 + 2 * 120)
    assert everything["redis_gb"] == pytest.approx(440 + 2000)
    assert links["redis_cores"] == pytest.approx(wanted * 0.0007 / 0.7)


def test_the_sets_of_known_urls_stay_compact(folder: Path, capsys: pytest.CaptureFixture[str]):
    for row in rows_of(folder, capsys):
        sets = row["FRONTIER_PARTITIONS"] * row["FRONTIER_SEEN_BUCKETS"]
        assert row["known"] / sets <= 400
        assert row["FRONTIER_PARTITIONS"] <= 1024, "what the setting allows"


def test_it_says_what_was_measured_and_when(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["--folder", str(folder)]) == 0
    out = capsys.readouterr().out
    for day in ("Monday", "Tuesday", "Friday"):
        assert f"measured on {day}" in out
    assert out.count("15,000,000,000") == len(WAYS)


@pytest.mark.parametrize("name", MEASURED)
def test_what_is_missing_is_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
):
    (folder / name).unlink()
    assert main(["--folder", str(folder)]) == 2
    error = capsys.readouterr().err
    assert name in error
    assert "python benchmarks/" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("name", MEASURED)
@pytest.mark.parametrize("text", ["{}", "[]", '{"sites": {"a": {"ours": {}}}, "rounds": []}'])
def test_other_json_is_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, text: str
):
    (folder / name).write_text(text)
    assert main(["--folder", str(folder)]) == 2
    error = capsys.readouterr().err
    assert "python benchmarks/" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("words", [["--days", "nan"], ["--days", "0"], ["--known-per-page", "inf"]])
def test_days_and_urls_are_checked(words: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(words)
    assert "must be more than 0" in capsys.readouterr().err


def test_a_way_that_was_not_measured(folder: Path, capsys: pytest.CaptureFixture[str]):
    told = {"machine": "today", "sites": {"doc": {WAYS[0]: COST}}}
    (folder / "crawl.json").write_text(json.dumps(told))
    assert main(["--folder", str(folder)]) == 2
    assert f"has no '{WAYS[1]}'" in capsys.readouterr().err
