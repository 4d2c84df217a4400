"""The tables of a job folder, opened to be read: also while its crawl runs.

RocksDB lets anybody read a database without the lock that its one writer holds. A reader sees it
as it was when opened, the log of the latest writes included, and writes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocksdict import AccessType, Options, Rdict

from webcrawler.control import ADDRESS
from webcrawler.exceptions import JobError
from webcrawler.frontier.backends.rocks import RocksTable, explain
from webcrawler.tables import MemoryTable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from webcrawler.tables import Table

_TRIES = 5
_FEW_FILES = 512


class JobTables:
    """A reader's view of everything a crawl keeps. A table that is not there is empty."""

    def __init__(self, job: Path) -> None:
        self._folder = job / "frontier"
        if not (self._folder / "CURRENT").exists():
            raise JobError(f"the crawl in {job} has kept no tables: there is no {self._folder}")
        # What a running crawl deletes meanwhile can be read on only while it is open.
        self._files = -1 if (job / ADDRESS).exists() else _FEW_FILES
        self._db, names = self._open()
        self._tables = {
            name: RocksTable(self._db.get_column_family(name), self._folder) for name in names
        }

    def _open(self) -> tuple[Rdict, list[str]]:
        tries = _TRIES
        while True:
            try:
                names = list(Rdict.list_cf(str(self._folder)))
                options = {name: self._options() for name in names}
                own = options.pop("default", None) or self._options()
                db = Rdict(
                    str(self._folder),
                    own,
                    column_families=options,
                    access_type=AccessType.read_only(),
                )
            except Exception as error:  # rocksdict raises bare Exception
                # A file may be deleted between being named and being opened.
                tries -= 1
                if not tries or "no such file" not in str(error).lower():
                    raise explain(error, self._folder) from error
            else:
                return db, list(options)

    def _options(self) -> Options:
        options = Options(raw_mode=True)
        options.set_max_open_files(self._files)
        return options

    def table(self, name: str) -> Table:
        return self._tables.get(name) or MemoryTable()

    def several(self, names: Iterable[str]) -> dict[str, Table]:
        return {name: self.table(name) for name in names}

    def close(self) -> None:
        self._tables.clear()
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
