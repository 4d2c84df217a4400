"""Connecting to Redis, and one sentence for what can be wrong with it."""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import redis
from redis.backoff import NoBackoff
from redis.cluster import RedisCluster
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError, Sentinel

from webcrawler.exceptions import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

OLDEST = (6, 2)
# What passes by itself: a server that restarts, a cable that is out.
GONE = (redis.ConnectionError, redis.TimeoutError, redis.BusyLoadingError, OSError)


@dataclass(frozen=True, slots=True)
class RedisConfig:
    """Where Redis is: scrapy-redis's own settings, or Sentinels that know where."""

    url: str = ""
    host: str = "localhost"
    port: int = 6379
    params: dict[str, Any] = field(default_factory=dict)
    sentinels: tuple[tuple[str, int], ...] = ()
    master: str = "mymaster"
    partitions: int = 64
    buckets: int = 1024
    lease_secs: float = 30.0
    stay: bool = False
    seeds_key: str = ""

    @property
    def place(self) -> str:
        if self.sentinels:
            names = ", ".join(f"{host}:{port}" for host, port in self.sentinels)
            return f"{self.master} of the Sentinels {names}"
        return self.url or f"{self.host}:{self.port}"


def connect(config: RedisConfig) -> Any:
    """A client of a server or of a cluster; StoreError where there is none, or too old a one."""
    # Whoever waits for a Redis that is gone does so in its own way, and says so; redis-py would
    # be silent about it for seconds, and longer with every attempt.
    once = Retry(NoBackoff(), 1)
    # A connection that is silently dead is given up while the lease still holds.
    patience = min(30.0, max(5.0, config.lease_secs / 3))
    options: dict[str, Any] = {
        "socket_timeout": patience,
        "socket_connect_timeout": patience,
        "retry": once,
    }
    options |= config.params
    options |= {"decode_responses": False, "redis_connect_func": _greet}
    try:
        client: Any
        if config.sentinels:
            client = _master(config, options)
        elif config.url:
            client = redis.Redis.from_url(config.url, **options)
        else:
            client = redis.Redis(host=config.host, port=config.port, **options)
        info = client.info("server")
        version = str(info["redis_version"])
        if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
            raise StoreError(
                f"the Redis at {config.place} is version {version}: at least "
                f"{OLDEST[0]}.{OLDEST[1]} is needed"
            )
        if info.get("redis_mode") == "cluster":
            address = client.connection_pool.connection_kwargs
            client.close()
            kept = {
                name: value
                for name, value in options.items()
                if name in ("socket_timeout", "socket_connect_timeout", "password", "username")
            }
            client = RedisCluster(
                host=address.get("host", "localhost"),
                port=address.get("port", 6379),
                redis_connect_func=_end_former,
                **kept,
            )
    except (redis.RedisError, OSError, ValueError) as error:
        raise explain(error, config.place) from error
    return client


def _master(config: RedisConfig, options: dict[str, Any]) -> Any:
    """A client of whatever is the master when a connection is made: after a failover, another."""
    # One that does not answer is not asked again: the next Sentinel is.
    own: dict[str, Any] = {"socket_timeout": 2, "socket_connect_timeout": 2}
    own |= {"retry": Retry(NoBackoff(), 0), **options.pop("sentinel_kwargs", {})}
    make: Any = Sentinel  # it has no types
    return make(config.sentinels, sentinel_kwargs=own).master_for(config.master, **options)


def _greet(connection: Any) -> None:
    connection.on_connect()
    _end_former(connection)


def _end_former(connection: Any) -> None:
    """A connection was lost and is made anew: Redis does nothing more of what the old one brings.

    What was on its way is said again, and other steps follow. A copy that the network still has may
    arrive after them, minutes later: a host that was unblocked would be blocked again.
    """
    commands: list[tuple[object, ...]] = [("CLIENT", "INFO")]
    if former := getattr(connection, "was", None):
        # Numbers begin anew with each process of Redis: one of another address is not meant.
        commands.append(("CLIENT", "KILL", "ID", former[1], "ADDR", former[2]))
    connection.send_packed_command(connection.pack_commands(commands))
    for _ in commands:
        with suppress(redis.ResponseError):  # users may have no right to that
            answer = connection.read_response()
            if isinstance(answer, bytes):
                connection.was = re.search(rb"\bid=(\d+) addr=(\S+)", answer)


@contextmanager
def explained(place: str) -> Iterator[None]:
    """At the start nobody waits for a Redis that is gone: it is said."""
    try:
        yield
    except (redis.RedisError, OSError) as error:
        raise explain(error, place) from error


def explain(error: Exception, place: str) -> StoreError:
    """One sentence for what Redis says."""
    text = str(error).strip()[:200]
    if "OOM" in text or "maxmemory" in text:
        return StoreError(
            f"the Redis at {place} is full: give it more memory (maxmemory) and start the same "
            f"command again; nothing that was committed is lost"
        )
    if "unknown command" in text and "HELLO" in text:
        return StoreError(
            f"the Redis at {place} is too old: at least {OLDEST[0]}.{OLDEST[1]} is needed"
        )
    if isinstance(error, redis.AuthenticationError) or "NOAUTH" in text or "WRONGPASS" in text:
        return StoreError(f"the Redis at {place} wants another password: see REDIS_URL ({text})")
    if isinstance(error, MasterNotFoundError):
        return StoreError(f"there is no Redis at {place}: see REDIS_SENTINELS")
    if isinstance(error, GONE):
        return StoreError(f"there is no Redis at {place}: start one, or set REDIS_URL ({text})")
    return StoreError(f"the Redis at {place} cannot be used: {text}")
