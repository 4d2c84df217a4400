"""Ports for programs of the tests that have to be told one before they start."""

from __future__ import annotations

import os
import random
import socket
from contextlib import ExitStack

# Below what systems give to connections (32768 or more): there a port that is free now may be
# anybody's a moment later. Each pytest-xdist worker has a thousand of its own.
_FIRST = 11_000
_EACH = 1_000
_WORKERS = 10
_CLUSTER_BUS = 10_000  # above a Redis's port, where a cluster talks

_random = random.Random(os.getpid())


def free_port() -> int:
    """A port on loopback that nobody has, nor the one 10,000 above."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % _WORKERS
    while True:
        port = _FIRST + worker * _EACH + _random.randrange(_EACH)
        with ExitStack() as stack:
            try:
                for each in (port, port + _CLUSTER_BUS):
                    stack.enter_context(socket.socket()).bind(("127.0.0.1", each))
            except OSError:
                continue
            return port
