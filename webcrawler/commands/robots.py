"""scrapy robots: what our agent may do at a site, and which line of its robots.txt says so."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from webcrawler.command_text import ExampleFormatter, harmless, json_text
from webcrawler.config import Config
from webcrawler.download import download_options
from webcrawler.exceptions import UserError
from webcrawler.job_command import JobCommand
from webcrawler.job_tables import JobTables
from webcrawler.robots import (
    TABLE,
    RobotsCache,
    RobotsEntry,
    RobotsFetch,
    authority_of,
    decide,
    product_token,
    robots_url,
)
from webcrawler.robots_answer import answer_lines, make_answer
from webcrawler.robots_fetch import Fetched, RobotsFetcher
from webcrawler.robots_gate import READ_BYTES
from webcrawler.urls import complete_seed, host_key

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Iterator

DESCRIPTION = """\
What our agent may do at a site, and why: the group and the line of its
robots.txt that decide, the delay it asks for, its sitemaps, and how long it is
believed. It is fetched once for each scheme, host and port, without a crawl;
with --file nothing is fetched, with --job what that crawl remembers is shown.

Exit code: 0 when every URL is allowed, 1 when one is refused, 2 for errors."""

EXAMPLES = """\
examples:
  scrapy robots example.org/private/page.html
  scrapy robots --agent googlebot https://example.org/ https://example.org/x
  scrapy robots --file robots.txt /private/ /public/   (--file -: from stdin)
  scrapy robots - < urls.txt                           (a URL a line)
  scrapy robots --job example.org https://example.org/"""


class Command(JobCommand):
    """See the module."""

    def syntax(self) -> str:
        return "[options] <URL> ..."

    def short_desc(self) -> str:
        return "What our agent may fetch, and which line of robots.txt says so"

    def long_desc(self) -> str:
        return DESCRIPTION

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.formatter_class = ExampleFormatter
        parser.epilog = EXAMPLES
        parser.add_argument("--agent", metavar="NAME", help="another crawler's name than ours")
        parser.add_argument(
            "--file", metavar="FILE", help="read this robots.txt instead of fetching (- for stdin)"
        )
        parser.add_argument("--job", help="show what this crawl remembers, where it has asked")

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        if not args and not opts.file:
            raise UsageError("name one URL or more, or - to read them from stdin", print_help=False)
        if opts.file and opts.job:
            raise UsageError("--file and --job are two sources: name one", print_help=False)
        if opts.file == "-" and "-" in args:
            raise UsageError("both --file and the URLs cannot be stdin", print_help=False)
        assert self.settings is not None
        self._config = Config(self.settings).robots
        self._policies = Config(self.settings).policies
        self._agent = self._agent_named(opts.agent)
        groups: dict[str, list[str]] = {}
        for word in _words(args):
            self._add(groups, word, is_path_enough=bool(opts.file))
        asyncio.run(self._tell(groups, opts))

    def _agent_named(self, name: str | None) -> str:
        if name is None:
            return self._config.agent
        agent = "*" if name == "*" else product_token(name)
        if not agent:
            raise UserError(f"{name!r} is no crawler's name: it begins with letters, as googlebot")
        return agent

    def _add(self, groups: dict[str, list[str]], word: str, *, is_path_enough: bool) -> None:
        url = word if is_path_enough and word.startswith("/") else complete_seed(word)
        if url is None:
            print(f"error: {harmless(word)!r:.200} is no URL", file=sys.stderr)
            self.exitcode = 2
        else:
            groups.setdefault("" if is_path_enough else authority_of(url), []).append(url)

    async def _tell(self, groups: dict[str, list[str]], opts: argparse.Namespace) -> None:
        told: list[dict[str, Any]] = []
        async for answer in self._answers(groups, opts):
            if not all(url["allowed"] for url in answer["urls"]):
                self.exitcode = self.exitcode or 1
            if opts.json:
                told.append(answer)
            else:
                print("\n".join(answer_lines(answer, self._agent)))
        if opts.json:
            print(json_text({"agent": self._agent, "robots": told}))

    async def _answers(
        self, groups: dict[str, list[str]], opts: argparse.Namespace
    ) -> AsyncIterator[dict[str, Any]]:
        """Authority by authority, so that no more than a few sets of rules are in memory."""
        if opts.file:
            entry = decide(None, RobotsFetch(200, body=_read(opts.file)), time.time())
            yield self._answer(entry, groups.get("", []), {"from": "file", "robots": opts.file})
            return
        remembered: dict[str, RobotsEntry] = {}
        if opts.job:
            with JobTables(self.job_folder(opts)) as tables:
                table = tables.table(TABLE)
                for authority in groups:
                    entry_row = table.get(RobotsCache.key(authority))
                    found = RobotsEntry.unpack(entry_row) if entry_row is not None else None
                    if found is not None:
                        remembered[authority] = found
        for authority, entry in remembered.items():
            source = {"from": "job", "robots": robots_url(authority)}
            yield self._answer(entry, groups[authority], source)
        assert self.settings is not None
        fetcher = RobotsFetcher(download_options(self.settings), self._config.user_agent)
        try:
            asked = [authority for authority in groups if authority not in remembered]
            async for fetched in fetcher.each(asked):
                yield self._fetched(fetched, groups[fetched.authority], bool(opts.job))
        finally:
            await fetcher.close()

    def _fetched(self, fetched: Fetched, urls: list[str], has_job: bool) -> dict[str, Any]:
        entry = decide(None, fetched.fetch, time.time(), self._config.policy)
        source: dict[str, Any] = {"from": "site", "robots": robots_url(fetched.authority)}
        if has_job:
            source["not_in_job"] = True
        if fetched.fetch.redirects:
            source |= {"redirects": fetched.fetch.redirects, "redirected_to": fetched.url}
        return self._answer(entry, urls, source)

    def _answer(
        self, entry: RobotsEntry, urls: list[str], source: dict[str, Any]
    ) -> dict[str, Any]:
        policy = self._policies.default
        if urls and not urls[0].startswith("/"):
            policy = self._policies.of(host_key(urls[0]))
        return make_answer(
            entry,
            urls,
            self._agent,
            source,
            crawl_delay_max=policy.crawl_delay_maximum,
            now=time.time(),
        )


def _words(args: list[str]) -> Iterator[str]:
    """What was typed, with the lines of stdin in the place of a dash."""
    for word in args:
        if word != "-":
            yield word
            continue
        for line in sys.stdin.buffer:
            text = line.decode("utf-8", "replace").strip()
            if text and not text.startswith("#"):
                yield text


def _read(name: str) -> bytes:
    """A robots.txt from a file or from stdin, no more of it than is read of a site's."""
    try:
        if name == "-":
            return sys.stdin.buffer.read(READ_BYTES)
        with Path(name).open("rb") as file:
            return file.read(READ_BYTES)
    except OSError as error:
        raise UserError(f"cannot read {name}: {error.strerror or error}") from None
