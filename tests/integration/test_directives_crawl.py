"""What pages say to robots, and what becomes of them: index, links, archive, crawl.log."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType

from tests.integration.scripted_server import Answer, ScriptedServer, page
from webcrawler.index import IndexReader
from webcrawler.sampleweb.files import pdf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.crawling import Crawls

EVERYTHING = {
    "CONTENTSEEN_ENABLED": True,
    "NEARDUP_ENABLED": True,
    "ANCHORS_ENABLED": True,
    "INDEX_ENABLED": True,
    "ARCHIVE_ENABLED": True,
}
HOST = "d.test"


def words(name: str, count: int = 60) -> str:
    """A text like no other, with the name's own word in it."""
    letters = (hashlib.sha256(f"{name}{n}".encode()).hexdigest() for n in range(count))
    # Digits are no words in an index of a language.
    return f"{word(name)} " + " ".join(text[:9].translate(_LETTERS) for text in letters)


def word(name: str) -> str:
    return "own" + hashlib.sha256(name.encode()).hexdigest()[:16].translate(_LETTERS)


_LETTERS = str.maketrans("0123456789", "ghijklmnop")


def meta(content: str, name: str = "robots") -> str:
    return f'<meta name="{name}" content="{content}">'


@dataclass(frozen=True)
class Case:
    """What a page says, and what follows from it."""

    head: str = ""
    headers: tuple[str, ...] = ()
    is_indexed: bool = True
    is_followed: bool = True
    is_archived: bool = True
    reason: str = ""
    content_type: str = "text/html; charset=utf-8"

    def answer(self, name: str, port: int) -> Answer:
        pairs = tuple(("X-Robots-Tag", value) for value in self.headers)
        if self.content_type.startswith("text/html"):
            shown = page(f"/{name}/next", head=self.head, text=words(name))
            return Answer(200, shown.body, pairs)
        if self.content_type == "application/pdf":
            body = pdf(name, [words(name)], f"http://{HOST}:{port}/{name}/next")
            return Answer(200, body, pairs, self.content_type)
        body = f"{words(name)}\nhttp://{HOST}:{port}/{name}/next\n".encode()
        return Answer(200, body, pairs, self.content_type)


def noindex(head: str = "", *headers: str, reason: str = "robots meta", **flags: bool) -> Case:
    return Case(head, headers, is_indexed=False, reason=reason, **flags)


BY_HEADER = "X-Robots-Tag"
CASES = {
    "nothing": Case(),
    "all": Case(meta("all")),
    "index-follow": Case(meta("INDEX,FOLLOW"), ("index, follow",)),
    "snippets": Case(meta("nosnippet, max-snippet:-1")),
    # meta
    "noindex": noindex(meta("noindex")),
    "nofollow": Case(meta("nofollow"), is_followed=False),
    "noarchive": Case(meta("noarchive"), is_archived=False),
    "nocache": Case(meta("nocache"), is_archived=False),
    "none": noindex(meta("none"), is_followed=False),
    "all-of-it": noindex(meta("noindex,nofollow,noarchive"), is_followed=False, is_archived=False),
    "noindex-noarchive": noindex(meta("noindex, noarchive"), is_archived=False),
    # as found in the wild
    "shouted": noindex('<META NAME="ROBOTS" CONTENT="  NoIndex ;NoArchive">', is_archived=False),
    "swapped": noindex("<meta content='noindex' name='robots'/>"),
    "unquoted": noindex("<meta name=robots content=noindex>"),
    "white-space": noindex(meta(" \n noindex \t nofollow"), is_followed=False),
    "two-tags": noindex(meta("noindex") + meta("nofollow"), is_followed=False),
    "contradiction": noindex(meta("index") + meta("noindex")),
    "in-the-body": noindex("</head><body><p>text</p>" + meta("noindex")),
    "no-directive": Case(meta("noindexing, noo")),
    "commented": Case(f"<!-- {meta('noindex')} -->"),
    # by name
    "ours": noindex(meta("noindex", "webcrawler")),
    "ours-shouted": noindex(meta("noindex", "WebCrawler")),
    "another": Case(meta("noindex", "googlebot")),
    "ours-and-all": noindex(meta("index", "webcrawler") + meta("noindex")),
    "all-and-ours": noindex(meta("nofollow") + meta("noindex", "webcrawler"), is_followed=False),
    # headers
    "header-noindex": noindex("", "noindex", reason=BY_HEADER),
    "header-nofollow": Case("", ("nofollow",), is_followed=False),
    "header-noarchive": Case("", ("NOARCHIVE",), is_archived=False),
    "header-none": noindex("", "none", reason=BY_HEADER, is_followed=False),
    "header-ours": noindex("", "webcrawler: noindex", reason=BY_HEADER),
    "header-another": Case("", ("otherbot: noindex, nofollow",)),
    "header-both": noindex(
        "", "otherbot: noarchive", "webcrawler: none", reason=BY_HEADER, is_followed=False
    ),
    "two-headers": noindex("", "noindex", "noarchive", reason=BY_HEADER, is_archived=False),
    "header-and-meta": noindex(
        meta("noindex"), "nofollow, noarchive", is_followed=False, is_archived=False
    ),
    "header-against-meta": noindex(meta("index, follow"), "noindex", reason=BY_HEADER),
    # until when
    "expired": noindex(meta("unavailable_after: 25 Jun 2010 15:00:00 GMT")),
    "expired-header": noindex("", "unavailable_after: 2010-06-25", reason=BY_HEADER),
    "expiring": Case(meta("unavailable_after: Friday, 25-Jun-2060 15:00:00 GMT")),
    # other types
    "text": Case(content_type="text/plain"),
    "text-noindex": Case(
        headers=("noindex",), is_indexed=False, reason=BY_HEADER, content_type="text/plain"
    ),
    "pdf": Case(content_type="application/pdf"),
    "pdf-noindex": Case(
        headers=("noindex, noarchive",),
        is_indexed=False,
        is_archived=False,
        reason=BY_HEADER,
        content_type="application/pdf",
    ),
    "text-none": Case(
        headers=("webcrawler: none, noarchive",),
        is_indexed=False,
        is_followed=False,
        is_archived=False,
        reason=BY_HEADER,
        content_type="text/plain",
    ),
}


@dataclass
class Directives:
    crawls: Crawls
    server: ScriptedServer

    def search(self, query: str) -> list[str]:
        return [hit.url for hit in IndexReader([self.crawls.job / "index"]).search(query, 50).hits]

    @property
    def archived(self) -> list[str]:
        """The URLs of the responses in the archive; of revisits too."""
        kinds = WarcRecordType.response | WarcRecordType.revisit
        return [
            record.headers["WARC-Target-URI"]
            for path in sorted((self.crawls.job / "warc").glob("*.warc.gz"))
            for record in ArchiveIterator(path.open("rb"), record_types=kinds, parse_http=False)
        ]


@pytest.fixture(scope="module")
def directives(make_crawls: Callable[[str], Crawls]) -> Iterator[Directives]:
    """One crawl of all of them, each linked from the front page by words of its own."""
    crawls = make_crawls("directives")
    with ScriptedServer() as server:
        links = []
        for name, case in CASES.items():
            server.script[HOST, f"/{name}"] = case.answer(name, server.port)
            server.script[HOST, f"/{name}/next"] = page(text=words(f"{name}/next"))
            links.append(f'<a href="/{name}">link{word(name)}</a>')
        server.script[HOST, "/"] = page(*links, text=words("front"))
        crawls.run(
            "web",
            server.url(HOST),
            ROBOTSTXT_OBEY=True,
            STATS_DUMP=True,
            content_types="html,text,pdf",
            **EVERYTHING,
        )
        yield Directives(crawls, server)


@pytest.mark.parametrize("name", CASES)
def test_what_becomes_of_a_page(directives: Directives, name: str) -> None:
    case, url = CASES[name], directives.server.url(HOST, f"/{name}")
    line = directives.crawls.ended(url)
    assert line["outcome"] == ("stored" if case.is_indexed else "noindex")
    assert line.get("reason", "") == case.reason
    assert directives.server.paths(HOST).count(f"/{name}/next") == int(case.is_followed)
    assert directives.search(word(name)) == ([url] if case.is_indexed else [])
    # Nor by the words of the link to it.
    assert (url in directives.search(f"link{word(name)}")) == case.is_indexed


def test_what_is_archived(directives: Directives) -> None:
    archived = directives.archived
    for name, case in CASES.items():
        count = archived.count(directives.server.url(HOST, f"/{name}"))
        assert count == int(case.is_archived), name


def test_they_are_counted(directives: Directives) -> None:
    count = sum(not case.is_indexed for case in CASES.values())
    assert directives.crawls.report["by_outcome"]["noindex"] == count
    assert f"'directives/noindex': {count}" in directives.crawls.commands[0].stderr


# -- links


def test_links_that_are_not_vouched_for(crawls: Crawls) -> None:
    rels = ["nofollow", "ugc", "sponsored", "NoFollow noopener", "noopener", "external", ""]
    links = [f'<a rel="{rel}" href="/{n}">link</a>' for n, rel in enumerate(rels)]
    links += ['<a rel="nofollow" href="/both">x</a>', '<a href="/both">y</a>']
    with ScriptedServer({(HOST, "/"): page(*links)}) as server:
        crawls.run("web", server.url(HOST))
        assert sorted(server.paths(HOST)) == ["/", "/4", "/5", "/6", "/both"]
        crawls.name = "followed"
        server.asked.clear()
        crawls.run("web", server.url(HOST), LINKS_FOLLOW_NOFOLLOW=True)
        assert sorted(server.paths(HOST)) == ["/", *(f"/{n}" for n in range(7)), "/both"]


# -- canonical


def canonical(url: str) -> str:
    return f'<link rel="canonical" href="{url}">'


@pytest.fixture(scope="module")
def named(make_crawls: Callable[[str], Crawls]) -> Iterator[Directives]:
    """Pages that name others."""
    crawls = make_crawls("canonical")
    copy = page(head=canonical("/same"), text=words("same"))
    script = {
        "/own": page(head=canonical("/own"), text=words("own")),
        "/own-by-fragment": page(head=canonical("#top"), text=words("own-by-fragment")),
        "/variant?sort=1": page(head=canonical("/main"), text=words("variant")),
        "/main": page("/from-main", text=words("main")),
        # The very same bytes under three names: one of them has to be found.
        "/same?a=1": copy,
        "/same?b=2": copy,
        "/same": copy,
        "/abroad": page(head=canonical("http://other.test:{port}/there"), text=words("abroad")),
        "/no-url": page(head=canonical("http://["), text=words("no-url")),
        "/mail": page(head=canonical("mailto:a@b.test"), text=words("mail")),
        "/nofollow": page(head=canonical("/never-put") + meta("nofollow"), text=words("nofollow")),
        "/private": Answer(200, copy.body, (("X-Robots-Tag", "noindex"),)),
        # Kept out by its header, while the same bytes elsewhere are not.
        "/printed": Answer(200, page(text=words("print")).body, (("X-Robots-Tag", "noindex"),)),
        "/x/print": page(text=words("print")),
        # The same bytes, not to be kept.
        "/secret": page(head=meta("noarchive"), text=words("secret")),
        "/x/secret": page(head=meta("noarchive"), text=words("secret")),
        "/x/tagged": page(text=words("tagged")),
        "/tagged": page(text=words("tagged"), X_Robots_Tag="noarchive"),
        # Two that name each other, and one whose canonical is not there.
        "/x/ping": page(head=canonical("/x/pong"), text=words("ping")),
        "/x/pong": page(head=canonical("/x/ping"), text=words("pong")),
        # Three in a circle, a fourth that leads into it, and one whose way ends at nothing.
        "/x/rock": page(head=canonical("/x/paper"), text=words("rock")),
        "/x/paper": page(head=canonical("/x/scissors"), text=words("paper")),
        "/x/scissors": page(head=canonical("/x/rock"), text=words("scissors")),
        "/x/well": page(head=canonical("/x/rock"), text=words("well")),
        "/gone": Answer(404),
        "/x/late": page(head=canonical("/gone"), text=words("late")),
    }
    with ScriptedServer({(HOST, path): answer for path, answer in script.items()}) as server:
        server.script["other.test", "/there"] = page(text=words("there"))
        first = [path for path in script if path not in ("/main", "/same") and "/x/" not in path]
        second = [path for path in script if path not in first and "/x/" in path]
        server.script[HOST, "/"] = page(*first, "/second")
        server.script[HOST, "/second"] = page(*second, text=words("second"))
        crawls.run("web", server.url(HOST), max_depth=3, **EVERYTHING)
        yield Directives(crawls, server)


def ended(named: Directives, path: str) -> tuple[str, str]:
    line = named.crawls.ended(named.server.url(HOST, path))
    return line["outcome"], line.get("of", "")


def test_a_page_that_names_itself(named: Directives) -> None:
    for name in ("own", "own-by-fragment"):
        assert ended(named, f"/{name}") == ("stored", "")
        assert named.search(word(name)) == [named.server.url(HOST, f"/{name}")]


def test_a_page_that_names_another(named: Directives) -> None:
    main = named.server.url(HOST, "/main")
    assert ended(named, "/variant?sort=1") == ("noindex", main)
    assert ended(named, "/main") == ("stored", "")
    assert named.server.paths(HOST).count("/main") == 1
    assert named.search(word("variant")) == []
    assert named.search(word("main")) == [main]
    line = named.crawls.ended(main)
    assert line["via"] == named.server.url(HOST, "/variant?sort=1")


def test_the_same_bytes_under_several_names_are_indexed_once(named: Directives) -> None:
    same = named.server.url(HOST, "/same")
    assert ended(named, "/same?a=1") == ("noindex", same)
    assert ended(named, "/same") == ("stored", "")
    assert named.search(word("same")) == [same]


def test_a_canonical_page_on_another_host(named: Directives) -> None:
    there = named.server.url("other.test", "/there")
    assert ended(named, "/abroad") == ("noindex", there)
    assert named.search(word("there")) == [there]


def test_a_canonical_page_that_is_none(named: Directives) -> None:
    for name in ("no-url", "mail"):
        assert ended(named, f"/{name}") == ("stored", "")


def test_a_canonical_page_that_is_never_fetched_leaves_the_page_in_its_place(
    named: Directives,
) -> None:
    assert ended(named, "/nofollow") == ("stored", "")
    assert "/never-put" not in named.server.paths(HOST)
    assert ended(named, "/x/late") == ("stored", "")
    assert named.search(word("late")) == [named.server.url(HOST, "/x/late")]


def test_of_two_that_name_each_other_one_is_indexed(named: Directives) -> None:
    outcomes = sorted(ended(named, path)[0] for path in ("/x/ping", "/x/pong"))
    assert outcomes == ["noindex", "stored"]


def test_of_a_circle_of_canonical_pages_one_is_indexed(named: Directives) -> None:
    names = ("rock", "paper", "scissors")
    assert sorted(ended(named, f"/x/{name}")[0] for name in names) == [
        "noindex",
        "noindex",
        "stored",
    ]
    (found,) = [url for name in names for url in named.search(word(name))]
    assert ended(named, found.removeprefix(named.server.url(HOST, "")))[0] == "stored"
    assert ended(named, "/x/well") == ("noindex", named.server.url(HOST, "/x/rock"))


def test_of_a_circle_met_over_restarts_the_last_is_indexed(crawls: Crawls) -> None:
    script = {
        "/": page(head=canonical("/b"), text="a"),
        "/b": page(head=canonical("/c"), text="b"),
        "/c": page(head=canonical("/"), text="c"),
    }
    with ScriptedServer({(HOST, path): answer for path, answer in script.items()}) as server:
        for pages in (1, 2, 3):
            crawls.run("site", server.url(HOST), max_pages=pages)
        assert [line["outcome"] for line in crawls.log] == ["noindex", "noindex", "stored"]


def test_a_canonical_page_whose_own_is_gone_leaves_the_page_in_its_place(crawls: Crawls) -> None:
    script = {
        "/": page("/a", head=canonical("/gone"), text="start"),
        "/gone": Answer(404),
        "/a": page("/b", text="a"),
        "/b": page(head=canonical("/"), text="b"),
    }
    with ScriptedServer({(HOST, path): answer for path, answer in script.items()}) as server:
        crawls.run("site", server.url(HOST))
        assert server.paths(HOST) == list(script)
        assert crawls.ended(server.url(HOST))["outcome"] == "noindex"
        assert crawls.ended(server.url(HOST, "/b"))["outcome"] == "stored"


def test_a_copy_that_may_be_indexed_is(named: Directives) -> None:
    assert ended(named, "/printed") == ("noindex", "")
    assert ended(named, "/x/print") == ("stored", "")
    assert named.search(word("print")) == [named.server.url(HOST, "/x/print")]


def test_a_copy_that_may_not_be_archived_is_not(named: Directives) -> None:
    archived = named.archived
    original = named.server.url(HOST, "/secret")
    assert ended(named, "/x/secret") == ("duplicate", original)
    assert [url for url in archived if "secret" in url] == []
    assert named.server.url(HOST, "/tagged") not in archived


def test_canonical_within_scope_and_depth(crawls: Crawls) -> None:
    """What is out of scope or too deep will not be fetched: then the page stands for itself."""
    script = {
        "/": page("/a", "/b"),
        "/a": page(head=canonical("http://other.test:{port}/there"), text="a"),
        "/b": page(head=canonical("/c"), text="b"),
    }
    with ScriptedServer({(HOST, path): answer for path, answer in script.items()}) as server:
        crawls.run("site", server.url(HOST), max_depth=1)
        assert {line["outcome"] for line in crawls.log} == {"stored"}
        assert sorted(server.paths(HOST)) == ["/", "/a", "/b"]
        assert server.paths("other.test") == []
