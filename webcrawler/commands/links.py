"""scrapy links: what a page links to, and what links to it."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from webcrawler.command_text import ExampleFormatter, harmless, json_text
from webcrawler.config import Config
from webcrawler.exceptions import JobError, UserError
from webcrawler.index import LINKS, TABLES, JoinedTable, incoming, outgoing, site_hash
from webcrawler.job_command import JobCommand
from webcrawler.job_tables import JobTables
from webcrawler.urls import Canonicalizer, complete_seed, host_key, site_key
from webcrawler.worker_folder import folders_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from webcrawler.tables import Table

DESCRIPTION = """\
What a page links to, and which pages link to it and by which words, as far as
a crawl knows: links that it may not follow are not kept. The crawl may be
running. Of a page that very many link to, a fair sample of them is kept, and
their number is an estimate."""

EXAMPLES = """\
examples:
  scrapy links example.org/page.html
  scrapy links --in -n 100 https://example.org/
  scrapy links --json https://example.org/ | jq -r '.out.links[].url'"""

_LOOKED_AT = 1000  # linking pages, whose number is then known and not only estimated


class Command(JobCommand):
    """See the module."""

    def syntax(self) -> str:
        return "[options] <URL>"

    def short_desc(self) -> str:
        return "What a page links to, and what links to it"

    def long_desc(self) -> str:
        return DESCRIPTION

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.formatter_class = ExampleFormatter
        parser.epilog = EXAMPLES
        parser.add_argument("--in", dest="only_in", action="store_true", help="only links to it")
        parser.add_argument("--out", dest="only_out", action="store_true", help="only its links")
        parser.add_argument("-n", type=int, default=20, help="how many each way (default: 20)")

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise UsageError("name one URL", print_help=False)
        if opts.n < 1:
            raise UsageError("-n is a number of links, from 1", print_help=False)
        url = complete_seed(args[0])
        if url is None:
            raise UserError(f"{harmless(args[0])} is no URL")
        assert self.settings is not None
        fingerprint = Canonicalizer(Config(self.settings).links.drop_params).fingerprint(url)
        job = self.job_folder(opts)
        result: dict[str, Any] = {"url": url}
        with ExitStack() as stack:
            folders = [folder for folder in folders_of(job) if (folder / "frontier").is_dir()]
            # A job without any says so itself.
            opened = [stack.enter_context(JobTables(folder)) for folder in folders or [job]]
            tables = {name: JoinedTable([each.table(name) for each in opened]) for name in TABLES}
            if next(iter(tables[LINKS].scan(b"")), None) is None:
                raise JobError(
                    f"the crawl in {job} has kept no links: it has fetched no page yet, "
                    "or it ran with ANCHORS_ENABLED off"
                )
            if opts.only_out or not opts.only_in:
                result["out"] = links_out(tables, url, fingerprint, opts.n)
            if opts.only_in or not opts.only_out:
                result["in"] = links_in(tables, fingerprint, opts.n)
        if opts.json:
            print(json_text(result))
        else:
            print("\n".join(lines_of(result)))


def links_out(
    tables: Mapping[str, Table], url: str, fingerprint: int, limit: int
) -> dict[str, Any] | None:
    """What a page links to, as plain data; None where it was not fetched."""
    row = outgoing(tables, site_hash(site_key(host_key(url))), fingerprint)
    if row is None:
        return None
    links = [{"url": link.url, "text": link.text, "rel": link.rel} for link in islice(row, limit)]
    return {"targets": len(row.urls), "links": links, "left_out": len(row.texts) - len(links)}


def links_in(tables: Mapping[str, Table], fingerprint: int, limit: int) -> dict[str, Any]:
    """What links to a page, as plain data."""
    found = incoming(tables, fingerprint, max(limit, _LOOKED_AT))
    return {
        "pages": found.pages,
        "sites": found.sites,
        "is_whole": found.is_whole,
        "links": [
            {"url": link.url, "text": link.text, "rel": link.rel} for link in found.links[:limit]
        ],
        "left_out": len(found.links[limit:]),
    }


def lines_of(result: dict[str, Any]) -> Iterator[str]:
    """An answer as people read it."""
    yield result["url"]
    if "out" in result:
        out = result["out"]
        if out is None:
            yield "  links to: not known, since it was not fetched or is a copy of another page"
        else:
            yield f"  links to {_counted(out['targets'], 'page')}"
            yield from _rows(out["links"])
            if out["left_out"]:
                yield f"    and {out['left_out']:,} more links (-n shows more)"
    if "in" in result:
        into = result["in"]
        if not into["links"]:
            yield "  is linked to by no page of this crawl"
            return
        about = "" if into["is_whole"] else "about "
        yield (
            f"  is linked to by {about}{_counted(into['pages'], 'page')} "
            f"of {about}{_counted(into['sites'], 'site')}"
        )
        yield from _rows(into["links"])
        if into["left_out"]:
            yield f"    and {into['left_out']:,} more links (-n shows more)"


def _rows(links: list[dict[str, str]]) -> Iterator[str]:
    """A line for each page, with all texts of its links."""
    for url, same in groupby(links, key=lambda link: link["url"]):
        texts = [
            (f'"{harmless(link["text"])}"' if link["text"] else "without words")
            + (f" [{harmless(link['rel'])}]" if link["rel"] else "")
            for link in same
        ]
        yield f"    {harmless(url)}  {', '.join(texts)}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
