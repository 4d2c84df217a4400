"""The store protocol: what Mercator asks of a backend.

Every call takes effect at once as seen from the caller. A backend that lives behind a network
may answer `lease` with None although it has a host to give: it then fetches in the background
and has one at a later call; it never makes a caller wait.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from webcrawler.frontier.ending import EndedPage, Ending
    from webcrawler.frontier.host import Host
    from webcrawler.frontier.record import Record
    from webcrawler.tables import Batch, Table


@dataclass(slots=True)
class Counts:
    """How much there is: of the whole crawl, kept in the store."""

    known: int = 0  # URLs that were put and accepted
    waiting: int = 0  # of those, not ended: in hand or stored
    frozen: int = 0  # of the waiting, on hosts that are blocked or have used up their budget
    hosts: int = 0  # hosts ever met
    in_hand: int = 0  # handed out, not ended
    ended: dict[str, int] = field(default_factory=dict)  # by outcome


@dataclass(frozen=True, slots=True)
class Known:
    """What the store knows of a URL: it waits as `record`, or it ended as `page`."""

    record: Record | None = None
    page: EndedPage | None = None
    is_in_hand: bool = False


class Store(Protocol):
    """A backend of the frontier."""

    @property
    def counts(self) -> Counts:
        """How much there is, of the whole crawl."""

    @property
    def held(self) -> int:
        """Hosts that are held until their time."""

    @property
    def has_pending(self) -> bool:
        """Whether anything waits, is held or is in hand, of any worker."""

    def may_hand_out(self) -> bool:
        """Whether the leases are known to hold right now."""

    def has_lost_leases(self) -> bool:
        """Whether all leases were lost since this was asked last."""

    def unknown(self, fingerprints: Sequence[int]) -> list[bool]:
        """The URL-seen test: which of these were never put."""

    def put(self, records: Sequence[Record]) -> int:
        """Store those that pass the URL-seen test, atomically; how many did."""

    def lease(self, order: Iterable[int], now: float, horizon: float) -> Host | None:
        """Take the first host of the first filled front queue in this order.

        A host whose time is later than `now + horizon` is held in the store instead and the
        next one taken. None when there is none to give now.
        """

    def refill(self, host: Host, choice: Sequence[int]) -> list[Record]:
        """Take URLs of a leased host in hand: one for each front queue number in `choice`."""

    def give_back(self, host: Host, records: Sequence[Record]) -> None:
        """The opposite of refill, for URLs that were not handed out after all."""

    def release(self, host: Host, now: float, horizon: float) -> None:
        """End a lease: the host returns to the front queues, or is held until its time."""

    def wake(self, now: float) -> None:
        """Move the held hosts whose time has come to the front queues."""

    def held_until(self) -> float | None:
        """The earliest time of a held host."""

    def done(self, ending: Ending, then: Callable[[bool], None] | None = None) -> None:
        """One atomic commit: this URL ended, these links were found, these rows written.

        `then` hears, at once or later, whether it stands: not if the lease was lost before.
        """

    def retry(self, record: Record) -> None:
        """Put a URL in hand back to the end of its queue, with its changed counts."""

    def save(self, host: Host) -> None:
        """Write a host's row."""

    def commit(self, batch: Batch) -> None:
        """Write rows of side tables that belong to no page."""

    def table(self, name: str) -> Table:
        """A side table."""

    def find(self, fingerprint: int) -> Known | None:
        """What is known of a URL; None when it was never put."""

    def url_of(self, fingerprint: int) -> str | None:
        """The URL behind a fingerprint."""

    def host(self, name: str) -> Host | None:
        """The row of a host that was met."""

    def hosts(self) -> Iterator[Host]:
        """Every host, in no order."""

    def freeze(
        self, host: Host, *, blocked: bool | None = None, exhausted: bool | None = None
    ) -> None:
        """Stop handing out a host's URLs, or go on."""

    def drop(self, records: Sequence[Record], endings: Callable[[Record], Ending]) -> int:
        """End waiting URLs that are not in hand, atomically; how many."""

    def front_sizes(self) -> list[int]:
        """How many hosts stand in each front queue."""

    def close(self) -> None:
        """Write everything and let go."""
