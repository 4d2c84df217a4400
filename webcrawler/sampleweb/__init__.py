"""A deterministic little web for the demo, the tests and the benchmarks.

A `SampleWeb` is made from numbers alone. A seed decides the hosts, which page is what (good,
broken, redirected, a copy, slow, …), who links to whom and in which words; nothing is stored, and
every page is written when it is asked for. Because it is all computed, the web knows the `Truth`
about itself without being crawled: what is reachable, what is a duplicate of what, and so on.

A `SampleServer` serves it from one thread on loopback, under all of its host names: the crawler's
DNS cache is given `dns`, the port stands in the URLs, and requests are told apart by their Host
header. Every request is noted as an `Arrival`. Afterwards the auditor reads the arrivals (or an
nginx access log) and says whether the crawler was polite.

    from webcrawler.sampleweb import SampleServer, SampleWeb
    from webcrawler.sampleweb.audit import audit

    with SampleServer(SampleWeb(seed=1, hosts=20, pages=400)) as server:
        crawl(server.seeds, server.dns)
        found = server.web.truth().reachable_pages()
        report = audit(server.arrivals, delay=1.0)

The same as commands: `python -m webcrawler.sampleweb` and `python -m webcrawler.sampleweb.audit`.
"""

from __future__ import annotations

from .arrivals import Arrival
from .recipe import Recipe
from .resource import Resource
from .response import Response
from .server import SampleServer, serve
from .truth import NearDuplicate, Truth
from .web import SampleWeb

__all__ = [
    "Arrival",
    "NearDuplicate",
    "Recipe",
    "Resource",
    "Response",
    "SampleServer",
    "SampleWeb",
    "Truth",
    "serve",
]
