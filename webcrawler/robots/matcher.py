"""Which rule of a group decides a path: the longest that matches, found without walking all.

A rule is one of three shapes: a plain beginning of the path, a whole path (`$`), or parts that
follow each other anywhere (`*`). Beginnings are looked up by length in a dict, so thirty
thousand of them cost as many look-ups as there are different lengths. Parts are searched with
`str.find` from left to right, which never goes back: the leftmost place is always a right one.
"""

from __future__ import annotations

from typing import NamedTuple

# A rank is the rule's priority (its length) with the line below it, so that the greater rank
# wins and, among equals, the line that comes first. 0 is no rule.
_LINE_BITS = 32
_LINE_MASK = (1 << _LINE_BITS) - 1


def rank_of(priority: int, line: int) -> int:
    return priority << _LINE_BITS | (_LINE_MASK - line)


def line_of(rank: int) -> int:
    return _LINE_MASK - (rank & _LINE_MASK)


def just_below(rank: int) -> int:
    """The rank above which a rule is at least as long: on a tie of lengths, Allow wins."""
    return (rank >> _LINE_BITS << _LINE_BITS) - 1


class _Parts(NamedTuple):
    """A rule with `*` inside. `needle`, its longest part, must be in any path it matches."""

    rank: int
    needle: str
    beginning: str
    middle: tuple[str, ...]
    ending: str | None

    def match(self, path: str) -> bool:
        if not path.startswith(self.beginning):
            return False
        position = len(self.beginning)
        for part in self.middle:
            position = path.find(part, position)
            if position < 0:
                return False
            position += len(part)
        ending = self.ending
        if ending is None:
            return True
        return len(path) - len(ending) >= position and path.endswith(ending)


class RuleIndex:
    """The rules of one kind (Allow or Disallow) of one group, in one spelling."""

    __slots__ = ("_beginnings", "_lengths", "_parts", "_wholes")

    def __init__(self) -> None:
        self._beginnings: dict[str, int] = {}
        self._wholes: dict[str, int] = {}
        self._parts: list[_Parts] = []
        self._lengths: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self._beginnings) + len(self._wholes) + len(self._parts)

    @property
    def wildcards(self) -> int:
        """How many rules have to be tried one by one."""
        return len(self._parts)

    def add(self, pattern: str, rank: int) -> None:
        """Add a rule's pattern; call `seal` after the last."""
        whole = pattern.endswith("$")
        if whole:
            pattern = pattern[:-1]
        # "a*" is the beginning "a"; so is "a**".
        if not whole or pattern.endswith("*"):
            bare = pattern.rstrip("*")
            if "*" not in bare:
                _keep_greater(self._beginnings, bare, rank)
                return
            if len(bare) < len(pattern):
                pattern, whole = bare, False
        elif "*" not in pattern:
            _keep_greater(self._wholes, pattern, rank)
            return
        beginning, *rest = pattern.split("*")
        ending = rest.pop() if whole else None
        middle = tuple(part for part in rest if part)
        needle = max((beginning, *middle, ending or ""), key=len)
        self._parts.append(_Parts(rank, needle, beginning, middle, ending))

    def seal(self) -> None:
        self._lengths = tuple(sorted({len(beginning) for beginning in self._beginnings}))
        self._parts.sort(reverse=True)

    def find(self, path: str, least: int = 0) -> int:
        """The greatest rank of the rules that match and are above `least`; 0 where none does."""
        best = least
        if self._wholes:
            rank = self._wholes.get(path, 0)
            if rank > best:
                best = rank
        beginnings = self._beginnings
        size = len(path)
        for length in self._lengths:
            if length > size:
                break
            rank = beginnings.get(path[:length], 0)
            if rank > best:
                best = rank
        for parts in self._parts:
            if parts[0] <= best:
                break
            if parts[1] in path and parts.match(path):
                best = parts[0]
                break
        return best if best > least else 0


def _keep_greater(ranks: dict[str, int], pattern: str, rank: int) -> None:
    if rank > ranks.get(pattern, 0):
        ranks[pattern] = rank
