"""Has this been seen before? Two tests that every fetched page passes on its way.

A page's body first becomes a checksum (`content_digest`). The content-seen test looks it up: if
another URL has given the same document, the page is a copy and goes no further. Otherwise
its text becomes words, the words become shingles, and the least values of many permutations
of the shingles become a sketch, alike for texts that are alike. Parts of the sketch, the
bands, are keys under which the pages that share them are found; these few are compared sketch
by sketch, and the most similar one, if it is similar enough, is what the page is a
near-duplicate of. If there is none, the page is an original: its sketch is stored, to be met
by later pages.

Both tests are generators that say what they read (`reading`), so that they run on a store that
answers at once and on one that is awaited. What they want remembered is appended to the
page's batch, and committed with its ending or not at all.

    seen = run(tables, ContentSeen().examine(fingerprint, content_digest(body, mime)))
    if seen.original is None:
        finding = run(tables, near.examine(fingerprint, near.signature(text)))
        finding.write(batch)
    seen.write(batch)

Nothing here grows with the crawl but the tables: about 32 bytes a page in `content`, and for an
original 400 in `sketches` and 22 rows of 16 in `bands`.
"""

from webcrawler.dedup.checksum import EMPTY, content_digest
from webcrawler.dedup.content import CONTENT, ContentSeen, Seen
from webcrawler.dedup.lsh import BANDS, Bands
from webcrawler.dedup.neardup import PARAMETERS_KEY, SKETCHES, Finding, Match, NearDuplicates
from webcrawler.dedup.reading import Reading, run, run_async
from webcrawler.dedup.shingles import Shingler
from webcrawler.dedup.sketch import Sketcher, pack, similarity, unpack

__all__ = [
    "BANDS",
    "CONTENT",
    "EMPTY",
    "PARAMETERS_KEY",
    "SKETCHES",
    "Bands",
    "ContentSeen",
    "Finding",
    "Match",
    "NearDuplicates",
    "Reading",
    "Seen",
    "Shingler",
    "Sketcher",
    "content_digest",
    "pack",
    "run",
    "run_async",
    "similarity",
    "unpack",
]
