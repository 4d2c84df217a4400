"""What the commands on a job folder have in common."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.commands import ScrapyCommand

from webcrawler.command_text import harmless, json_text
from webcrawler.config import Config
from webcrawler.exceptions import JobError, WebcrawlerError

if TYPE_CHECKING:
    import argparse


class JobCommand(ScrapyCommand):
    """A command on a job folder: one sentence and exit code 2 for what a user can mend."""

    requires_project = True
    requires_crawler_process = False

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--job", help="job folder, or its name (default: the latest crawl)")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        try:
            self.work(args, opts)
            sys.stdout.flush()
        except WebcrawlerError as error:
            print(f"error: {harmless(str(error))}", file=sys.stderr)
            self.exitcode = 2
        except BrokenPipeError:
            # Whoever read our output has seen enough; what is buffered is not tried again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except KeyboardInterrupt:
            self.exitcode = 130

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        raise NotImplementedError

    def job_folder(self, opts: argparse.Namespace) -> Path:
        """The job folder that was named, or the one that was used last."""
        assert self.settings is not None
        crawls = Path(Config(self.settings).crawls_dir)
        given = opts.job or self.settings.get("JOBDIR")
        if given:
            for folder in (crawls / given, Path(given)):
                if (folder / "job.json").exists():
                    return folder
            raise JobError(f"there is no crawl {given}: neither a folder nor a name in {crawls}")
        jobs = [path.parent for path in crawls.glob("*/job.json")]
        if not jobs:
            raise JobError(f"there is no crawl in {crawls}: name a job folder with --job")
        return max(jobs, key=lambda folder: (folder / "job.json").stat().st_mtime)


def print_json(value: Any) -> None:
    print(json_text(value))
