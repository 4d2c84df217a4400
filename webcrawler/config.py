"""Settings become typed objects at the door: cast and cross-checked once, here only.

A wrong value names the setting, the value and what is allowed, before the crawl starts.
"""

from __future__ import annotations

import json
import logging
import os
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING, Any, cast, get_args

from scrapy.settings import default_settings

from webcrawler.defaults import SETTINGS
from webcrawler.exceptions import SettingError
from webcrawler.frontier.backends.shared.connection import RedisConfig
from webcrawler.frontier.prioritizer import Order
from webcrawler.job import is_job_name
from webcrawler.politeness import DelayPolicy, Policies
from webcrawler.robots import RobotsPolicy, product_token
from webcrawler.urls import parse_host, without_port

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)
_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off", ""}
_OVERRIDES = {
    "min_delay": "minimum",
    "latency_factor": "factor",
    "max_delay": "maximum",
    "crawl_delay_max": "crawl_delay_maximum",
    "jitter": "jitter",
    "max_pages": "max_pages",
}


class Reader:
    """Reads one setting at a time, of the kind that is asked for."""

    def __init__(self, settings: BaseSettings) -> None:
        self._settings = settings

    def get(self, name: str) -> Any:
        default = SETTINGS[name].default if name in SETTINGS else None
        return self._settings.get(name, default)

    def boolean(self, name: str) -> bool:
        value = self.get(name)
        text = str(value).strip().lower()
        if text in _TRUE:
            return True
        if text in _FALSE or value is None:
            return False
        raise SettingError(name, value, "true or false")

    def number(self, name: str, least: float = 0.0, most: float = float("inf")) -> float:
        value = self.get(name)
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = float("nan")
        if not least <= number <= most:
            raise SettingError(name, value, f"a number {_range(least, most)}")
        return number

    def integer(self, name: str, least: int = 0, most: int | None = None) -> int:
        value = self.get(name)
        try:
            number = int(str(value))
        except ValueError:
            number = least - 1
        if number < least or (most is not None and number > most):
            upper = float("inf") if most is None else most
            raise SettingError(name, value, f"a whole number {_range(least, upper)}")
        return number

    def choice(self, name: str, allowed: tuple[str, ...]) -> str:
        value = self.get(name)
        if value not in allowed:
            raise SettingError(name, value, "one of " + ", ".join(allowed))
        return str(value)

    def words(self, name: str) -> list[str]:
        value = self.get(name)
        if isinstance(value, str):
            return [word.strip() for word in value.split(",") if word.strip()]
        if isinstance(value, list | tuple | set | frozenset):
            return [str(word) for word in value]
        raise SettingError(name, value, "a list, or words separated by commas")

    def domains(self, name: str) -> list[str]:
        domains = self.words(name)
        try:
            for domain in domains:
                parse_host(domain.lstrip("."))
        except ValueError:
            raise SettingError(name, domain, "domains, as in example.org,example.com") from None
        return domains

    def mapping(self, name: str) -> Mapping[str, Any]:
        value = self.get(name)
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except ValueError:
                value = None
        if not hasattr(value, "items"):
            raise SettingError(name, self.get(name), "a dict, or a JSON object")
        return dict(value.items())

    def check_scrapys(self) -> None:
        """Check Scrapy's own numbers and switches, of which Scrapy says nothing before a crash."""
        for name, default in vars(default_settings).items():
            if not name.isupper() or not self._settings.getpriority(name):
                continue
            if isinstance(default, bool) or name.endswith("_ENABLED"):
                self.boolean(name)
            elif isinstance(default, int | float):
                self.number(name, float("-inf"))

    def typos(self) -> dict[str, str]:
        """Settings nobody knows that look like one of ours: what each was probably meant to be."""
        known = {*SETTINGS, *vars(default_settings)}
        close = {
            name: get_close_matches(name, SETTINGS, n=1, cutoff=0.85)
            for name in map(str, self._settings)
            if name not in known
        }
        return {name: match[0] for name, match in close.items() if match}


def _range(least: float, most: float) -> str:
    if least == float("-inf"):
        return "such as 1"
    return f"from {least} to {most}" if most != float("inf") else f"of at least {least}"


@dataclass(frozen=True, slots=True)
class FrontierConfig:
    backend: str
    front_queues: int
    weights: tuple[float, ...]
    order: Order
    back_queues: int
    back_queues_max: int
    batch: int
    hold_secs: float
    seed: int
    memory: int
    seen_cache: int
    host_cache: int
    sync_secs: float
    bloom_urls: int
    bloom_error: float
    checkpoint_secs: float
    checkpoints: int

    @classmethod
    def read(cls, read: Reader) -> FrontierConfig:
        queues = read.integer("FRONTIER_FRONT_QUEUES", 1, 255)
        weights = read.words("FRONTIER_WEIGHTS")
        try:
            numbers = tuple(float(weight) for weight in weights)
        except ValueError:
            numbers = (0.0,)
        if weights and (len(numbers) != queues or min(numbers) <= 0):
            raise SettingError(
                "FRONTIER_WEIGHTS",
                read.get("FRONTIER_WEIGHTS"),
                f"{queues} positive numbers, or none",
            )
        concurrency = read.integer("CONCURRENT_REQUESTS", 1)
        return cls(
            backend=read.choice("FRONTIER_BACKEND", ("memory", "rocks", "redis")),
            front_queues=queues,
            weights=numbers,
            order=cast(Order, read.choice("FRONTIER_ORDER", get_args(Order))),
            back_queues=read.integer("FRONTIER_BACK_QUEUES") or 3 * concurrency,
            back_queues_max=read.integer("FRONTIER_BACK_QUEUES_MAX", 1),
            batch=read.integer("FRONTIER_BATCH", 1, 1000),
            hold_secs=read.number("FRONTIER_HOLD_SECS", 0.1),
            seed=read.integer("FRONTIER_SEED"),
            memory=read.integer("FRONTIER_MEMORY_MB", 8) << 20,
            seen_cache=read.integer("FRONTIER_SEEN_CACHE", 2),
            host_cache=read.integer("FRONTIER_HOST_CACHE", 100),
            sync_secs=read.number("FRONTIER_SYNC_SECS"),
            bloom_urls=read.integer("FRONTIER_BLOOM_URLS"),
            bloom_error=read.number("FRONTIER_BLOOM_ERROR", 1e-12, 0.1),
            checkpoint_secs=read.number("FRONTIER_CHECKPOINT_SECS"),
            checkpoints=read.integer("FRONTIER_CHECKPOINTS", 1),
        )


def _redis(read: Reader) -> RedisConfig:
    """Where Redis is, by scrapy-redis's own settings, and how the frontier is kept there."""
    params = dict(read.mapping("REDIS_PARAMS")) if read.get("REDIS_PARAMS") else {}
    params.pop("redis_cls", None)  # names a class of blocking clients: ours is chosen by the server
    for name in ("DB", "PASSWORD", "USERNAME", "ENCODING"):
        if read.get(f"REDIS_{name}") is not None:
            params[name.lower()] = read.get(f"REDIS_{name}")
    try:
        port = int(read.get("REDIS_PORT") or 6379)
    except ValueError:
        raise SettingError("REDIS_PORT", read.get("REDIS_PORT"), "a port number") from None
    url = str(read.get("REDIS_URL") or params.pop("url", ""))
    sentinels = tuple(_address("REDIS_SENTINELS", word) for word in read.words("REDIS_SENTINELS"))
    if url and sentinels:
        raise SettingError("REDIS_URL", url, "left out where REDIS_SENTINELS say where Redis is")
    return RedisConfig(
        url=url,
        host=str(read.get("REDIS_HOST") or "localhost"),
        port=port,
        params=params,
        sentinels=sentinels,
        master=str(read.get("REDIS_SENTINEL_MASTER")),
        partitions=read.integer("FRONTIER_PARTITIONS", 1, 1024),
        buckets=read.integer("FRONTIER_SEEN_BUCKETS", 1),
        lease_secs=read.number("FRONTIER_LEASE_SECS", 1),
        stay=read.boolean("FRONTIER_STAY"),
        seeds_key=str(read.get("REDIS_START_URLS_KEY") or "%(name)s:start_urls"),
    )


def _address(name: str, word: str) -> tuple[str, int]:
    host, _, port = word.rpartition(":")
    if not host or not port.isdigit():
        raise SettingError(name, word, "hosts and ports, as in 10.0.0.1:26379,10.0.0.2:26379")
    return host, int(port)


def _pattern(text: str) -> str:
    """A host or *.domain as politeness looks for it; ValueError where it is neither."""
    star, rest = ("*.", text[2:]) if text.startswith("*.") else ("", text)
    if "*" in rest or "/" in rest:
        raise ValueError
    return star + parse_host(rest)


def _policies(read: Reader) -> Policies:
    default = DelayPolicy(
        minimum=read.number("POLITENESS_MIN_DELAY"),
        factor=read.number("POLITENESS_LATENCY_FACTOR"),
        maximum=read.number("POLITENESS_MAX_DELAY"),
        crawl_delay_maximum=read.number("POLITENESS_CRAWL_DELAY_MAX"),
        jitter=read.number("POLITENESS_JITTER", 0, 10),
        back_off=read.number("POLITENESS_BACKOFF"),
        back_off_maximum=read.number("POLITENESS_BACKOFF_MAX"),
        retry_after_maximum=read.number("POLITENESS_RETRY_AFTER_MAX"),
        park_after=read.integer("POLITENESS_PARK_AFTER", 1),
        park_secs=read.number("POLITENESS_PARK_SECS"),
        park_maximum=read.number("POLITENESS_PARK_MAX"),
        max_pages=read.integer("POLITENESS_MAX_PAGES"),
    )
    allowed = (
        'a dict such as {"example.org": {"min_delay": 5}, "*.example.com": {"max_pages": 100}} '
        f"with the keys {', '.join(_OVERRIDES)}"
    )
    overrides: dict[str, dict[str, float]] = {}
    value = read.mapping("POLITENESS_OVERRIDES")
    for pattern, changes in value.items():
        if not hasattr(changes, "items") or not set(changes) <= set(_OVERRIDES):
            raise SettingError("POLITENESS_OVERRIDES", value, allowed)
        try:
            numbers = {_OVERRIDES[key]: float(number) for key, number in changes.items()}
            overrides[_pattern(str(pattern))] = numbers
        except (TypeError, ValueError):
            raise SettingError("POLITENESS_OVERRIDES", value, allowed) from None
        if any(not number >= 0 for number in numbers.values()):
            raise SettingError("POLITENESS_OVERRIDES", value, allowed)
    return Policies(default, overrides)


@dataclass(frozen=True, slots=True)
class LinkConfig:
    max_length: int
    drop_params: tuple[str, ...]
    deny_domains: tuple[str, ...]
    follow_nofollow: bool
    resources: bool
    depth_limit: int

    @classmethod
    def read(cls, read: Reader) -> LinkConfig:
        return cls(
            max_length=read.integer("URL_MAX_LENGTH", 16, 65_535),
            drop_params=tuple(read.words("URL_DROP_PARAMS")),
            deny_domains=tuple(read.domains("URL_DENY_DOMAINS")),
            follow_nofollow=read.boolean("LINKS_FOLLOW_NOFOLLOW"),
            resources=read.boolean("LINKS_RESOURCES"),
            depth_limit=read.integer("DEPTH_LIMIT", -1),
        )


@dataclass(frozen=True, slots=True)
class RobotsConfig:
    obey: bool
    agent: str
    user_agent: str
    contact: str
    policy: RobotsPolicy
    memory: int
    sitemaps: bool
    sitemaps_max_urls: int

    @classmethod
    def read(cls, read: Reader) -> RobotsConfig:
        contact = str(read.get("ROBOTS_CONTACT") or "").strip()
        if any(ord(letter) < 32 or ord(letter) > 126 for letter in contact):
            raise SettingError("ROBOTS_CONTACT", contact, "a URL or a mail address")
        user_agent = str(read.get("USER_AGENT"))
        if contact and contact not in user_agent:
            user_agent = f"{user_agent} (+{contact})"
        agent = product_token(str(read.get("ROBOTSTXT_USER_AGENT") or user_agent))
        if not agent:
            raise SettingError(
                "USER_AGENT", user_agent, "a product name first, such as mybot/1.0, with letters"
            )
        return cls(
            obey=read.boolean("ROBOTSTXT_OBEY"),
            agent=agent,
            user_agent=user_agent,
            contact=contact,
            policy=RobotsPolicy(
                max_fresh_secs=read.number("ROBOTS_CACHE_SECS", 1, 86_400),
                min_fresh_secs=read.number("ROBOTS_CACHE_MIN_SECS", 0, 86_400),
                retry_secs=read.number("ROBOTS_RETRY_SECS", 0.1),
                max_retry_after_secs=read.number("POLITENESS_RETRY_AFTER_MAX"),
                unreachable_secs=read.number("ROBOTS_UNREACHABLE_DAYS") * 86_400,
            ),
            memory=read.integer("ROBOTS_MEMORY_MB", 1) << 20,
            sitemaps=read.boolean("SITEMAPS_ENABLED"),
            sitemaps_max_urls=read.integer("SITEMAPS_MAX_URLS"),
        )


@dataclass(frozen=True, slots=True)
class ContentConfig:
    content_seen: bool
    near_duplicates: bool
    threshold: float
    permutations: int
    shingle_size: int
    main_content: bool
    index_near_duplicates: bool
    follow_near_duplicates: bool
    anchors: bool
    index: bool
    index_commit_secs: float
    index_memory: int
    archive: bool
    archive_max_bytes: int

    @classmethod
    def read(cls, read: Reader) -> ContentConfig:
        return cls(
            content_seen=read.boolean("CONTENTSEEN_ENABLED"),
            near_duplicates=read.boolean("NEARDUP_ENABLED"),
            threshold=read.number("NEARDUP_THRESHOLD", 0.01, 1.0),
            permutations=read.integer("NEARDUP_PERMUTATIONS", 16, 4096),
            shingle_size=read.integer("NEARDUP_SHINGLE_SIZE", 1, 32),
            main_content=read.boolean("NEARDUP_MAIN_CONTENT"),
            index_near_duplicates=read.boolean("NEARDUP_INDEX"),
            follow_near_duplicates=read.boolean("NEARDUP_FOLLOW"),
            anchors=read.boolean("ANCHORS_ENABLED"),
            index=read.boolean("INDEX_ENABLED"),
            index_commit_secs=read.number("INDEX_COMMIT_SECS", 0.1),
            index_memory=read.integer("INDEX_MEMORY_MB", 16) << 20,
            archive=read.boolean("ARCHIVE_ENABLED"),
            archive_max_bytes=read.integer("ARCHIVE_MAX_BYTES", 1),
        )


@dataclass(frozen=True, slots=True)
class ReportConfig:
    report_secs: float
    progress: bool
    progress_secs: float

    @classmethod
    def read(cls, read: Reader) -> ReportConfig:
        return cls(
            report_secs=read.number("REPORT_SECS", 0.1),
            progress=read.boolean("PROGRESS_ENABLED"),
            progress_secs=read.number("PROGRESS_SECS", 0.1),
        )


class Config:
    """All groups of settings, each read when first asked for; `check` reads them all."""

    def __init__(self, settings: BaseSettings) -> None:
        self._read = Reader(settings)

    @cached_property
    def frontier(self) -> FrontierConfig:
        return FrontierConfig.read(self._read)

    @cached_property
    def redis(self) -> RedisConfig:
        return _redis(self._read)

    @cached_property
    def worker(self) -> str:
        name = str(self._read.get("FRONTIER_WORKER") or "")
        if name and not is_job_name(name):
            raise SettingError("FRONTIER_WORKER", name, "a name that a folder can have")
        return name

    @cached_property
    def policies(self) -> Policies:
        return _policies(self._read)

    @cached_property
    def address_delay(self) -> float:
        return self._read.number("POLITENESS_ADDRESS_DELAY")

    @cached_property
    def links(self) -> LinkConfig:
        return LinkConfig.read(self._read)

    @cached_property
    def robots(self) -> RobotsConfig:
        return RobotsConfig.read(self._read)

    @cached_property
    def report(self) -> ReportConfig:
        return ReportConfig.read(self._read)

    @cached_property
    def crawls_dir(self) -> str:
        return str(self._read.get("CRAWLS_DIR"))

    @cached_property
    def _answers(self) -> dict[str, str]:
        return parse_hosts(self._read.get("DNS_HOSTS"))

    def is_local(self, host: str) -> bool:
        """Whether a host is on this machine, by its name or by DNS_HOSTS."""
        address = self._address(host)
        return address is not None and address.is_loopback

    def is_private(self, host: str) -> bool:
        """Whether a host is known not to be on the public Internet, without asking anybody."""
        address = self._address(host)
        return address is not None and not address.is_global

    def _address(self, host: str) -> IPv4Address | IPv6Address | None:
        name = without_port(host)
        answers = self._answers
        for pattern in (name, *("*" + name[i:] for i, c in enumerate(name) if c == ".")):
            name = answers.get(pattern, name)
        if name == "localhost" or name.endswith(".localhost"):
            name = "127.0.0.1"
        try:
            return ip_address(name.strip("[]"))
        except ValueError:
            return None

    @cached_property
    def content(self) -> ContentConfig:
        return ContentConfig.read(self._read)

    @cached_property
    def page_processes(self) -> int:
        value = self._read.get("PAGE_PROCESSES")
        if value == "auto":
            # Those that this process may use, which taskset or a container may have made fewer.
            if hasattr(os, "sched_getaffinity"):
                return len(os.sched_getaffinity(0))
            return os.cpu_count() or 1
        try:
            return self._read.integer("PAGE_PROCESSES", 0, 256)
        except SettingError:
            raise SettingError("PAGE_PROCESSES", value, "auto, or 0 to 256") from None

    def check(self) -> None:
        """Read every group, so that a wrong value stops the start."""
        for name, attribute in vars(type(self)).items():
            if isinstance(attribute, cached_property):
                getattr(self, name)
        self._read.check_scrapys()
        for typo, meant in self._read.typos().items():
            logger.warning(f"setting {typo} is not known: was {meant} meant?")


def parse_hosts(value: object) -> dict[str, str]:
    """Static answers from a dict or from `name=address,name=address`."""
    allowed = 'a dict of names to IP addresses or "name=address,name=address"'
    if not value:
        return {}
    if isinstance(value, str):
        pairs = [item.partition("=")[::2] for item in value.split(",") if item.strip()]
    elif hasattr(value, "items"):
        pairs = [(str(name), str(address)) for name, address in value.items()]
    else:
        raise SettingError("DNS_HOSTS", value, allowed)
    hosts: dict[str, str] = {}
    for raw_name, raw_address in pairs:
        name, address = raw_name.strip(), raw_address.strip()
        try:
            ip_address(address)
        except ValueError:
            raise SettingError("DNS_HOSTS", value, allowed) from None
        if not name or "*" in name.removeprefix("*."):
            raise SettingError("DNS_HOSTS", value, allowed + "; * only as the first label")
        hosts[name] = address
    return hosts
