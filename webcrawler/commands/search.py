"""scrapy search: find pages by their own words, and by the words others use to point at them."""

from __future__ import annotations

import argparse
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text
from scrapy.exceptions import UsageError

from webcrawler.command_text import ExampleFormatter, harmless, json_text
from webcrawler.exceptions import JobError, UserError
from webcrawler.index import IndexReader, parse_query, printable
from webcrawler.several_jobs import SeveralJobsCommand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webcrawler.index import Anchor, Hit, Results

DESCRIPTION = """\
Find pages by their own words, and by the words other pages use to point at
them: pages that were never fetched are found too, and marked.

  word word        pages that have both, in title, text or links to them
  "some words"     a phrase
  title:word       only in the title; so with url: and anchor:
  site:example.org only pages of a host, or of all hosts of a domain
  -word            without it; also -"some words", -site:example.org

A shell takes quotation marks for itself: put the whole query in single ones.
The crawl may be running: what it has indexed so far is found."""

EXAMPLES = """\
examples:
  scrapy search crawler -python
  scrapy search 'title:"release notes" site:example.org'
  scrapy search -n 3 --job monday --job tuesday news
  scrapy search --json word | jq -r '.hits[].url'"""

_ANCHORS_SHOWN = 3
# What are options, though written in one word with their value; the rest is wanted to be absent.
_is_option = re.compile(r"-(?:n\d+|s[A-Z_]+=.*|L[A-Z]+)\Z").match


class QueryParser(argparse.ArgumentParser):
    """Takes -word for a part of the query, where argparse would take it for options in a row."""

    def _parse_optional(self, arg_string: str) -> Any:
        is_word = arg_string[:1] == "-" and arg_string[1:2] != "-" and len(arg_string) > 2
        if is_word and not _is_option(arg_string):
            return None
        return super()._parse_optional(arg_string)


class Command(SeveralJobsCommand):
    """See the module."""

    def syntax(self) -> str:
        return "[options] <query>"

    def short_desc(self) -> str:
        return "Find pages by their words and by the words of links to them"

    def long_desc(self) -> str:
        return DESCRIPTION

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.__class__ = QueryParser
        parser.formatter_class = ExampleFormatter
        parser.epilog = EXAMPLES
        parser.add_argument("-n", type=int, default=10, help="how many pages (default: 10)")
        parser.add_argument(
            "--job",
            action="append",
            help="job folder, its name, or an index folder; may be repeated "
            "(default: the latest crawl)",
        )

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        query = " ".join(args)
        if not args:
            raise UsageError("say what to search for", print_help=False)
        if opts.n < 1:
            raise UsageError("-n is a number of pages, from 1", print_help=False)
        parse_query(query)  # what is wrong with the query is said before what is wrong with a job
        named = [folder for name in opts.job or (None,) for folder in self._indexes_of(name)]
        folders = list(dict.fromkeys(named))
        reader = IndexReader(folders)
        if not reader.page_count:
            names = ", ".join(str(folder) for folder in folders)
            raise UserError(f"the index in {names} is empty: nothing has been indexed yet")
        results = reader.search(query, opts.n)
        if opts.json:
            print(json_text(as_data(query, results)))
        else:
            show(query, results, Console(highlight=False))

    def _indexes_of(self, name: str | None) -> list[Path]:
        """The index of a job, those of its workers, or the folder itself where it is an index."""
        if name is not None:
            for folder in (Path(name), Path(name) / "index"):
                if (folder / "format.json").exists():
                    return [folder]
        job = self.job_named(name)
        found = [job / "index", *sorted(job.glob("*/index"))]
        found = [folder for folder in found if (folder / "format.json").exists()]
        if not found:
            raise JobError(
                f"the crawl in {job} has no index: it ran with INDEX_ENABLED off; "
                "`scrapy index build` makes one from its archive"
            )
        return found


def as_data(query: str, results: Results) -> dict[str, Any]:
    """What was found, as plain data. `ranges` are the places of the snippet that match."""
    return {
        "query": query,
        "total": results.total,
        "ms": round(results.seconds * 1000, 2),
        "hits": [
            {
                "url": hit.url,
                "title": hit.title,
                "snippet": hit.snippet.text,
                "ranges": [list(span) for span in hit.snippet.ranges],
                "score": round(hit.score, 4),
                "is_fetched": hit.is_fetched,
                "fetched_at": datetime.fromtimestamp(hit.fetched_at, UTC).isoformat()
                if hit.is_fetched
                else None,
                "language": hit.language,
                "anchors": [
                    {"text": a.text, "weight": a.weight, "pages": a.pages, "sites": a.sites}
                    for a in hit.anchors
                ],
            }
            for hit in results.hits
        ],
    }


def show(query: str, results: Results, console: Console) -> None:
    """What was found, as people read it: wrapped on a terminal, a line each elsewhere."""
    if not results.hits:
        console.print(f"nothing was found for {printable(query)}", markup=False, soft_wrap=True)
        return
    for number, hit in enumerate(results.hits, 1):
        title = Text(f"{number}. ").append(hit.title or _name(hit), style="bold")
        title.append(f"  {hit.score:.2f}", style="dim")
        for line in (title, *_lines(hit)):
            if console.is_terminal and line is not title:
                console.print(Padding(line, (0, 0, 0, 3)))
            else:
                console.print(line if line is title else Text("   ") + line, soft_wrap=True)
    shown = len(results.hits)
    of_all = f"{shown} of {results.total:,} pages" if results.total > shown else _pages(shown)
    console.print(f"{of_all}, {results.seconds * 1000:.0f} ms", style="dim")


def _lines(hit: Hit) -> Sequence[Text]:
    lines = [Text(harmless(hit.url), style="blue", overflow="fold")]
    if not hit.is_fetched:
        lines.append(Text("not fetched: known by the links to it only", style="italic"))
    if hit.snippet.text:
        snippet = Text(hit.snippet.text)
        for start, end in hit.snippet.ranges:
            snippet.stylize("bold", start, end)
        lines.append(snippet)
    if hit.anchors:
        told = "; ".join(_anchor(anchor) for anchor in hit.anchors[:_ANCHORS_SHOWN])
        lines.append(Text(f"links say: {told}", style="dim"))
    return lines


def _name(hit: Hit) -> str:
    """What a page without a title is called: by its best anchor, or by its address."""
    return hit.anchors[0].text if hit.anchors else hit.url


def _anchor(anchor: Anchor) -> str:
    sites = "" if anchor.sites == 1 else f" of {anchor.sites:,} sites"
    return f'"{anchor.text}" ({_pages(anchor.pages)}{sites})'


def _pages(count: int) -> str:
    return f"{count:,} page{'' if count == 1 else 's'}"
