"""Side tables in Redis, read with waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawler.frontier.backends.shared.driver import Call

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webcrawler.frontier.backends.shared.driver import Direct
    from webcrawler.frontier.backends.shared.keys import Keys


class RedisTable:
    """One side table; its rows are spread over the partitions by their keys."""

    def __init__(self, direct: Direct, keys: Keys, name: str) -> None:
        self._direct = direct
        self._keys = keys
        self._name = name

    def get_call(self, key: bytes) -> Call:
        tag = self._keys.tag(self._keys.of_row(self._name, key))
        return Call(tag, None, ("HGET", f"{tag}:t:{self._name}", key))

    def get(self, key: bytes) -> bytes | None:
        return self.get_many([key])[0]

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return self._direct.ask_all([self.get_call(key) for key in keys]) if keys else []

    def scan(self, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        rows: list[tuple[bytes, bytes]] = []
        for partition in range(self._keys.partitions):
            key = f"{self._keys.tag(partition)}:t:{self._name}"
            for field, value in self._direct.client.hscan_iter(key, count=1000):
                if field.startswith(prefix):
                    rows.append((field, value))
        rows.sort()
        yield from rows
