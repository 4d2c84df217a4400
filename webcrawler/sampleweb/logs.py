"""Reading what servers noted: our own arrivals as JSON lines, and nginx access logs.

For nginx, write the log with exactly this format, unbuffered:

    log_format arrivals '$msec $request_time $host $server_addr $remote_addr $connection '
                        '$status $body_bytes_sent $request_method $request_uri '
                        '"$http_user_agent"';
    access_log /path/to/arrivals.log arrivals;

nginx writes the line when the answer has gone out ($msec) and counts $request_time from the
request's first byte, so the request came at their difference; both are whole milliseconds.
"""

from __future__ import annotations

import json
import math
import re
from typing import IO, TYPE_CHECKING, Any

from .arrivals import Arrival

if TYPE_CHECKING:
    from collections.abc import Iterator

# A line beyond this is counted as bad and never held in memory as a whole.
_LONGEST_LINE = 256 * 1024

_NGINX = re.compile(
    r"(\d{1,12}\.\d{1,6}) (\d{1,9}\.\d{1,6}) (\S*) (\S*) (\S*) (\d{1,18}) (\d{3}) (\d{1,18})"
    r" (\S*) (.*) \"(.*)\""
)


def read_arrivals(file: IO[bytes]) -> Iterator[Arrival | None]:
    """The arrivals in a log of either kind, line by line; None for a line that is none."""
    while line := file.readline(_LONGEST_LINE):
        if not line.endswith(b"\n") and len(line) == _LONGEST_LINE:
            while line and not line.endswith(b"\n"):
                line = file.readline(_LONGEST_LINE)
            yield None
        elif line.strip():
            yield read_line(line)


def read_line(line: bytes) -> Arrival | None:
    """One line of a log of either kind; None where it is neither."""
    text = line.decode("utf-8", "replace").strip()
    return _read_json(text) if text.startswith("{") else _read_nginx(text)


def _read_json(text: str) -> Arrival | None:
    try:
        noted = json.loads(text)
        arrival = Arrival(
            host=_string(noted["host"]).lower(),
            path=_string(noted["path"]),
            status=int(noted["status"]),
            arrived_at=float(noted["arrived_at"]),
            ended_at=float(noted["ended_at"]),
            client=_string(noted.get("client", "")),
            server=_string(noted.get("server", "")),
            connection=int(noted.get("connection", 0)),
            method=_string(noted.get("method", "GET")),
            size=int(noted.get("size", 0)),
            agent=_string(noted.get("agent", "")),
            is_complete=bool(noted.get("is_complete", True)),
        )
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
    is_sound = math.isfinite(arrival.ended_at) and math.isfinite(arrival.arrived_at)
    return arrival if is_sound else None


def _read_nginx(text: str) -> Arrival | None:
    match = _NGINX.fullmatch(text)
    if match is None:
        return None
    ended_at, took, host, server, client, connection, status, size, method, path, agent = (
        match.groups()
    )
    return Arrival(
        host="" if host == "-" else host.lower(),
        path=path,
        status=int(status),
        arrived_at=float(ended_at) - float(took),
        ended_at=float(ended_at),
        client=client,
        server=server,
        connection=int(connection),
        method=method,
        size=int(size),
        agent=agent,
        is_complete=True,
    )


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a string")
    return value
