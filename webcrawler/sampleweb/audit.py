"""The auditor: was the crawler polite, as seen from the servers that it visited?

Two laws are checked for every host, and on request for every server address: from the end of one
request to the start of the next passes at least the delay, and no two requests are there at once.
It counts every request, whatever it was for (robots.txt, redirects, retries), over all logs given,
merged by time: of several servers, before and after a restart, from several workers.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from .logs import read_arrivals

if TYPE_CHECKING:
    from .arrivals import Arrival

# One number for all, or by host (or address) with "*" for those not named, or a function of it.
Delay = float | Mapping[str, float] | Callable[[str], float]


@dataclass(frozen=True, slots=True)
class Violation:
    """A request that came too soon: `gap` after the previous one ended; below 0 they overlap."""

    law: str  # "gap" or "overlap"
    scope: str  # "host" or "address"
    name: str
    url: str
    previous_url: str
    at: float
    gap: float
    needed: float


@dataclass(frozen=True, slots=True)
class Report:
    """What the audit found. Gaps are those within a host; None where no host had two requests."""

    violations: tuple[Violation, ...]
    requests: int
    hosts: int
    addresses: int
    smallest_gap: float | None
    median_gap: float | None
    refetched: Mapping[str, int]  # URLs that were fetched whole more than once, and how often
    bad_lines: int = 0

    @property
    def is_polite(self) -> bool:
        """Whether no law was broken."""
        return not self.violations

    def as_json(self) -> dict[str, Any]:
        """All of it in plain values."""
        return {"is_polite": self.is_polite, **asdict(self)}


def audit(
    arrivals: Iterable[Arrival | None],
    delay: Delay = 1.0,
    *,
    address_delay: Delay | None = None,
    tolerance: float = 0.005,
) -> Report:
    """Check the arrivals, in any order; None among them are lines that could not be read.

    `tolerance` is what the clocks may be wrong by: so much less than the delay is forgiven, and so
    much overlap. Requests without a host are of no host, but reach an address.
    """
    known = []
    bad_lines = 0
    for arrival in arrivals:
        if arrival is None:
            bad_lines += 1
        else:
            known.append(arrival)
    known.sort(key=lambda arrival: (arrival.arrived_at, arrival.ended_at))
    by_host = _grouped(known, lambda arrival: arrival.host)
    by_address = _grouped(known, lambda arrival: arrival.server)
    violations, gaps = _check("host", by_host, delay, tolerance)
    if address_delay is not None:
        violations += _check("address", by_address, address_delay, tolerance)[0]
    violations.sort(key=lambda violation: violation.at)
    fetched = Counter(
        _url(arrival)
        for arrival in known
        if arrival.is_complete
        and arrival.method == "GET"
        and 200 <= arrival.status < 300
        and arrival.path != "/robots.txt"
    )
    return Report(
        violations=tuple(violations),
        requests=len(known),
        hosts=len(by_host),
        addresses=len(by_address),
        smallest_gap=min(gaps) if gaps else None,
        median_gap=median(gaps) if gaps else None,
        refetched={url: count for url, count in fetched.items() if count > 1},
        bad_lines=bad_lines,
    )


def _check(
    scope: str, groups: Mapping[str, Sequence[Arrival]], delay: Delay, tolerance: float
) -> tuple[list[Violation], list[float]]:
    """The violations in each group, which is sorted by time, and all gaps."""
    violations = []
    gaps = []
    for name, arrivals in groups.items():
        needed = _needed(delay, name)
        # The one that ends last of all so far is the one that the next has to wait for.
        last = arrivals[0]
        for arrival in arrivals[1:]:
            gap = arrival.arrived_at - last.ended_at
            gaps.append(gap)
            law = "overlap" if gap < -tolerance else "gap" if gap < needed - tolerance else ""
            if law:
                violations.append(
                    Violation(
                        law=law,
                        scope=scope,
                        name=name,
                        url=_url(arrival),
                        previous_url=_url(last),
                        at=arrival.arrived_at,
                        gap=round(gap, 6),
                        needed=needed,
                    )
                )
            if arrival.ended_at > last.ended_at:
                last = arrival
    return violations, gaps


def _needed(delay: Delay, name: str) -> float:
    if isinstance(delay, Mapping):
        return float(delay.get(name, delay.get("*", 0.0)))
    return float(delay(name) if callable(delay) else delay)


def _grouped(
    arrivals: Iterable[Arrival], name: Callable[[Arrival], str]
) -> dict[str, list[Arrival]]:
    groups: dict[str, list[Arrival]] = {}
    for arrival in arrivals:
        key = name(arrival)
        if key:
            groups.setdefault(key, []).append(arrival)
    return groups


def _url(arrival: Arrival) -> str:
    return f"http://{arrival.host}{arrival.path}"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; gives its exit code: 0 polite, 1 not, 2 nothing to judge."""
    options = _parser().parse_args(arguments)
    arrivals: list[Arrival | None] = []
    for name in options.files:
        try:
            if name == "-":
                arrivals += read_arrivals(sys.stdin.buffer)
            else:
                with open(name, "rb") as file:
                    arrivals += read_arrivals(file)
        except OSError as error:
            print(f"cannot read {name}: {error.strerror or error}", file=sys.stderr)
            return 2
    report = audit(
        arrivals,
        {"*": 1.0, **dict(options.delay)},
        address_delay=options.address_delay,
        tolerance=options.tolerance,
    )
    if options.json:
        print(json.dumps(report.as_json()))
    elif report.requests:
        _print(report, options.limit)
    if not report.requests:
        lines = f"{report.bad_lines} bad lines and " if report.bad_lines else ""
        print(f"nothing to judge: {lines}no requests in {options.files}", file=sys.stderr)
        return 2
    return 0 if report.is_polite else 1


def _print(report: Report, limit: int) -> None:
    for violation in report.violations[:limit]:
        print(
            f"{violation.law} {violation.scope} {violation.name}: {violation.gap:.3f} s,"
            f" needed {violation.needed:g} s: {violation.url} after {violation.previous_url}"
            f" at {violation.at:.3f}"
        )
    if len(report.violations) > limit:
        print(f"and {len(report.violations) - limit} more")
    print(
        f"{'polite' if report.is_polite else 'NOT polite'}: {len(report.violations)} violations,"
        f" {report.requests} requests, {report.hosts} hosts, {report.addresses} addresses,"
        f" smallest gap {_seconds(report.smallest_gap)}, median {_seconds(report.median_gap)},"
        f" {len(report.refetched)} URLs fetched more than once, {report.bad_lines} bad lines"
    )


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f} s"


def _delay_argument(text: str) -> tuple[str, float]:
    name, _, number = text.rpartition("=")
    try:
        seconds = float(number)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is not SECONDS or HOST=SECONDS")
    return name.lower() or "*", seconds


def _seconds_argument(text: str) -> float:
    name, seconds = _delay_argument(text)
    if name != "*":
        raise argparse.ArgumentTypeError(f"{text!r} is not SECONDS")
    return seconds


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m webcrawler.sampleweb.audit",
        description="Check from a server's log that a crawler kept its delays and never made two"
        " requests to a host at once. Reads the sample web's arrivals (JSON lines) and nginx"
        " access logs; webcrawler/sampleweb/logs.py shows the log_format. All files are merged by"
        " time.",
        epilog="Exit code: 0 polite, 1 not, 2 nothing to judge.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a log; - is standard input")
    parser.add_argument(
        "--delay",
        action="append",
        default=[],
        type=_delay_argument,
        metavar="[HOST=]SECONDS",
        help="what must pass between two requests of a host, for all hosts or for one; repeatable"
        " (default: 1)",
    )
    parser.add_argument(
        "--address-delay",
        type=_seconds_argument,
        metavar="SECONDS",
        help="check the same by server address, with this delay (default: not checked)",
    )
    parser.add_argument(
        "--tolerance",
        type=_seconds_argument,
        default=0.005,
        metavar="SECONDS",
        help="what the clocks may be wrong by (default: 0.005)",
    )
    parser.add_argument(
        "--limit", type=int, default=20, metavar="N", help="violations shown (default: 20)"
    )
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    return parser


if __name__ == "__main__":
    sys.exit(main())
