"""The sample web itself: made from numbers alone, and true to what it says about itself."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
import sys
import zlib
from collections import Counter
from xml.etree import ElementTree

import ada_url
import pypdfium2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from protego import Protego
from resiliparse.parse.html import HTMLTree

from webcrawler.items import Link
from webcrawler.sampleweb import SampleWeb, kinds
from webcrawler.sampleweb.recipe import PAGE_FRACTIONS, ROBOTS_KINDS
from webcrawler.sampleweb.truth import FOLLOWED
from webcrawler.sampleweb.vocabulary import LANGUAGES, table

WEB = SampleWeb(seed=7, hosts=28, pages=600, port=8080)
TRUTH = WEB.truth()


def digest(web: SampleWeb) -> str:
    """One digest over everything that a web answers and says about itself."""
    whole = hashlib.sha256()
    truth = web.truth()
    whole.update(json.dumps(truth.as_json(), sort_keys=True).encode())
    for host in web.host_names:
        for target in ("/robots.txt", "/sitemap.xml", "/sitemap-index.xml", "/nothing"):
            whole.update(repr(web.respond(host, target)).encode())
    for url in truth.resources:
        host, target = split(url)
        whole.update(repr(web.respond(host, target, attempt=1)).encode())
    return whole.hexdigest()


def split(url: str) -> tuple[str, str]:
    """Host name and target of a URL of a sample web."""
    authority, _, rest = url.removeprefix("http://").partition("/")
    return authority.partition(":")[0], "/" + rest


def body(url: str) -> bytes:
    return WEB.respond(*split(url), attempt=99).body


def of_kind(kind: str) -> list[str]:
    urls = [url for url, resource in TRUTH.resources.items() if resource.kind == kind]
    assert urls, f"no {kind} page in the web under test"
    return urls


# Determinism


def test_the_same_numbers_make_the_same_web_in_any_process_and_version():
    # A changed digest means that existing seeds now make other webs: change it on purpose only.
    assert digest(SampleWeb(seed=3, hosts=15, pages=120, port=8080, traps=1)) == PINNED


PINNED = "7609d1f64b1aea8417c3eb550955e6f5e52b78821c5dac16d2e46df6a728ed66"


@pytest.mark.parametrize("hash_seed", ["0", "1", "4242"])
def test_string_hashing_has_no_influence(hash_seed):
    program = (
        "from tests.unit.test_sampleweb_web import digest; from webcrawler.sampleweb import *;"
        "print(digest(SampleWeb(seed=5, hosts=15, pages=80)))"
    )
    process = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout.strip() == digest(SampleWeb(seed=5, hosts=15, pages=80))


def test_another_seed_makes_another_web():
    assert digest(SampleWeb(seed=1, hosts=5, pages=40)) != digest(
        SampleWeb(seed=2, hosts=5, pages=40)
    )


def test_the_port_changes_urls_only():
    moved = WEB.at(9090)
    assert moved.at(8080) == WEB
    assert moved.host_names == WEB.host_names
    assert moved.seed_urls[0] == WEB.seed_urls[0].replace(":8080", ":9090")
    assert WEB.at(80).seed_urls[0] == WEB.seed_urls[0].replace(":8080", "")
    host = WEB.host_names[0]
    assert moved.respond(host, "/").body.replace(b":9090", b":8080") == WEB.respond(host, "/").body


# Shape


def test_every_page_is_found_under_its_url_and_nowhere_else():
    urls = [WEB.graph.url(place) for place in WEB.places()]
    assert len(set(urls)) == WEB.pages == sum(WEB.plan.sizes)
    for place, url in zip(WEB.places(), urls, strict=True):
        assert WEB.plan.find(place.host, split(url)[1]) == place
    assert WEB.respond(WEB.host_names[0], "/news/nothing-1.html").status == 404
    assert WEB.respond("elsewhere.test", "/").status == 421


def test_hosts_are_of_equal_size_without_skew():
    assert set(SampleWeb.plain(hosts=7, pages=100).plan.sizes) == {14, 15}
    sizes = SampleWeb.plain(hosts=7, pages=700, host_skew=1.0).plan.sizes
    assert sizes[0] > 5 * sizes[-1]
    assert sum(sizes) == 700


def test_few_pages_have_most_of_the_links():
    web = SampleWeb.plain(hosts=10, pages=2000)
    counts = Counter(link.url for links in web.truth().links.values() for link in links)
    degrees = sorted(counts.values(), reverse=True)
    assert sum(degrees[:200]) > 0.35 * sum(degrees)
    assert len(degrees) == 2000  # everybody is linked


def test_a_plain_web_has_only_good_pages_and_all_are_reachable():
    web = SampleWeb.plain(seed=2, hosts=6, pages=150)
    truth = web.truth()
    assert len(truth.resources) == 150
    assert {resource.kind for resource in truth.resources.values()} == {kinds.HTML}
    assert set(truth.statuses.values()) == {200}
    assert len(truth.reachable()) == 150
    assert not truth.duplicates
    assert not truth.near_duplicates
    assert {
        rel for links in truth.links.values() for link in links for rel in link.rel.split()
    } <= {"noopener"}
    assert all(web.respond(host, "/robots.txt").status == 404 for host in web.host_names)


def test_a_large_plain_web_costs_nothing_until_it_is_asked():
    web = SampleWeb.plain(hosts=1000, pages=50_000_000)
    url = web.links_at(web.seed_urls[0])[0].url
    assert web.respond(*split(url)).status == 200
    assert not web.plan._special


@pytest.mark.parametrize(("name", "kind"), PAGE_FRACTIONS.items())
def test_each_feature_can_be_switched_off_and_on(name, kind):
    def kinds_of(web: SampleWeb) -> set[str]:
        return {web.plan.kind(place) for place in web.places()}

    assert kind in kinds_of(WEB)
    assert kind not in kinds_of(SampleWeb(seed=7, hosts=28, pages=600, **{name: 0.0}))
    assert kinds_of(SampleWeb.plain(hosts=3, pages=60, **{name: 0.1})) == {kinds.HTML, kind}


def test_a_small_web_with_all_features_still_has_good_pages():
    web = SampleWeb(hosts=2, pages=12)
    good = [place for place in web.places() if web.plan.kind(place) == kinds.HTML]
    assert len(good) >= 4
    assert web.truth().reachable()


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"hosts": 0}, "hosts=0"),
        ({"hosts": 10, "pages": 9}, "pages=9"),
        ({"redirects": 1.5}, "redirects=1.5"),
        ({"robots": ("maybe",)}, "maybe"),
        ({"sitemaps": ()}, "sitemaps"),
        ({"languages": ("tlh",)}, "tlh"),
        ({"seeds": 99}, "seeds=99"),
        ({"traps": -1}, "traps=-1"),
        ({"port": 0}, "port=0"),
        ({"words": -5}, "words=-5"),
        ({"slow_secs": float("nan")}, "slow_secs"),
        ({"fanout": 0}, "fanout=0"),
        ({"overlaps": (1.0,)}, "overlaps"),
        ({"domains": ("Sample.test",)}, "domains"),
    ],
)
def test_wrong_numbers_are_refused_with_a_sentence(changes, word):
    with pytest.raises(ValueError, match=word):
        SampleWeb(**changes)


def test_several_domains_and_addresses():
    web = SampleWeb(hosts=4, pages=20, domains=("one.test", "two.test"))
    assert [name.partition(".")[2] for name in web.host_names] == ["one.test", "two.test"] * 2
    assert web.dns() == {"*.one.test": "127.0.0.1", "*.two.test": "127.0.0.1"}
    assert list(web.dns(("127.0.0.1", "127.0.0.2")).items()) == list(
        zip(web.host_names, ["127.0.0.1", "127.0.0.2"] * 2, strict=True)
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_can_be_written_in_every_encoding(language):
    words = set(table(language))
    assert len(words) > 400
    for word in words:
        assert word.isalpha()
        assert word == word.lower()
        for encoding in (*kinds.ENCODINGS, *kinds.WRONG_CHARSETS):
            word.encode(encoding.codec)


@settings(max_examples=300)
@given(st.text(max_size=60), st.integers(0, 5))
def test_no_target_raises(target, attempt):
    for host in (WEB.host_names[0], WEB.host_names[1], target):
        assert WEB.respond(host, "/" + target, attempt).status in range(1000)
    WEB.resource("http://" + WEB.host_names[0] + ":8080/" + target.replace("[", ""))


FRACTIONS = st.sampled_from([0.0, 0.05, 0.3, 1.0])


@settings(max_examples=60, deadline=None)
@given(
    st.integers(),
    st.integers(1, 6),
    st.integers(0, 60),
    st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys((*PAGE_FRACTIONS, "cross_host", "nofollow_links"), FRACTIONS),
            "words": st.integers(0, 40),
            "links": st.integers(0, 20),
            "max_links": st.integers(0, 100),
            "fanout": st.integers(1, 20),
            "host_skew": st.floats(0, 5),
            "odd_links": st.booleans(),
            "overlaps": st.lists(st.floats(0.01, 0.99), min_size=1, max_size=4).map(tuple),
            "languages": st.sampled_from([("en",), ("fr", "de")]),
        },
    ),
)
def test_any_recipe_makes_a_web_that_is_what_it_says(seed, hosts, more, changes):
    web = SampleWeb(seed=seed, hosts=hosts, pages=hosts + more, **changes)
    truth = web.truth()
    assert set(truth.reachable()) <= set(truth.resources)
    for url, resource in truth.resources.items():
        response = web.respond(*split(url), attempt=resource.failures)
        assert (response.status, response.content_type) == (resource.status, resource.content_type)
    for urls in truth.duplicates:
        assert len({web.respond(*split(url)).body for url in urls}) == 1
    assert all(0 <= pair.jaccard <= 1 for pair in truth.near_duplicates)


# Links: what a browser's parser finds is what the truth says

FINDERS = "a[href], area[href], iframe[src], link[href], img[src], meta[http-equiv]"


def found_links(url: str, text: str) -> list[Link]:
    tree = HTMLTree.parse(text)
    bases = tree.document.query_selector_all("base[href]")
    base = bases[0]["href"] if bases else url
    found = []
    for node in tree.document.query_selector_all(FINDERS):
        if node.tag == "meta":
            if node["http-equiv"].lower() == "refresh":
                found.append(Link(ada(node["content"].partition("url=")[2], base), kind="refresh"))
            continue
        target = node.getattr("href") or node.getattr("src")
        anchor = " ".join(node.text.split()) if node.tag == "a" else ""
        images = node.query_selector_all("img[alt]") if node.tag == "a" else []
        anchor = images[0]["alt"] if images else node.getattr("alt") or anchor
        rel = " ".join((node.getattr("rel") or "").split())
        found.append(Link(ada(target, base), anchor, rel, node.tag))
    return found


def ada(url: str, base: str) -> str:
    return ada_url.join_url(base, url).partition("#")[0]


def decoded(url: str) -> str:
    raw = body(url)
    resource = TRUTH.resources[url]
    if resource.kind in (kinds.ENCODED, kinds.WRONG_CHARSET):
        place = WEB.plan.find(WEB.plan.numbers[split(url)[0]], split(url)[1])
        encoding = WEB._pages.encoding(resource.kind, WEB.plan.turn(place))
        return raw.removeprefix(encoding.mark).decode(encoding.codec)
    return raw.decode()


@pytest.mark.parametrize(
    "kind", sorted(kinds.LINKING | kinds.COPIES | {kinds.REFRESH, kinds.TRUNCATED})
)
def test_a_browser_finds_exactly_the_links_that_the_truth_tells(kind):
    for url in of_kind(kind):
        assert tuple(found_links(url, decoded(url))) == TRUTH.links.get(url, ()), url


def test_urls_are_written_in_many_ways():
    pages = b"\n".join(body(url) for url in of_kind(kinds.HTML))
    for written in (b'"../', b'href="/x/..', b'"//', b'#part"', b'"HTTP://', b'" /', b"<base"):
        assert written in pages


def test_all_links_are_normal_urls():
    for links in TRUTH.links.values():
        for link in links:
            assert ada_url.normalize_url(link.url) == link.url


def test_words_are_those_that_a_browser_shows():
    for url in of_kind(kinds.HTML) + of_kind(kinds.NEAR_DUPLICATE):
        shown = HTMLTree.parse(decoded(url)).body.text.lower().replace(".", " ").split()
        assert shown == list(WEB.words_at(url)), url


def test_nicknames_stand_in_anchors_only():
    assert TRUTH.nicknames
    for nickname, url in TRUTH.nicknames.items():
        assert nickname.encode() not in body(url)
        pointing = [
            link
            for links in TRUTH.links.values()
            for link in links
            if link.url == url and link.kind == "a"
        ]
        assert pointing
        assert {link.text for link in pointing} == {nickname}


# Copies


def test_exact_duplicates_are_all_told():
    groups: dict[bytes, set[str]] = {}
    for url, resource in TRUTH.resources.items():
        if resource.status == 200 and resource.kind != kinds.SITEMAP:
            groups.setdefault(body(url), set()).add(url)
    same = {frozenset(urls) for urls in groups.values() if len(urls) > 1}
    assert same == {frozenset(urls) for urls in TRUTH.duplicates}
    assert len({split(url)[0] for urls in TRUTH.duplicates for url in urls}) > 1
    assert any("PHPSESSID" in url for urls in TRUTH.duplicates for url in urls)


def test_near_duplicates_are_as_similar_as_asked_for():
    asked = {
        url: WEB.overlaps[turn % len(WEB.overlaps)]
        for turn, url in enumerate(
            WEB.graph.url(place)
            for place, (kind, _) in WEB.plan._special.items()
            if kind == kinds.NEAR_DUPLICATE
        )
    }
    checked = 0
    for first, second, jaccard in TRUTH.near_duplicates:
        if TRUTH.resources[first].kind == kinds.HTML and second in asked:
            assert jaccard == pytest.approx(asked[second], abs=0.05)
            checked += 1
        elif TRUTH.resources[second].kind == kinds.CANONICAL:
            assert jaccard == 1.0
            assert body(first) != body(second)
            assert TRUTH.resources[second].canonical == first
    assert checked == len(asked) > 10


def test_jaccard_is_the_share_of_common_shingles():
    pair = next(pair for pair in TRUTH.near_duplicates if 0.8 < pair.jaccard < 1)
    runs = []
    for url in pair[:2]:
        words = WEB.words_at(url)
        runs.append({" ".join(words[i : i + 4]) for i in range(len(words) - 3)})
    assert pair.jaccard == len(runs[0] & runs[1]) / len(runs[0] | runs[1])


# Other types


def test_files_are_valid():
    seen = set()
    for url in of_kind(kinds.FILE):
        raw, kind = body(url), TRUTH.types[url]
        seen.add(kind)
        links = TRUTH.links.get(url, ())
        if kind == "application/pdf":
            document = pypdfium2.PdfDocument(raw)
            text = document[0].get_textpage().get_text_bounded()
            assert len(text.split()) > 20
            assert links[0].url.encode() in raw
            document.close()
        elif kind.endswith("+xml"):
            assert links
            assert {link.url for link in links} <= {
                value
                for element in ElementTree.fromstring(raw).iter()
                for value in (element.text, element.get("href"))
            }
        elif kind == "image/png":
            start = raw.index(b"IDAT") + 4
            size = int.from_bytes(raw[start - 8 : start - 4], "big")
            assert len(zlib.decompress(raw[start : start + size])) == 8 * 9
            assert raw[start + size : start + size + 4] == zlib.crc32(
                raw[start - 4 : start + size]
            ).to_bytes(4, "big")
        elif kind == "text/plain":
            assert links[0].url in raw.decode()
    assert len(seen) == len(kinds.FILES)


def test_xhtml_is_well_formed():
    for url in of_kind(kinds.XHTML):
        assert ElementTree.fromstring(body(url)).tag.endswith("html")


def test_sitemaps_list_all_pages_of_their_host():
    seen = set()
    for host in WEB.host_names:
        listed: list[str] = []
        waiting = list(WEB.advertised_sitemaps(host))
        while waiting:
            url = waiting.pop()
            raw = body(url)
            seen.add(url.rpartition("/")[2])
            tree = ElementTree.fromstring(gzip.decompress(raw) if url.endswith("gz") else raw)
            urls = [element.text for element in tree.iter() if element.tag.endswith("}loc")]
            assert urls == [link.url for link in TRUTH.links[url]]
            (waiting if "index" in url else listed).extend(urls)
        if listed:
            number = WEB.plan.numbers[host]
            assert len(set(listed)) == len(listed) == WEB.plan.sizes[number]
    assert len(seen) == 5


# robots.txt


@pytest.mark.parametrize("kind", ROBOTS_KINDS)
def test_robots_files_say_what_the_truth_says(kind):
    web = SampleWeb(seed=7, hosts=3, pages=300, robots=(kind,), files=0.3)
    host = web.host_names[1]
    answer = web.respond(host, "/robots.txt")
    if answer.status == 301:
        answer = web.respond(host, dict(answer.headers)["Location"])
    if answer.status == 200:
        rules = Protego.parse(answer.body.decode("utf-8-sig"))
    else:
        assert kind in ("missing", "forbidden", "error")
        rules = Protego.parse("User-agent: *\nDisallow: /" if answer.status >= 500 else "")
    for agent in ("webcrawler", "otherbot", "thirdbot"):
        assert web.crawl_delay_of(host, agent) == rules.crawl_delay(agent)
        for place in web.places():
            url = web.graph.url(place)
            assert web.is_allowed(url, agent) == rules.can_fetch(url, agent), url
    if answer.status == 200:
        assert list(rules.sitemaps) == list(web.advertised_sitemaps(host))


def test_the_big_robots_file_is_big_and_says_what_matters_first():
    web = SampleWeb(hosts=1, pages=10, robots=("big",))
    raw = web.respond(web.host_names[0], "/robots.txt").body
    assert len(raw) > 500 * 1024
    assert raw.index(b"/private/") < 1000


# Truth


def test_reachable_without_obedience_is_all_but_islands():
    everything = TRUTH.reachable(obey_robots=False, obey_nofollow=False, kinds={*FOLLOWED, "img"})
    missed = set(TRUTH.resources) - set(everything)
    assert {TRUTH.resources[url].kind for url in missed} <= {
        kinds.ISLAND,
        kinds.SITEMAP,
        kinds.SESSION,  # the address without a session number
    }
    with_sitemaps = TRUTH.reachable(obey_robots=False, obey_nofollow=False, sitemaps=True)
    islands = set(of_kind(kinds.ISLAND))
    assert islands & set(with_sitemaps)
    assert not islands & set(everything)


def test_obedience_reaches_less():
    free = set(TRUTH.reachable(obey_robots=False, obey_nofollow=False))
    polite = TRUTH.reachable()
    assert set(polite) < set(TRUTH.reachable(obey_nofollow=False)) < free
    assert set(polite) < set(TRUTH.reachable(obey_robots=False)) < free
    assert all(WEB.is_allowed(url) for url in polite)


def test_scope_and_depth():
    host = WEB.host_names[0]
    assert {split(url)[0] for url in TRUTH.reachable(hosts={host})} == {host}
    prefix = WEB.url(0, "/")
    assert set(TRUTH.reachable(prefix=prefix)) == set(TRUTH.reachable(hosts={host}))
    shallow = TRUTH.reachable(max_depth=1)
    assert max(shallow.values()) == 1
    assert shallow.items() <= TRUTH.reachable().items()


def test_redirects_chain_loop_and_cross_hosts():
    statuses = {TRUTH.statuses[url] for url in TRUTH.redirects}
    assert statuses == {301, 302, 307, 308}
    redirects = TRUTH.redirects
    chains = [url for url in redirects if redirects.get(redirects[url]) in redirects]
    assert chains
    assert any(redirects[url] == url for url in redirects)
    assert any(redirects.get(target) == url for url, target in redirects.items() if target != url)
    assert any(split(url)[0] != split(target)[0] for url, target in redirects.items())
    assert any(split(target)[1] == "/" for target in redirects.values())
    assert any(TRUTH.statuses[target] == 404 for target in redirects.values())


def test_traps_are_endless_and_outside_of_the_truth():
    web = SampleWeb.plain(hosts=3, pages=30, traps=1)
    truth = web.truth()
    entrances = [link.url for link in web.links_at(web.seed_urls[0]) if web.is_trap(link.url)]
    assert len(entrances) == 2
    for url in entrances:
        seen = set()
        for _ in range(300):
            seen.add(url)
            assert web.respond(*split(url)).status == 200
            assert web.resource(url).kind == kinds.TRAP
            links = web.links_at(url)
            assert [link.url for link in links] == [
                found.url for found in found_links(url, web.respond(*split(url)).body.decode())
            ]
            url = links[0].url
        assert len(seen) == 300
    assert len(truth.resources) == len(truth.reachable()) == 30
    other = web.host_names[1]
    assert web.respond(other, "/deeper/").status == 404


def test_resources_tell_what_is_answered():
    for url, resource in TRUTH.resources.items():
        response = WEB.respond(*split(url), attempt=resource.failures)
        assert response.status == resource.status, url
        assert response.content_type == resource.content_type, url
        assert response.delay == resource.delay
        headers = dict(response.headers)
        if resource.location:
            assert ada_url.join_url(url, headers["Location"]) == resource.location
        if resource.status in (429, 503):
            assert headers["Retry-After"] == str(WEB.retry_after)
        for attempt in range(resource.failures):
            assert WEB.respond(*split(url), attempt).status in (0, 500, 503)


def test_directives_are_told():
    told = Counter()
    for url in of_kind(kinds.DIRECTIVE):
        resource = TRUTH.resources[url]
        told[resource.noindex, resource.nofollow] += 1
    assert set(told) == {(True, False), (False, True), (True, True), (False, False)}


def test_the_truth_is_plain_json():
    told = json.loads(json.dumps(TRUTH.as_json()))
    assert told["reachable"] == TRUTH.reachable()
    assert set(told["reachable_pages"]) == set(TRUTH.reachable_pages())
