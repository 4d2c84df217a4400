"""The shape of a crawl in Redis: what all its workers must have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawler.exceptions import JobError
from webcrawler.frontier.backends.shared.driver import Call

if TYPE_CHECKING:
    from webcrawler.frontier.backends.shared.driver import Direct
    from webcrawler.frontier.backends.shared.keys import Keys

VERSION = 4


def check_shape(direct: Direct, keys: Keys, queues: int) -> None:
    """One shape for the whole crawl: the first worker writes it, the others obey it."""
    wanted = {
        "version": VERSION,
        "FRONTIER_FRONT_QUEUES": queues,
        "FRONTIER_PARTITIONS": keys.partitions,
        "FRONTIER_SEEN_BUCKETS": keys.buckets,
    }
    fields = list(wanted)
    calls = [Call("", None, ("HSETNX", keys.meta, name, wanted[name])) for name in fields]
    *_, rows = direct.ask_all([*calls, Call("", None, ("HMGET", keys.meta, *fields))])
    found = {name: int(row) for name, row in zip(fields, rows, strict=True)}
    if found["version"] > VERSION:
        raise JobError(
            f"the crawl {keys.name} in Redis was written by a newer version of webcrawler "
            f"(format {found['version']}, this one reads up to {VERSION}): upgrade"
        )
    if found["version"] < VERSION:
        raise JobError(
            f"the crawl {keys.name} in Redis was written by an older version of webcrawler "
            f"(format {found['version']}, this one reads {VERSION}): finish it with that, or "
            f"start another job"
        )
    for field, value in wanted.items():
        if found[field] != value:
            raise JobError(
                f"this crawl was started with {field}={found[field]}, not {value}: use that, "
                f"or another job"
            )
