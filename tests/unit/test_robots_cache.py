"""Entries as bytes, and the cache of rules in front of the store."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webcrawler.robots import (
    TABLE,
    EntryKind,
    RobotsCache,
    RobotsEntry,
    RobotsFetch,
    authority_of,
    decide,
    robots_url,
)
from webcrawler.tables import Batch, MemoryTables

NOW = 1_700_000_000.0
times = st.floats(0, 1e10)
entries = st.builds(
    RobotsEntry,
    st.sampled_from(EntryKind),
    times,
    times,
    st.none() | times,
    st.integers(0, 999),
    st.text("ab \u00e9", max_size=20),
    st.lists(st.sampled_from(["html", "nul", "utf16"]), unique=True).map(tuple),
    st.binary(max_size=200),
)


class TestEntry:
    @settings(deadline=None)
    @given(entries)
    def test_packed_and_unpacked(self, entry):
        assert RobotsEntry.unpack(entry.pack()) == entry

    @settings(deadline=None)
    @given(entries, st.data())
    def test_damaged_bytes_are_no_entry(self, entry, data):
        raw = entry.pack()
        cut = data.draw(st.integers(0, len(raw) - 1))
        assert RobotsEntry.unpack(raw[:cut]) is None

    @settings(deadline=None)
    @given(st.binary(max_size=100))
    def test_any_bytes_are_an_entry_or_none(self, raw):
        for candidate in (raw, b"\x01" + raw):
            entry = RobotsEntry.unpack(candidate)
            assert entry is None or math.isfinite(entry.expires_at)

    def test_another_version_is_no_entry(self):
        raw = RobotsEntry(EntryKind.ALLOW_ALL, NOW, NOW).pack()
        assert RobotsEntry.unpack(b"\x02" + raw[1:]) is None

    def test_long_texts_are_cut(self):
        entry = RobotsEntry(EntryKind.DISALLOW_ALL, NOW, NOW, status=-5, detail="x" * 999)
        unpacked = RobotsEntry.unpack(entry.pack())
        assert unpacked is not None
        assert (unpacked.detail, unpacked.status) == ("x" * 255, 0)

    def test_repeated_rules_are_small_in_the_store(self):
        body = b"".join(b"User-agent: bot\nDisallow: /folder/%d/\n" % n for n in range(5000))
        entry = decide(None, RobotsFetch(200, body=body), NOW)
        assert len(entry.pack()) < len(body) / 5

    def test_a_fetch_in_the_future_is_not_fresh(self):
        assert not RobotsEntry(EntryKind.RULES, NOW + 9999, NOW + 99999).is_fresh(NOW)


class TestAuthority:
    @pytest.mark.parametrize(
        ("url", "authority", "robots"),
        [
            ("https://h.example/a?b#c", "https://h.example:443", "https://h.example/robots.txt"),
            ("http://h.example", "http://h.example:80", "http://h.example/robots.txt"),
            ("http://h:8080/", "http://h:8080", "http://h:8080/robots.txt"),
            ("https://h:80/", "https://h:80", "https://h:80/robots.txt"),
            ("HTTP://H/", "http://h:80", "http://h/robots.txt"),
            ("http://me:pw@h:81/@x", "http://h:81", "http://h:81/robots.txt"),
            ("http://[::1]/", "http://[::1]:80", "http://[::1]/robots.txt"),
            ("http://[::1]:8080/", "http://[::1]:8080", "http://[::1]:8080/robots.txt"),
            ("http://h?x=/y:z", "http://h:80", "http://h/robots.txt"),
        ],
    )
    def test_authority(self, url, authority, robots):
        assert authority_of(url) == authority
        assert robots_url(authority) == robots

    def test_anything_has_one(self):
        for url in ("", "://", "x", "http://", "http://:/"):
            assert robots_url(authority_of(url)).endswith("/robots.txt")


def entry_at(now: float, path: str = "/x") -> RobotsEntry:
    return decide(None, RobotsFetch(200, body=f"User-agent: *\nDisallow: {path}\n".encode()), now)


class TestCache:
    def test_what_is_put_is_in_memory_at_once_and_in_the_store_with_the_commit(self):
        tables, batch = MemoryTables(), Batch()
        cache = RobotsCache(1 << 20, tables.table(TABLE))
        robots = cache.put("http://h:80", entry_at(NOW), batch)
        assert cache.get("http://h:80", NOW) is robots
        assert RobotsCache(1 << 20, tables.table(TABLE)).get("http://h:80", NOW) is None
        tables.commit(batch)
        reopened = RobotsCache(1 << 20, tables.table(TABLE)).get("http://h:80", NOW)
        assert reopened is not None
        assert reopened.entry == robots.entry
        assert not reopened.rules.allowed("http://h/x", "webcrawler")

    def test_rules_are_parsed_once(self):
        tables, batch = MemoryTables(), Batch()
        RobotsCache(0).put("http://h:80", entry_at(NOW), batch)
        tables.commit(batch)
        cache = RobotsCache(1 << 20, tables.table(TABLE))
        assert cache.peek("http://h:80") is None
        assert cache.get("http://h:80", NOW) is cache.get("http://h:80", NOW)

    def test_a_stale_entry_is_replaced_by_what_another_worker_fetched(self):
        tables, batch = MemoryTables(), Batch()
        cache = RobotsCache(1 << 20, tables.table(TABLE))
        old = cache.put("http://h:80", entry_at(NOW), Batch())
        later = NOW + 90_000
        # Nobody has: the stale one is given, for the caller to refetch.
        assert cache.get("http://h:80", later) is old
        other = RobotsCache(1 << 20, tables.table(TABLE))
        other.put("http://h:80", entry_at(later, "/y"), batch)
        tables.commit(batch)
        found = cache.get("http://h:80", later)
        assert found is not None
        assert not found.rules.allowed("http://h/y", "webcrawler")

    def test_an_older_value_from_the_store_does_not_replace_a_newer_one(self):
        cache = RobotsCache(1 << 20)
        new = cache.put("http://h:80", entry_at(NOW + 5), Batch())
        assert cache.load("http://h:80", entry_at(NOW).pack()) is new
        assert cache.load("http://h:80", None) is new
        assert cache.load("http://h:80", b"damaged") is new
        assert cache.load("http://other:80", b"damaged") is None

    def test_memory_is_bounded_and_the_least_used_leaves(self):
        size = entry_at(NOW).rules().size
        cache = RobotsCache(3 * size)
        for name in "abc":
            cache.put(name, entry_at(NOW), Batch())
        assert cache.peek("a") is not None
        cache.put("d", entry_at(NOW), Batch())
        assert [cache.peek(name) is not None for name in "abcd"] == [True, False, True, True]
        assert (len(cache), cache.size) == (3, 3 * size)
        cache.put("d", entry_at(NOW), Batch())
        assert cache.size == 3 * size

    def test_rules_larger_than_the_cache_are_answered_but_not_kept(self):
        cache = RobotsCache(100)
        robots = cache.put("a", entry_at(NOW), Batch())
        assert not robots.rules.allowed("http://a/x", "webcrawler")
        assert (len(cache), cache.size) == (0, 0)
