"""Before a host is stocked, what other workers know is read: its robots.txt, its referrers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webcrawler.frontier.backends.shared.background import MOST_URLS
from webcrawler.frontier.backends.shared.driver import Call
from webcrawler.frontier.backends.shared.keys import FINGERPRINT, NOWHERE
from webcrawler.frontier.backends.shared.rows import unpack_page
from webcrawler.frontier.backends.shared.tables import RedisTable
from webcrawler.tables import MemoryTable

if TYPE_CHECKING:
    from webcrawler.frontier.backends.shared.worker import WorkerStore
    from webcrawler.frontier.host import Host
    from webcrawler.frontier.record import Record

_MOST_ROBOTS = 1000


class Preparation:
    """See the module. `robots` are the rows that were read; used by the event loop only."""

    def __init__(self, store: WorkerStore) -> None:
        self._store = store
        self.robots = MemoryTable()
        self._shared_robots = RedisTable(store.direct, store.keys, "robots")
        self._asked: set[str] = set()  # hosts whose robots.txt was looked for

    def prepare(self, partition: int, host: Host, records: list[Record]) -> None:
        """Read what is not known, then put the host in stock."""
        store = self._store
        name, calls = host.name, list[Call]()
        for key in _robots_keys(name) if name not in self._asked else ():
            call = self._shared_robots.get_call(key)
            calls.append(call._replace(then=lambda row, k=key: self.keep_robots(k, row)))  # type: ignore[misc]
        hand = store.hand.parts[partition]
        vias = {record.via: hand[record.fingerprint].via for record in records if record.via}
        for via, place in vias.items():
            if place != NOWHERE and store.url_of(via) is None:
                words = ("HGET", f"{store.keys.tag(place)}:pages", FINGERPRINT.pack(via))
                calls.append(Call("", None, words, lambda row, v=via: self._keep_url(v, row)))  # type: ignore[misc]
        if not calls:
            store.stock.put(host, records)
            return
        left, session = len(calls), store.session

        def read(call: Call, answer: Any) -> None:
            nonlocal left
            left -= 1
            assert call.then is not None
            call.then(answer)
            if not left and session == store.session:
                if len(self._asked) >= MOST_URLS:
                    self._asked.clear()
                self._asked.add(name)
                store.stock.put(host, records)

        for call in calls:
            store.send(call._replace(then=lambda answer, c=call: read(c, answer)))  # type: ignore[misc]
        store.flush_soon()

    def keep_robots(self, key: bytes, row: bytes | None) -> None:
        if row is not None:
            if len(self.robots.rows) >= _MOST_ROBOTS:
                self.robots.rows.clear()  # what is in use has been parsed
                self._asked.clear()
            self.robots.rows[key] = row

    def _keep_url(self, fingerprint: int, row: bytes | None) -> None:
        if row is not None:
            self._store.remember(fingerprint, unpack_page(row).url)


def _robots_keys(name: str) -> list[bytes]:
    keys = []
    for scheme, port in (("http", "80"), ("https", "443")):
        bare = name.rpartition(":")[2].isdigit() and ":" in name and not name.endswith("]")
        keys.append((f"{scheme}://{name}" if bare else f"{scheme}://{name}:{port}").encode())
    return keys
