"""RobotsRules: Google's specification suite, and what it leaves out."""

from __future__ import annotations

import json
from datetime import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.suites import suite_path
from webcrawler.robots import RequestRate, RobotsRules, VisitTime

AGENT = "webcrawler"


def google_cases() -> list[dict]:
    return json.loads(suite_path("robots/google_spec_test.json").read_text("utf-8"))


def rules(text: str) -> RobotsRules:
    return RobotsRules.parse(text.encode())


class TestGoogleSuite:
    # No case is excepted: the STANDARD ones and the GOOGLE_SPECIFIC ones do not contradict.
    def test_every_case(self):
        cases = google_cases()
        assert sum(case["type"] == "STANDARD" for case in cases) == 378
        wrong = []
        for case in cases:
            robots = RobotsRules.parse(case["robots"].encode(case["robots_encoding"]))
            if robots.allowed(case["url"], case["agent"]) != case["allowed"]:
                wrong.append((case["file"], case["index"], case["url"], case["agent"]))
        assert wrong == []

    def test_explanations_agree(self):
        for case in google_cases():
            robots = RobotsRules.parse(case["robots"].encode(case["robots_encoding"]))
            decision = robots.explain(case["url"], case["agent"])
            assert decision.allowed == case["allowed"]
            assert (decision.rule is None) == (decision.line is None)


class TestGroups:
    def test_an_unknown_line_does_not_end_a_group(self):
        robots = rules("User-agent: webcrawler\nNoindex: /x\nFoo bar\nDisallow: /\n")
        assert not robots.allowed("http://h/a", AGENT)

    @pytest.mark.parametrize("line", ["Crawl-delay: 3", "Sitemap: http://h/s.xml", "Host: h"])
    def test_other_records_do_not_divide_user_agents(self, line):
        robots = rules(f"User-agent: webcrawler\n{line}\nUser-agent: other\nDisallow: /\n")
        assert not robots.allowed("http://h/a", AGENT)

    def test_the_token_is_compared_whole_and_without_case(self):
        robots = rules("User-agent: WebCrawler/2.0 (like all)\nDisallow: /\n")
        assert not robots.allowed("http://h/", AGENT)
        for other in ("web", "webcrawlers", "my-webcrawler", "crawler"):
            assert robots.allowed("http://h/", other)

    def test_groups_of_one_token_are_one_group(self):
        robots = rules(
            "User-agent: webcrawler\nDisallow: /a\n\nUser-agent: *\nDisallow: /\n\n"
            "User-agent: webcrawler\nDisallow: /b\n"
        )
        assert [robots.allowed(f"http://h/{page}", AGENT) for page in "abc"] == [False, False, True]

    def test_an_empty_group_of_our_own_frees_from_the_general_one(self):
        robots = rules("User-agent: *\nDisallow: /\nUser-agent: webcrawler\nDisallow:\n")
        assert robots.allowed("http://h/", AGENT)
        assert not robots.allowed("http://h/", "other")


class TestPaths:
    @pytest.mark.parametrize(
        ("rule", "url"),
        [
            ("/~joe/", "http://h/%7Ejoe/x"),
            ("/%7ejoe/", "http://h/~joe/x"),
            ("/a%2Ab", "http://h/a*b"),
            ("/a%24b", "http://h/a$b"),
            ("/a$b", "http://h/a$b"),
            ("/a b", "http://h/a%20b"),
            ("/caf\u00e9", "http://h/caf%c3%a9"),
            ("/caf%c3%a9", "http://h/caf\u00e9"),
            ("/x", "http://h/x?q"),
            ("/?q", "http://h?q=/a"),
            ("/a#comment", "http://h/abc"),
            ("*.pdf$", "http://h/a.pdf"),
            ("/a*$", "http://h/a/b"),
            ("/a**c", "http://h/abbbc"),
            ("/*/b/*/d$", "http://h/a/b/c/d/b/c/d"),
            ("/robots.txt", "http://h/robots.txt"),
        ],
    )
    def test_disallowed(self, rule, url):
        assert not rules(f"User-agent: *\nDisallow: {rule}\n").allowed(url, AGENT)

    @pytest.mark.parametrize(
        ("rule", "url"),
        [
            ("/a%2Fb", "http://h/a/b"),
            ("/a%3Fb", "http://h/a?b"),
            ("/a$", "http://h/a$"),
            ("/a$", "http://h/ab"),
            ("*.pdf$", "http://h/a.pdf?x"),
            ("/a*a$", "http://h/a"),
            ("/x", "http://h/X"),
            ("x", "http://h/x"),
            ("/b", "http://h/a#/b"),
            ("http://h/a", "http://h/a"),
        ],
    )
    def test_not_disallowed(self, rule, url):
        assert rules(f"User-agent: *\nDisallow: {rule}\n").allowed(url, AGENT)

    def test_where_the_two_readings_of_an_escape_differ_the_answer_is_no(self):
        text = "User-agent: *\nDisallow: /\nAllow: /%7Ejoe/\n"
        assert rules(text).allowed("http://h/%7ejoe/", AGENT)
        assert not rules(text).allowed("http://h/~joe/", AGENT)

    def test_a_needlessly_escaped_rule_keeps_its_written_length(self):
        robots = rules("User-agent: *\nAllow: /%7Ejoe/\nDisallow: /%7Ejoe/a\n")
        assert not robots.allowed("http://h/%7Ejoe/a", AGENT)

    def test_allow_wins_a_tie_and_length_wins_else(self):
        robots = rules("User-agent: *\nDisallow: /a/b\nAllow: /a/*\nAllow: /c\nDisallow: /c\n")
        assert robots.allowed("http://h/a/b", AGENT)
        assert robots.allowed("http://h/c", AGENT)
        assert not rules("User-agent: *\nAllow: /a\nDisallow: /a/\n").allowed("http://h/a/", AGENT)


class TestExplanations:
    TEXT = "# by hand\n\nUser-agent: *\nDisallow : /private\nAllow: /private/open\n"

    def test_the_line_that_decided(self):
        decision = rules(self.TEXT).explain("http://h/private/x", AGENT)
        assert not decision.allowed
        assert (decision.group, decision.line) == ("*", 4)
        assert decision.rule == "Disallow: /private"
        assert decision.reason == "disallow_rule"
        assert "line 4" in str(decision)

    def test_an_allow_that_decided(self):
        decision = rules(self.TEXT).explain("http://h/private/open/", AGENT)
        assert (decision.allowed, decision.line, decision.reason) == (True, 5, "allow_rule")

    def test_line_numbers_whatever_the_line_ends(self):
        for end in ("\r", "\r\n", "\n"):
            decision = rules(self.TEXT.replace("\n", end)).explain("http://h/private", AGENT)
            assert decision.line == 4

    @pytest.mark.parametrize(
        ("text", "reason", "group"),
        [
            ("User-agent: *\nDisallow: /x\n", "no_rule", "*"),
            ("User-agent: webcrawler\nDisallow: /x\n", "no_rule", "webcrawler"),
            ("User-agent: other\nDisallow: /\n", "no_group", None),
            ("", "no_lines", None),
            ("<!DOCTYPE html>\n<html><title>404</title></html>", "html", None),
        ],
    )
    def test_no_rule_decided(self, text, reason, group):
        decision = rules(text).explain("http://h/", AGENT)
        assert (decision.allowed, decision.reason, decision.group) == (True, reason, group)
        assert decision.rule is None

    def test_no_file(self):
        assert RobotsRules.allow_all().explain("http://h/", AGENT).reason == "unavailable"
        decision = RobotsRules.disallow_all().explain("http://h/", AGENT)
        assert (decision.allowed, decision.reason) == (False, "unreachable")
        assert not RobotsRules.disallow_all().allowed("http://h/", AGENT)

    paths = st.text("/ab*$%2A7E~? #\u00e9", max_size=12)
    lines = st.tuples(st.sampled_from(["Allow", "Disallow", "User-agent", "Foo"]), paths)

    @settings(max_examples=400, deadline=None)
    @given(st.lists(lines, max_size=12), st.lists(paths, min_size=1, max_size=5))
    def test_explain_and_allowed_are_one_answer(self, lines, paths):
        text = "User-agent: *\n" + "\n".join(f"{field}: {value}" for field, value in lines)
        robots = rules(text)
        for path in paths:
            url = f"http://h/{path}"
            decision = robots.explain(url, AGENT)
            assert decision.allowed == robots.allowed(url, AGENT)
            if decision.line is not None:
                field, _, value = text.split("\n")[decision.line - 1].partition(":")
                written = value.partition("#")[0].strip()
                assert decision.rule == f"{field}: {written}"
                assert (field == "Allow") == decision.allowed


class TestOtherValues:
    def test_delay_rate_and_time_of_our_group(self):
        robots = rules(
            "User-agent: *\nCrawl-delay: 9\nDisallow: /x\n"
            "User-agent: webcrawler\nCrawl-delay: 1.5\nRequest-rate: 1/10m 0600-0845\n"
            "Visit-time: 0600-0845\nDisallow:\n"
        )
        assert robots.crawl_delay(AGENT) == 1.5
        assert robots.crawl_delay("other") == 9.0
        assert robots.request_rate(AGENT) == RequestRate(1, 600, time(6), time(8, 45))
        assert robots.visit_time(AGENT) == VisitTime(time(6), time(8, 45))
        assert robots.request_rate("other") is None

    @pytest.mark.parametrize("value", ["-1", "nan", "inf", "soon", "", "9" * 5000])
    def test_a_delay_that_is_none(self, value):
        assert rules(f"User-agent: *\nCrawl-delay: {value}\n").crawl_delay(AGENT) is None

    def test_sitemaps_belong_to_no_group(self):
        robots = rules("Sitemap: http://h/1.xml\nUser-agent: x\nSitemap https://h/2.xml\n")
        assert robots.sitemaps == ("http://h/1.xml", "https://h/2.xml")

    def test_sitemaps_are_limited(self):
        robots = rules("Sitemap: http://h/1.xml\n" * 1500 + f"Sitemap: http://h/{'a' * 3000}\n")
        assert len(robots.sitemaps) == 1000
        assert "sitemaps_limit" in robots.problems
