"""scrapy frontier: look into a crawl's frontier and change it, also while the crawl runs."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from webcrawler.config import Config
from webcrawler.control import answer, ask_running
from webcrawler.crawl import Crawl
from webcrawler.crawl_log import CrawlLog
from webcrawler.exceptions import JobError
from webcrawler.frontier.desk import Desk
from webcrawler.job_command import JobCommand, print_json

if TYPE_CHECKING:
    import argparse

ACTIONS = {
    "stats": "how much is known, waits and has ended",
    "hosts [waiting|next|failing]": "the hosts with most waiting, the next ones, the failing ones",
    "peek HOST": "the first waiting URLs of a host",
    "why URL": "is it known, where does it wait or how did it end, when is its host's turn",
    "block HOST": "keep a host's URLs but fetch none",
    "unblock HOST": "go on with a blocked host",
    "drop PATTERN": "end the waiting URLs that match a regular expression",
    "add URL ...": "put URLs by hand, as seeds",
    "forget": "redis: delete the whole crawl, after asking (--yes: without)",
    "checkpoint DIR": "a consistent copy (by hard links) that a crawl can be started from",
}


class Command(JobCommand):
    """See the module."""

    def syntax(self) -> str:
        return "[options] <action> [argument ...]"

    def short_desc(self) -> str:
        return "Look into a crawl's frontier and change it, also while the crawl runs"

    def long_desc(self) -> str:
        actions = "; ".join(f"{action}: {line}" for action, line in ACTIONS.items())
        return f"{self.short_desc()}. Actions are {actions}."

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--yes", action="store_true", help="forget without asking")
        parser.add_argument("-n", type=int, default=20, help="how many rows (default: 20)")

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        names = [action.split()[0] for action in ACTIONS]
        if not args or args[0] not in names:
            raise JobError(f"name one of the actions {', '.join(names)}")
        words = args[1:]
        if opts.n < 1:
            raise JobError(f"-n {opts.n} is no number of rows")
        if args[0] == "checkpoint":
            # A running crawl may have been started elsewhere.
            words = [str(Path(word).absolute()) for word in words]
        question = {"action": args[0], "words": words, "limit": opts.n}
        job = self.job_folder(opts)
        assert self.settings is not None
        is_shared = Config(self.settings).frontier.backend == "redis"
        if args[0] == "forget":
            self._forget(job, is_shared, opts.yes)
            return
        result = None if is_shared else ask_running(job, question)
        if result is None:
            result = self._ask_folder(job, question)
        if opts.json:
            print_json(result)
        else:
            show(args[0], result, Console(highlight=False))

    def _forget(self, job: Path, is_shared: bool, is_sure: bool) -> None:
        """Delete a crawl in Redis; job folders are the user's own to delete."""
        assert self.settings is not None
        if not is_shared:
            raise JobError(f"only a crawl in Redis can be forgotten: delete the folder {job}")
        if not is_sure:
            answer = input(f"delete the crawl {job.name} with all its URLs from Redis? [y/N] ")
            if answer.strip().lower() not in ("y", "yes"):
                raise JobError("nothing was deleted")
        self.settings.set("JOBDIR", str(job), priority="cmdline")
        crawl = Crawl(self.settings)
        store: Any = crawl.store
        print(f"{store.forget():,} keys deleted; {job} is still there")
        store.direct.close()

    def _ask_folder(self, job: Path, question: dict[str, Any]) -> Any:
        """No crawl runs: open its frontier ourselves."""
        assert self.settings is not None
        self.settings.set("JOBDIR", str(job), priority="cmdline")
        crawl = Crawl(self.settings)
        if crawl.config.frontier.backend == "rocks" and not (job / "frontier").is_dir():
            raise JobError(f"no frontier is kept in {job}: its crawl had another FRONTIER_BACKEND")
        crawl.open()
        log = CrawlLog(job)
        try:
            desk = Desk(crawl.frontier, crawl.canonicalizer, crawl.prioritizer)
            result = None
            for step in answer(desk, question, crawl.clock(), job, log):
                result = step
            return result
        finally:
            log.close()
            crawl.close()


def show(action: str, result: Any, console: Console) -> None:
    """An answer as people read it."""
    if action == "hosts":
        _show_hosts(result, console)
    elif action == "peek":
        _show_peek(result, console)
    elif action == "why":
        for line in why_lines(result):
            console.print(line, markup=False, soft_wrap=True)
    else:
        for worker in result.pop("workers", []):
            console.print(
                f"{worker['worker']:14} {worker['pages']:,} pages, "
                f"{worker['pages_per_second']:,.1f} a second, {worker['leases']:,} hosts leased",
                markup=False,
            )
        for name, value in result.items():
            shown = (
                ", ".join(f"{k} {v:,}" for k, v in value.items())
                if isinstance(value, dict)
                else f"{value:,}"
                if isinstance(value, int)
                else value
            )
            console.print(f"{name.replace('_', ' '):14} {shown}", markup=False, soft_wrap=True)


def _show_hosts(hosts: list[dict[str, Any]], console: Console) -> None:
    table = Table(box=None, pad_edge=False)
    for name in ("host", "waiting", "fetched", "next in", "because", "failures", ""):
        table.add_column(name, justify="left" if name in ("host", "because", "") else "right")
    for host in hosts:
        table.add_row(
            Text(host["host"]),  # no markup: an IPv6 address stands in brackets
            f"{host['waiting']:,}",
            f"{host['fetched']:,}",
            _seconds(host["in_secs"]),
            host["because"],
            str(host["failures"]),
            "blocked" if host["blocked"] else "budget used up" if host["budget_used_up"] else "",
        )
    console.print(table)


def _show_peek(result: dict[str, Any], console: Console) -> None:
    if not result["known"]:
        console.print(f"{result['host']} is no host of this crawl", markup=False, soft_wrap=True)
        return
    console.print(host_line(result), markup=False, soft_wrap=True)
    for row in result["urls"]:
        mark = "*" if row["in_hand"] else " "
        console.print(
            f"{mark} {row['queue']:>3} {row['depth']:>4}  {row['url']}",
            markup=False,
            soft_wrap=True,
        )


def host_line(host: dict[str, Any]) -> str:
    """A host's clock in a sentence."""
    if host["blocked"]:
        return f"its host {host['host']} is blocked ({host['waiting']:,} URLs wait)"
    if host["budget_used_up"]:
        return f"its host {host['host']} has used up its page budget"
    when = "may be hit now" if not host["in_secs"] else f"may be hit in {_seconds(host['in_secs'])}"
    cause = "" if host["because"] == "never hit" else f", set by {host['because']}"
    failing = f", {host['failures']} failures in a row" if host["failures"] else ""
    return f"its host {host['host']} {when}{cause}{failing}; {host['waiting']:,} URLs wait"


def why_lines(answer: dict[str, Any]) -> list[str]:
    """The story of a URL."""
    lines = [answer["url"]]
    if answer.get("known_as") and answer["known_as"] != answer["url"]:
        lines.append(f"  is known as {answer['known_as']}")
    state = answer["state"]
    if state == "unknown":
        lines.append("  was never put: no page links to it, or scope and filters refused it")
    elif state == "ended":
        lines.append(
            f"  ended as {answer['outcome']} (status {answer['status']}) "
            f"at {_date(answer['ended_at'])}, depth {answer['depth']}"
        )
        if answer.get("copy_of"):
            lines.append(f"  it is a copy of {answer['copy_of']}")
    else:
        lines.append(
            f"  {'is in hand' if state == 'in hand' else 'waits'} in front queue "
            f"{answer['queue']} ({answer['queue_because']})"
        )
        if state == "waiting":
            lines.append(f"  {answer.get('ahead_in_queue', 0):,} URLs of its host are before it")
        if answer["retries"]:
            lines.append(f"  it was tried {answer['retries']} times before")
    if answer.get("is_seed"):
        lines.append("  it is a seed")
    elif answer.get("via"):
        anchor = f" by the words {answer['anchor']!r}" if answer.get("anchor") else ""
        lines.append(f"  it was found on {answer['via']}{anchor}")
    if answer["host"]:
        lines.append("  " + host_line(answer["host"]))
    return lines


def _seconds(value: float) -> str:
    if value < 120:
        return f"{value:.1f} s"
    return f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.1f} h"


def _date(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().isoformat(sep=" ", timespec="seconds")
