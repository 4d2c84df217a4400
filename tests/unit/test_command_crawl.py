"""What `scrapy crawl` refuses before Scrapy starts."""

from __future__ import annotations

import pytest
from scrapy.exceptions import UsageError
from scrapy.settings import Settings

from webcrawler.commands.crawl import check_log


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
