"""Settings become typed objects; a wrong value is one sentence."""

from __future__ import annotations

import os

import pytest
from scrapy.settings import Settings

from webcrawler.config import Config
from webcrawler.defaults import SETTINGS
from webcrawler.exceptions import SettingError


def config(**values) -> Config:
    return Config(Settings({"CONCURRENT_REQUESTS": 16, "USER_AGENT": "webcrawler/1", **values}))


def test_defaults_are_all_right():
    config().check()


def test_strings_from_a_command_line_are_understood():
    made = config(
        FRONTIER_BATCH="4",
        POLITENESS_MIN_DELAY="0.5",
        ARCHIVE_ENABLED="false",
        INDEX_ENABLED="1",
        FRONTIER_WEIGHTS="8,4,2,1,1,1,1,1",
        URL_DROP_PARAMS="a, b",
        POLITENESS_OVERRIDES='{"Example.org": {"min_delay": 5}}',
    )
    assert made.frontier.batch == 4
    assert made.policies.default.minimum == 0.5
    assert not made.content.archive
    assert made.content.index
    assert made.frontier.weights[:2] == (8, 4)
    assert made.links.drop_params == ("a", "b")
    assert made.policies.of("example.org").minimum == 5


def test_overrides_name_hosts_as_people_do():
    made = config(
        POLITENESS_OVERRIDES={"*.Bücher.example": {"min_delay": 5}, "[::1]": {"min_delay": 6}}
    )
    assert made.policies.of("www.xn--bcher-kva.example").minimum == 5
    assert made.policies.of("[::1]:8000").minimum == 6


def test_back_queues_grow_with_the_concurrency():
    assert config(CONCURRENT_REQUESTS=100).frontier.back_queues == 300
    assert config(FRONTIER_BACK_QUEUES=7).frontier.back_queues == 7


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FRONTIER_BACKEND", "sqlite"),
        ("FRONTIER_FRONT_QUEUES", 0),
        ("FRONTIER_FRONT_QUEUES", 256),
        ("FRONTIER_FRONT_QUEUES", "many"),
        ("FRONTIER_WEIGHTS", "1,2"),
        ("FRONTIER_WEIGHTS", "a,b"),
        ("FRONTIER_ORDER", "best"),
        ("FRONTIER_BLOOM_ERROR", 2),
        ("POLITENESS_MIN_DELAY", -1),
        ("POLITENESS_MIN_DELAY", "soon"),
        ("POLITENESS_MIN_DELAY", "nan"),
        ("POLITENESS_JITTER", 11),
        ("POLITENESS_OVERRIDES", "example.org=5"),
        ("POLITENESS_OVERRIDES", {"http://example.org/": {"min_delay": 5}}),
        ("POLITENESS_OVERRIDES", {"*": {"min_delay": 5}}),
        ("POLITENESS_OVERRIDES", {"www.*.org": {"min_delay": 5}}),
        ("POLITENESS_OVERRIDES", {"a": 5}),
        ("POLITENESS_OVERRIDES", {"a": {"minimum": 5}}),
        ("POLITENESS_OVERRIDES", {"a": {"min_delay": "x"}}),
        ("POLITENESS_OVERRIDES", {"a": {"min_delay": -2}}),
        ("NEARDUP_THRESHOLD", 1.5),
        ("INDEX_ENABLED", "maybe"),
        ("PAGE_PROCESSES", "some"),
        ("ROBOTS_CONTACT", "a\nb"),
        ("USER_AGENT", "007/1"),
        ("CONCURRENT_REQUESTS", 0),
        ("URL_MAX_LENGTH", 1),
        ("DEPTH_LIMIT", "deep"),
        ("REDIS_SENTINELS", "nowhere"),
    ],
)
def test_wrong_values_name_the_setting_the_value_and_what_is_allowed(name, value):
    with pytest.raises(SettingError) as caught:
        config(**{name: value}).check()
    sentence = str(caught.value)
    assert name in sentence
    assert repr(value)[:20] in sentence
    assert "\n" not in sentence


def test_every_setting_is_read_by_somebody():
    """A setting that nobody reads would be a promise that nobody keeps."""

    class Watching(Settings):
        asked: set[str] = set()

        def get(self, name, default=None):
            self.asked.add(name)
            return super().get(name, default)

        def getpriority(self, name):
            self.asked.add(name)
            return super().getpriority(name)

        def __getitem__(self, name):
            self.asked.add(name)
            return super().__getitem__(name)

    from webcrawler.download.options import download_options

    settings = Watching({"CONCURRENT_REQUESTS": 16, "USER_AGENT": "webcrawler/1"})
    made = Config(settings)
    made.check()
    made.is_local("example.org")
    download_options(settings)
    assert set(SETTINGS) <= settings.asked


@pytest.mark.parametrize(
    ("host", "is_local"),
    [
        ("localhost", True),
        ("127.0.0.1:8000", True),
        ("127.9.8.7", True),
        ("[::1]:80", True),
        ("a.sample.test", True),
        ("deep.a.sample.test:81", True),
        ("example.org", False),
        ("10.0.0.1", False),
        ("localhost.example.org", False),
    ],
)
def test_who_is_local(host, is_local):
    assert config(DNS_HOSTS="*.sample.test=127.0.0.1").is_local(host) is is_local


def test_the_contact_is_part_of_the_user_agent():
    robots = config(ROBOTS_CONTACT="bot@example.org", USER_AGENT="mybot/2").robots
    assert robots.user_agent == "mybot/2 (+bot@example.org)"
    assert robots.agent == "mybot"


@pytest.mark.parametrize(
    ("name", "value"),
    [("RETRY_TIMES", "x"), ("REDIRECT_ENABLED", "perhaps"), ("DOWNLOAD_DELAY", "soon")],
)
def test_scrapys_own_settings_are_checked_too(name, value):
    with pytest.raises(SettingError, match=f"setting {name}='{value}' is not allowed"):
        config(**{name: value}).check()


def test_the_projects_own_settings_are_all_right():
    given = Settings()
    given.setmodule("webcrawler.settings")
    Config(given).check()


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("POLITENESS_MINDELAY", "POLITENESS_MIN_DELAY"),
        ("FRONTIER_BACKENDS", "FRONTIER_BACKEND"),
        ("RETRY_TIMES", ""),  # Scrapy's
        ("MY_OWN_SETTING", ""),
        ("REDIS_URL", ""),
    ],
)
def test_a_setting_that_was_mistyped_is_said(caplog, name, meant):
    config(**{name: "1"}).check()
    assert (f"setting {name} is not known: was {meant} meant?" in caplog.messages) is bool(meant)
    assert bool(caplog.messages) is bool(meant)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux says so")
def test_auto_counts_the_cores_that_may_be_used():
    usable = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(usable)})
        assert config(PAGE_PROCESSES="auto").page_processes == 1
    finally:
        os.sched_setaffinity(0, usable)
    assert config(PAGE_PROCESSES="auto").page_processes == len(usable)
