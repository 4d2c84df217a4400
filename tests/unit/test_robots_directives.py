"""X-Robots-Tag and robots meta: the suite's cases, and headers as found in the wild."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.suites import suite_path
from webcrawler.robots import Directives, meta_pairs, parse_headers, parse_meta
from webcrawler.robots.directives import parse_time

NOW = datetime(2024, 1, 1, tzinfo=UTC)
PST = timezone(timedelta(hours=-8))


def suite() -> dict[str, list[dict]]:
    return json.loads(suite_path("robots/x_robots_tag_and_meta.json").read_text("utf-8"))


class TestSuite:
    # `googlebot*: noindex, follow` beside `nofollow` for all: that suite lets the special line
    # replace the general one; here they are combined, and the most restrictive wins.
    EXCEPTED = {(13, "may_follow")}

    def test_header_cases(self):
        wrong = set()
        for number, case in enumerate(suite()["x_robots_tag"]):
            fields = [header.partition(":") for header in case["headers"]]
            values = [value for name, _, value in fields if name.lower() == "x-robots-tag"]
            found = parse_headers(values, case["agent"] or "")
            if case["may_index"] not in (None, not found.forbids_index(NOW)):
                wrong.add((number, "may_index"))
            if case["may_follow"] not in (None, not found.nofollow):
                wrong.add((number, "may_follow"))
            assert set(case.get("directives", ())) <= set(found.names)
            if "unavailable_after_rfc850" in case:
                assert found.unavailable_after == parse_time(case["unavailable_after_rfc850"])
                assert found.unavailable_after is not None
        assert wrong == self.EXCEPTED

    def test_meta_cases(self):
        for case in suite()["robots_meta"]:
            found = parse_meta(meta_pairs(case["html"].encode()), "webcrawler")
            assert case["may_index"] in (None, not found.noindex)
            assert case["may_follow"] in (None, not found.nofollow)


class TestHeaders:
    @pytest.mark.parametrize(
        "value",
        [
            b"noindex, nofollow",
            "NOINDEX,NOFOLLOW",
            " noindex ; nofollow ",
            "noindex nofollow",
            "none",
            "follow, index, nofollow, noindex",
            "webcrawler: noindex, nofollow",
            "WebCrawler :none",
            "otherbot: all, webcrawler: none",
            "noindex: nofollow",
            "'noindex', nofollow.",
        ],
    )
    def test_neither_index_nor_follow(self, value):
        found = parse_headers([value], "webcrawler")
        assert (found.noindex, found.nofollow) == (True, True)

    @pytest.mark.parametrize(
        "values",
        [
            [],
            [""],
            ["all", "index, follow", "max-snippet:-1, max-image-preview:large"],
            ["otherbot: noindex, nofollow"],
            ["web: none", "webcrawler-images: none"],
            ["otherbot: unavailable_after: 01 Jul 2000 07:00:00 PST, noindex"],
            ["noindexing", "\xff\xfe", ",;,;:::", "unavailable_after"],
        ],
    )
    def test_nothing_asked(self, values):
        found = parse_headers(values, "webcrawler")
        assert not {"noindex", "nofollow", "none", "noarchive", "nosnippet"} & set(found.names)
        assert not found.forbids_index(NOW)
        assert not found.nofollow

    def test_every_directive(self):
        found = parse_headers(["noarchive", "nosnippet", "noimageindex, notranslate"], "x")
        assert found.names == ("noarchive", "noimageindex", "nosnippet", "notranslate")
        assert found.noarchive
        assert found.nosnippet
        assert found.noimageindex
        assert found.notranslate
        assert not found.noindex
        assert parse_headers(["nocache"], "x").noarchive

    @pytest.mark.parametrize(
        "date",
        [
            "Friday, 25 Jun 2010 15:00:00 PST",
            "Fri, 25 Jun 2010 15:00:00 -0800",
            "25 Jun 2010 15:00:00 PST",
            "Friday, 25-Jun-10 15:00:00 PST",
            "25-Jun-2010 15:00:00 PST",
            "2010-06-25T15:00:00-08:00",
            "2010-06-25 15:00:00 -0800",
            "2010-06-25T23:00:00Z",
            "2010-06-25 23:00:00 UTC",
            "2010-06-25 23:00:00",
            "25 Jun 2010 23:00:00",
        ],
    )
    @pytest.mark.parametrize(
        "form", ["unavailable_after: {}", "nofollow, Unavailable_After:{} , noarchive"]
    )
    def test_dates_with_and_without_commas(self, date, form):
        found = parse_headers([form.format(date)], "webcrawler")
        assert found.unavailable_after == datetime(2010, 6, 25, 15, tzinfo=PST)
        assert found.noarchive == ("noarchive" in form)
        assert found.forbids_index(NOW)
        assert not found.forbids_index(datetime(2010, 6, 25, 22, 59, tzinfo=UTC))

    def test_a_day_without_a_time(self):
        for date in ("2010-06-25", "25 Jun 2010"):
            found = parse_headers([f"unavailable_after: {date}"], "x")
            assert found.unavailable_after == datetime(2010, 6, 25, tzinfo=UTC)

    @pytest.mark.parametrize("date", ["", "soon", "Friday, 99 Foo 2010", "9999-99-99", "1" * 99])
    def test_a_date_that_is_none_has_no_effect_and_is_said(self, date):
        found = parse_headers([f"unavailable_after: {date}, nofollow"], "x")
        assert found.unavailable_after is None
        assert found.problems == ("bad_date",)
        assert found.nofollow

    def test_limits(self):
        assert parse_headers(["x" * 9999], "x").problems == ("long_value",)
        found = parse_headers(["noindex"] + ["all"] * 1000, "x")
        assert found.noindex
        assert found.problems == ("too_many",)

    @settings(deadline=None)
    @given(st.lists(st.text("noidexflw,;: *x25JUT-+", max_size=40) | st.binary(max_size=20)))
    def test_anything_is_read(self, values):
        assert isinstance(parse_headers(values, "x"), Directives)


class TestMeta:
    def test_names(self):
        pairs = [("ROBOTS ", "NoArchive"), ("WebCrawler", "nosnippet"), ("otherbot", "none")]
        found = parse_meta(pairs, "webcrawler")
        assert found.names == ("noarchive", "nosnippet")

    def test_a_crawlers_name_in_the_content_means_nothing(self):
        assert parse_meta([("robots", "otherbot: noindex, nofollow")], "x").noindex

    def test_no_agent_is_no_name(self):
        assert parse_meta([("", "noindex")], "") == Directives()


names = st.sampled_from(["noindex", "nofollow", "noarchive", "all", "nosnippet", "none"])
dates = st.sampled_from(["2010-06-25", "25 Jun 2030 15:00:00 PST", "2040-01-01T00:00:00Z"])
values = names | dates.map(lambda date: f"unavailable_after: {date}")
found = st.lists(values, max_size=4).map(lambda values: parse_headers(values, "x"))


class TestMerge:
    @settings(deadline=None)
    @given(found, found, found)
    def test_most_restrictive(self, first, second, third):
        merged = first.merge(second)
        assert merged == second.merge(first)
        assert merged.merge(third) == first.merge(second.merge(third))
        assert merged.merge(first) == merged
        for flag in ("noindex", "nofollow", "noarchive", "nosnippet"):
            assert getattr(merged, flag) == (getattr(first, flag) or getattr(second, flag))
        assert merged.forbids_index(NOW) == (first.forbids_index(NOW) or second.forbids_index(NOW))

    @settings(deadline=None)
    @given(st.lists(values, max_size=5))
    def test_one_header_or_several(self, values):
        together = Directives()
        for value in values:
            together = together.merge(parse_headers([value], "x"))
        assert together == parse_headers(values, "x")
        assert together == parse_headers([", ".join(values)], "x")
