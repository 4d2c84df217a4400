"""The tables of the link graph, the anchors and the index, and how their keys are made.

Numbers in keys are big-endian, so that key order is number order: runs of a target come oldest
first, journal entries in the order in which their pages ended. Where several workers share a crawl,
each has tables of its own; what they have for each other goes by post (post.py).

| table         | key                          | value                                            |
|---------------|------------------------------|--------------------------------------------------|
| links         | site, source                 | all links of one page (links.py)                 |
| links-new     | sequence                     | the page whose links are to be folded            |
| inlinks       | target, run                  | who links to a target, bounded (inlinks.py)      |
| texts         | text, site or 0              | how many targets a text is used for (evidence.py)|
| inlinks-new   | run, part                    | targets whose anchors have changed               |
| inlinks-later | run, part                    | the same, for when there is time                 |
| inlinks-open  | run, part                    | targets in the index that nobody has fetched     |
| index-new     | sequence                     | a page to be put into or taken out of the index  |
| index-fate    | page                         | why a fetched page is not in it (journal.py)     |
| index-aliases | page, copy                   | whose anchors this page receives besides its own |
"""

from __future__ import annotations

from struct import Struct

from xxhash import xxh3_64_intdigest

LINKS = "links"
LINKS_NEW = "links-new"
INLINKS = "inlinks"
TEXTS = "texts"
INLINKS_NEW = "inlinks-new"
INLINKS_LATER = "inlinks-later"
INLINKS_OPEN = "inlinks-open"
INDEX_NEW = "index-new"
INDEX_FATE = "index-fate"
INDEX_ALIASES = "index-aliases"

TABLES = (
    LINKS,
    LINKS_NEW,
    INLINKS,
    TEXTS,
    INLINKS_NEW,
    INLINKS_LATER,
    INLINKS_OPEN,
    INDEX_NEW,
    INDEX_FATE,
    INDEX_ALIASES,
)

NUMBER = Struct(">Q")
PAIR = Struct(">QQ")
PAGE = Struct(">IQ")  # the site first: pages of a site are neighbours and compress together


def site_hash(site: str) -> int:
    """The 32 bits a site is known by in rows and keys; never 0, which stands for all sites."""
    return (xxh3_64_intdigest(site.encode("utf-8", "surrogatepass")) & 0xFFFFFFFF) or 1


def page_key(site: int, fingerprint: int) -> bytes:
    return PAGE.pack(site, fingerprint)


def number_key(number: int) -> bytes:
    return NUMBER.pack(number)


def pair_key(first: int, second: int) -> bytes:
    return PAIR.pack(first, second)
