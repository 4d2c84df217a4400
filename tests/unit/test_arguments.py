"""Spider arguments: each wrong one is refused with a sentence that shows the right form."""

from __future__ import annotations

import io

import pytest

from webcrawler.exceptions import ArgumentError
from webcrawler.spiders.arguments import Arguments, likely_typos
from webcrawler.spiders.site import SiteSpider


def test_everything_at_once():
    made = Arguments.parse(
        {
            "seeds": "https://a.test/x, b.test ,",
            "max_pages": "10",
            "max_depth": "0",
            "max_seconds": "1.5",
            "allow": "/docs/",
            "deny": r"\.php$",
            "content_types": "html,application/pdf",
            "job": "monday-1",
            "whole_domain": "yes",
        }
    )
    assert made.seeds == ("https://a.test/x", "https://b.test/")
    assert (made.max_pages, made.max_depth, made.max_seconds) == (10, 0, 1.5)
    assert made.allow[0].search("https://a.test/docs/1")
    assert made.deny[0].search("https://a.test/1.php")
    assert made.content_types == {"text/html", "application/xhtml+xml", "application/pdf"}
    assert made.job == "monday-1"
    assert made.whole_domain


def test_what_is_not_said_is_no_limit():
    made = Arguments.parse({})
    assert made == Arguments()
    assert made.max_depth is None


def test_seeds_from_a_file_with_comments_and_a_byte_order_mark(tmp_path):
    path = tmp_path / "seeds.txt"
    path.write_bytes(b"\xef\xbb\xbfa.test\n# no\n\n  http://b.test/x  \r\n")
    made = Arguments.parse({"seeds": f"@{path}"})
    assert made.seeds == ("https://a.test/", "http://b.test/x")


def test_seeds_from_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("a.test\nb.test\n"))
    assert Arguments.parse({"seeds": "-"}).seeds == ("https://a.test/", "https://b.test/")


@pytest.mark.parametrize(
    ("types", "mime", "is_wanted"),
    [
        ("html", "application/xhtml+xml", True),
        ("html", "text/plain", False),
        ("sitemap", "application/x-sitemap+xml", True),
        ("feed", "application/atom+xml", True),
        ("image/*", "image/png", True),
        ("image/*", "imagery/png", False),
        ("image/*", "text/html", False),
    ],
)
def test_what_is_collected(types: str, mime: str, is_wanted: bool) -> None:
    assert Arguments.parse({"seeds": "a.test", "content_types": types}).wants(mime) is is_wanted


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("seeds", "not a url", "seeds=https://example.org/"),
        ("seeds", "a.test,ftp://b.test/", "seeds=https://example.org/"),
        ("seeds", "@/no/such/file", "seeds=@urls.txt"),
        ("seeds", " , ", "seeds=https://example.org/"),
        ("seeds", 7, "seeds=https://example.org/"),
        ("max_pages", "many", "1000"),
        ("max_pages", "-1", "1000"),
        ("max_pages", "1.5", "1000"),
        ("max_depth", "", "3"),
        ("max_seconds", "nan", "3600"),
        ("allow", "(", "allow=/docs/"),
        ("deny", "*", "deny=/docs/"),
        ("content_types", "pictures", "text/html"),
        ("content_types", "", "at least one"),
        ("job", "../up", "job=monday"),
        ("job", "a/b", "job=monday"),
        ("whole_domain", "perhaps", "whole_domain=yes"),
    ],
)
def test_wrong_ones_show_the_right_form(name, value, shown):
    with pytest.raises(ArgumentError) as caught:
        Arguments.parse({name: value})
    sentence = str(caught.value)
    assert name in sentence
    assert shown in sentence
    assert "\n" not in sentence


def test_likely_typos():
    assert likely_typos(["max_page", "seed", "_job", "colour"]) == {
        "max_page": "max_pages",
        "seed": "seeds",
    }


def test_seed_where_seeds_is_meant():
    with pytest.raises(ArgumentError, match=r"argument seed='a\.test' .* was seeds meant\?"):
        SiteSpider(seed="a.test")
    with pytest.raises(ArgumentError, match=r"argument seeds='' .* -a seeds=example\.org"):
        SiteSpider(colour="red")
