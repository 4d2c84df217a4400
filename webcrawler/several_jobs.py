"""What the commands have in common that read several job folders at once."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from webcrawler.job_command import JobCommand

if TYPE_CHECKING:
    from pathlib import Path


class SeveralJobsCommand(JobCommand):
    """A job command whose --job can be given more than once."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--job",
            action="append",
            metavar="JOB",
            help="job folder, or its name; may be repeated (default: the latest crawl)",
        )

    def job_folders(self, opts: argparse.Namespace) -> list[Path]:
        """The job folders that were named, each once, or the one that was used last."""
        return list(dict.fromkeys(self.job_named(name) for name in opts.job or (None,)))

    def job_named(self, name: str | None) -> Path:
        return self.job_folder(argparse.Namespace(job=name))
