"""URLs: what a link means, which page it is, whose it is, and whether to follow it.

The text of a link is resolved against its page and normalised as browsers do (`normalize`). The
URL filter throws out what is not worth fetching (`URLFilter`), the scope what lies elsewhere
(`Anywhere`, `Hosts`, `Sites`, `Directories`). What is left is told from the URLs already seen by
the fingerprint of its canonical form (`Canonicalizer`), and goes to the queue of its host
(`host_key`), which belongs to a site (`site_key`). A seed is typed by a person and gets its scheme
first (`complete_seed`).

Nothing here touches the network or the disk, and no text, however hostile, makes it raise: only
what a person has configured wrongly does.
"""

from __future__ import annotations

from webcrawler.urls.canonical import DEFAULT_DROP_PARAMS, Canonicalizer
from webcrawler.urls.extensions import DEFAULT_DENIED_EXTENSIONS, extensions_to_skip
from webcrawler.urls.filters import (
    DEFAULT_MAX_LENGTH,
    DEFAULT_MAX_PARAMETERS,
    DEFAULT_MAX_REPEATS,
    DEFAULT_MAX_SEGMENTS,
    DEFAULT_SCHEMES,
    URLFilter,
    compile_patterns,
)
from webcrawler.urls.hosts import (
    authority,
    directory,
    host_id,
    host_key,
    parse_host,
    site_key,
    without_port,
)
from webcrawler.urls.normal import Resolver, complete_seed, normalize
from webcrawler.urls.scope import Anywhere, Directories, Hosts, Scope, Sites

__all__ = [
    "DEFAULT_DENIED_EXTENSIONS",
    "DEFAULT_DROP_PARAMS",
    "DEFAULT_MAX_LENGTH",
    "DEFAULT_MAX_PARAMETERS",
    "DEFAULT_MAX_REPEATS",
    "DEFAULT_MAX_SEGMENTS",
    "DEFAULT_SCHEMES",
    "Anywhere",
    "Canonicalizer",
    "Directories",
    "Hosts",
    "Resolver",
    "Scope",
    "Sites",
    "URLFilter",
    "authority",
    "compile_patterns",
    "complete_seed",
    "directory",
    "extensions_to_skip",
    "host_id",
    "host_key",
    "normalize",
    "parse_host",
    "site_key",
    "without_port",
]
