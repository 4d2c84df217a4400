"""How much a very large crawl needs, from measured costs. A model, and it says so."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from webcrawler.lab.simulation import Outcome

PAGES = 15_000_000_000
DAYS = 28
LOAD = 0.7  # share of its measured rate that a worker is asked for
_TERABYTE = 1e12
_FIGURES = ("pages", "rate", "cpu_ms", "peak_mb", "stored")  # those of a crawler that count here
_A_SET = 400  # fingerprints in a set on average: all stay below the 512 that Redis packs
_MOST_PARTITIONS = 1024


@dataclass(frozen=True, slots=True)
class Need:
    """One way of crawling: what a worker does, and what all of them need together."""

    name: str
    rate: float  # pages a second of one worker, measured
    workers: int
    cores: float
    memory_gb: float
    stored_tb: dict[str, float]  # by part of the job folder


def read_costs(path: Path) -> dict[str, dict[str, Any]]:
    """What benchmarks/crawl.py wrote of the first site: figures by crawler.

    ValueError, with a sentence, where that file is not there or something else.
    """
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        site: dict[str, dict[str, Any]] = next(iter(told["sites"].values()))
        return {
            name: {key: figures[key] for key in _FIGURES}
            for name, figures in site.items()
            if name.startswith("ours")
        }
    except OSError as error:
        raise ValueError(f"cannot read costs from {path}: {error.strerror}") from None
    except (ValueError, TypeError, KeyError, AttributeError, StopIteration):
        sentence = f"{path} holds no costs as benchmarks/crawl.py writes them"
        raise ValueError(sentence) from None


def needs(costs: dict[str, dict[str, Any]], pages: int = PAGES, days: float = DAYS) -> list[Need]:
    """The needs of each way of crawling that was measured."""
    wanted = pages / (days * 86_400)
    answer = []
    for name, figures in costs.items():
        workers = math.ceil(wanted / (figures["rate"] * LOAD))
        cores = figures["cpu_ms"] / 1000 * wanted / LOAD
        stored = {
            part: size / figures["pages"] * pages / _TERABYTE
            for part, size in figures["stored"].items()
            if size
        }
        memory = workers * figures["peak_mb"] / 1024
        answer.append(Need(name, figures["rate"], workers, cores, memory, stored))
    return answer


@dataclass(frozen=True, slots=True)
class RedisCosts:
    """Bytes in Redis, and its CPU, measured."""

    url: float  # the text of a URL
    waiting: float  # a waiting URL beyond its text, its fingerprint included
    known: float  # the fingerprint alone
    ended: float  # what remains of a URL that ended
    tables: float  # what a page has in the shared tables, everything on
    cpu_ms: float  # of Redis, a page


@dataclass(frozen=True, slots=True)
class RedisNeed:
    """What one crawl needs of Redis, and the shape it is to be started with."""

    known: float
    memory_gb: float
    tables_gb: float
    cores: float
    partitions: int
    buckets: int


def redis_need(costs: RedisCosts, pages: int, days: float, known_per_page: float) -> RedisNeed:
    """Every page has ended; what else is known waits. Tables only with everything on."""
    known = pages * max(1.0, known_per_page)
    waiting = (known - pages) * (costs.waiting + costs.url)
    memory = waiting + pages * (costs.ended + costs.known)
    cores = costs.cpu_ms / 1000 * pages / (days * 86_400) / LOAD
    partitions = 64
    while partitions < _MOST_PARTITIONS and known / _A_SET / partitions > 4096:
        partitions *= 2
    buckets = max(1024, math.ceil(known / _A_SET / partitions))
    return RedisNeed(known, memory / 1e9, pages * costs.tables / 1e9, cores, partitions, buckets)


def hosts_at_once(outcome: Outcome, pages: int = PAGES, days: float = DAYS) -> float:
    """Hosts that must be open for fetching at any time for such a rate: delay plus fetch time."""
    fetch_secs = outcome.busy_secs / max(1, outcome.fetches)
    return pages / (days * 86_400) * (max(1.0, fetch_secs) + fetch_secs)


def frontier_workers(outcome: Outcome, pages: int = PAGES, days: float = DAYS) -> float:
    """Cores that the frontier alone needs, from what it cost in this simulation."""
    return outcome.frontier_secs / max(1, outcome.pages) * pages / (days * 86_400)
