"""What datasketch chooses for a crawl: permutations, and how a sketch is cut into bands.

It is asked in a process of its own, for a moment at the start: datasketch brings scipy, and with
it 60 megabytes and a thousand modules that nothing else of a crawl has a use for.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from typing import Final, NamedTuple

import numpy as np

# Candidates are verified, so one too many costs microseconds and one too few a duplicate kept:
# for 200 values at 0.8 this gives 22 bands of 9, which find 96 % at 0.8 and 99.7 % at 0.85.
_WEIGHTS: Final = (0.05, 0.95)  # of false positives, of false negatives
# Close to 1 the best would be a single band, which datasketch refuses.
_HIGHEST_THRESHOLD: Final = 0.97
_FEWEST: Final = 16
_MOST_SECS: Final = 120

_PROGRAM: Final = """
import json, sys
from datasketch import MinHash, MinHashLSH

threshold, permutations, seed, *weights = map(float, sys.argv[1:])
best = MinHashLSH(threshold, int(permutations), weights=tuple(weights))
made = MinHash(int(permutations), seed=int(seed), scheme="affine32").permutations
print(json.dumps([best.b, best.r, *(numbers.tolist() for numbers in made)]))
"""


class Parameters(NamedTuple):
    """`bands` parts of `rows` values each; the factors and terms of the permutations."""

    bands: int
    rows: int
    factors: bytes
    terms: bytes


@cache
def choose_parameters(threshold: float, permutations: int, seed: int) -> Parameters:
    """What datasketch finds best; the same for the same numbers, on every machine."""
    if permutations < _FEWEST:
        raise ValueError(f"permutations {permutations}: at least {_FEWEST}")
    numbers = (min(threshold, _HIGHEST_THRESHOLD), permutations, seed, *_WEIGHTS)
    answer = subprocess.run(  # noqa: S603 (the program is ours, and its arguments are numbers)
        [sys.executable, "-c", _PROGRAM, *map(str, numbers)],
        capture_output=True,
        check=False,
        timeout=_MOST_SECS,
        process_group=0,  # Ctrl-C is for the crawl
    )
    if answer.returncode:
        reason = answer.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise RuntimeError(f"datasketch cannot be used: {' '.join(reason)}")
    bands, rows, factors, terms = json.loads(answer.stdout)
    arrays = (np.array(values, np.uint32).tobytes() for values in (factors, terms))
    return Parameters(bands, rows, *arrays)
