"""Questions to the store, asked without knowing how it is read.

The embedded store answers at once, Redis answers later. So a test that needs the store is
written as a generator: it yields what it wants to read, is sent the values, and returns its
result. Whoever runs it decides whether reading blocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator, Sequence

    from webcrawler.tables import Table

Result = TypeVar("Result")


class Reading(NamedTuple):
    """Keys to be read from one table, in one call."""

    table: str
    keys: list[bytes]


Values: TypeAlias = "Sequence[bytes | None]"
Steps: TypeAlias = "Generator[Reading, Values, Result]"


class Tables(Protocol):
    """Named tables of a store that answers at once."""

    def table(self, name: str) -> Table:
        """The table of this name."""


class Reader(Protocol):
    """Somebody who reads many keys of a named table, later."""

    def __call__(self, table: str, keys: Sequence[bytes]) -> Awaitable[Values]:
        """The values in the order of the keys, None where there is none."""


def run(tables: Tables, steps: Steps[Result]) -> Result:
    """Run a test to its result on a store that answers at once."""
    try:
        reading = next(steps)
        while True:
            reading = steps.send(tables.table(reading.table).get_many(reading.keys))
    except StopIteration as end:
        result: Result = end.value
        return result


async def run_async(read: Reader, steps: Steps[Result]) -> Result:
    """Run a test to its result, awaiting every reading."""
    try:
        reading = next(steps)
        while True:
            reading = steps.send(await read(reading.table, reading.keys))
    except StopIteration as end:
        result: Result = end.value
        return result
