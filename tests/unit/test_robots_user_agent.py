from __future__ import annotations

import pytest

from webcrawler.robots import product_token
from webcrawler.robots.user_agent import line_token


@pytest.mark.parametrize(
    ("user_agent", "token"),
    [
        ("webcrawler/0.1 (+https://example.org/bot)", "webcrawler"),
        ("WebCrawler", "WebCrawler"),
        ("  my_web-crawler 2", "my_web-crawler"),
        ("AB42bot/1", "AB"),
        ("Mozilla/5.0 (compatible; Webcrawler/2.1; +http://example.org)", "Webcrawler"),
        ("Mozilla/5.0 (X11; Linux x86_64)", "Mozilla"),
        ("360spider", ""),
        ("", ""),
    ],
)
def test_product_token(user_agent, token):
    assert product_token(user_agent) == token


@pytest.mark.parametrize(
    ("value", "token"),
    [
        (b"*", "*"),
        (b"* (all)", "*"),
        (b"*bot", ""),
        (b"Foo Bar", "foo"),
        (b"foo/1.2", "foo"),
        (b"foo*", "foo"),
        (b"\xff", ""),
        (b"", ""),
    ],
)
def test_line_token(value, token):
    assert line_token(value) == token


def test_a_crawler_obeys_the_line_that_repeats_its_name():
    for name in ("webcrawler", "AB42bot", "web-crawler_x/2.0"):
        assert line_token(name.encode()) == product_token(name).lower()
