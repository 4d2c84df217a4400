"""The matcher against a slow and simple one, and against Protego."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from protego import Protego

from webcrawler.robots import RobotsRules
from webcrawler.robots.matcher import RuleIndex, just_below, line_of, rank_of

patterns = st.text("/ab*$", min_size=1, max_size=10).map(lambda text: "/" + text)
paths = st.text("/ab", max_size=12).map(lambda text: "/" + text)


def slow_match(pattern: str, path: str) -> bool:
    """The definition: the set of places in the path that each beginning of the pattern reaches."""
    anchored = pattern.endswith("$")
    if anchored:
        pattern = pattern[:-1]
    reached = {0}
    for character in pattern:
        if character == "*":
            reached = set(range(min(reached), len(path) + 1)) if reached else set()
        else:
            reached = {at + 1 for at in reached if path[at : at + 1] == character}
    return len(path) in reached if anchored else bool(reached)


@settings(max_examples=500, deadline=None)
@given(st.lists(patterns, min_size=1, max_size=8), paths)
def test_the_longest_rule_that_matches_is_found(patterns, path):
    index = RuleIndex()
    for line, pattern in enumerate(patterns, 1):
        index.add(pattern, rank_of(len(pattern), line))
    index.seal()
    matching = [
        rank_of(len(pattern), line)
        for line, pattern in enumerate(patterns, 1)
        if slow_match(pattern, path)
    ]
    found = index.find(path)
    assert found == max(matching, default=0)
    if found:
        # Among rules of one length, the first line; and a rule of that length is not above it.
        assert len(patterns[line_of(found) - 1]) == max(
            len(pattern) for pattern in patterns if slow_match(pattern, path)
        )
        assert index.find(path, just_below(found)) == found
        assert index.find(path, found) == 0


# Where Protego is right and both must agree: no "$" but at the end (it reads "$" at the end as a
# literal dollar sign as well, which no path here has), nothing to encode, no index.html.
rule_patterns = st.tuples(st.text("/ab*.", max_size=8), st.sampled_from(["", "$"])).map(
    lambda parts: "/" + "".join(parts)
)
rule_lines = st.tuples(st.sampled_from(["Allow", "Disallow"]), rule_patterns)


@settings(max_examples=500, deadline=None)
@given(st.lists(rule_lines, max_size=10), st.lists(paths, min_size=1, max_size=5))
def test_protego_agrees(lines, paths):
    text = "User-agent: *\n" + "".join(f"{field}: {value}\n" for field, value in lines)
    ours, theirs = RobotsRules.parse(text.encode()), Protego.parse(text)
    for path in paths:
        assert ours.allowed(f"http://h{path}", "x") == theirs.can_fetch(f"http://h{path}", "x")
