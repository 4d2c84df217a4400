"""What `scrapy crawl` refuses before Scrapy starts, and what it says at the end."""

from __future__ import annotations

import pytest
from scrapy.exceptions import UsageError
from scrapy.settings import Settings

from webcrawler.commands.crawl import check_log, last_words


def test_a_log_that_can_be_written_is_fine(tmp_path):
    check_log(Settings({"LOG_LEVEL": "INFO", "LOG_FILE": str(tmp_path / "a.log")}))
    check_log(Settings({"LOG_LEVEL": "10"}))
    check_log(Settings({"LOG_LEVEL": 10}))


def test_a_log_level_that_is_none_is_refused():
    with pytest.raises(UsageError, match="LOG_LEVEL='LOUD' is not allowed: one of CRITICAL"):
        check_log(Settings({"LOG_LEVEL": "LOUD"}))


def test_a_log_that_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"cannot write to the log .* No such file"):
        check_log(Settings({"LOG_LEVEL": "INFO", "LOG_FILE": str(tmp_path / "no" / "a.log")}))


def report(reason: str, waiting: int) -> dict[str, object]:
    frontier = {"waiting": waiting, "frozen": 0}
    figures = {"pages": 1, "bytes": 5, "pages_per_second": 1.0, "by_outcome": {"stored": 1}}
    return {**figures, "reason": reason, "frontier": frontier}


@pytest.mark.parametrize(
    ("reason", "waiting", "words"),
    [
        ("finished", 0, "finished; to start afresh delete"),
        ("shutdown", 3, "3 URLs wait: the same command goes on (shutdown)"),
        # Ctrl-C while the crawl was being opened: no seed may have been put yet.
        ("", 0, "stopped while starting: the same command goes on"),
    ],
)
def test_how_to_go_on(tmp_path, reason: str, waiting: int, words: str):
    assert last_words(report(reason, waiting), tmp_path)[-1].startswith(words)
