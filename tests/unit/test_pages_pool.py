"""Page work in processes: the same answers, whatever happens to the processes."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from webcrawler.dedup import NearDuplicates
from webcrawler.documents import Options, open_document
from webcrawler.pages import PagePool, Questions, ask, fill

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

URL = "http://a.test/dir/page.html"
PAGE = (
    "<html lang=de><title>Wörter</title><meta name=robots content=noindex>"
    "<link rel=canonical href=/canonical><a href=one rel=nofollow>eins</a>"
    "<meta http-equiv=refresh content='5; url=/two'><p>" + "viele Wörter stehen hier " * 30
).encode()
BODIES = {
    "a page": (PAGE, "text/html; charset=utf-8"),
    "nothing": (b"", "text/html"),
    "broken": (b"<a href='/x'>\xff\xfe<b <i", "text/html"),
    "in pieces": (b"<p><a href=/y>y</a>" * 9000, "text/html"),
    "text": (b"see http://b.test/z", "text/plain"),
    "feed": (b"<rss><channel><item><link>http://c.test/</link></item></channel></rss>", "text/xml"),
    "a PDF that is none": (b"%PDF-1.4 nothing", "application/pdf"),
}


def questions() -> Questions:
    return Questions(Options(), text=True, main_text=True, signer=NearDuplicates().signer)


def with_pool(
    work: Callable[[PagePool], Coroutine[Any, Any, Any]], processes: int = 2, **options: Any
) -> Any:
    async def main() -> Any:
        pool = PagePool(processes, questions(), **options)
        try:
            return await asyncio.wait_for(work(pool), 60)
        finally:
            pool.close()

    return asyncio.run(main())


def opened(name: str) -> Any:
    body, content_type = BODIES[name]
    return open_document(body, URL, content_type, options=Options())


async def read(pool: PagePool, document: Any) -> Any:
    return await pool.read(document.body, document.url, document.mime, document.charset)


@pytest.mark.parametrize("name", BODIES)
def test_a_process_gives_the_answers_that_the_document_gives(name: str) -> None:
    here, there, asked = opened(name), opened(name), questions()
    signature = ask(here, asked)
    answers = with_pool(lambda pool: read(pool, there), 1)
    assert fill(there, answers) == signature
    for question in asked.names:
        assert question in there.__dict__
        assert getattr(there, question) == getattr(here, question)
    assert there.problems == here.problems


def test_a_settled_document_has_let_its_parse_go_and_still_answers() -> None:
    document = opened("a page")
    ask(document, Questions(Options()))
    assert "_tree" not in document.__dict__
    assert document.text.startswith("eins viele")  # parsed again
    assert [link.url for link in document.links][-1] == "http://a.test/two"


def test_answers_come_back_to_those_who_asked() -> None:
    async def work(pool: PagePool) -> list[Any]:
        documents = [
            open_document(b"<title>%d</title>" % n, URL, "text/html", options=Options())
            for n in range(100)
        ]
        return await asyncio.gather(*(read(pool, document) for document in documents))

    assert [answers["title"] for answers in with_pool(work)] == [str(n) for n in range(100)]


def test_a_killed_worker_costs_a_retry_and_nothing_else() -> None:
    counted: list[str] = []

    async def work(pool: PagePool) -> list[Any]:
        await read(pool, opened("a page"))
        asked = [asyncio.ensure_future(read(pool, opened("in pieces"))) for _ in range(20)]
        await asyncio.sleep(0)
        for process in pool.processes:
            os.kill(process, signal.SIGKILL)
        return await asyncio.gather(*asked)

    found = with_pool(work, count=counted.append)
    assert [len(answers["links"]) for answers in found] == [9000] * 20
    assert set(counted) == {"pages/worker_died"}


def test_a_page_that_workers_die_of_is_given_up() -> None:
    """They are killed for it here, since it takes longer than they are given."""
    counted: list[str] = []
    huge = open_document(b"<p>x" * 500_000, URL, "text/html", options=Options())
    found = with_pool(lambda pool: read(pool, huge), 1, timeout=0.001, count=counted.append)
    assert found is None
    assert len(counted) > 1


def test_a_closed_pool_leaves_no_process() -> None:
    async def work(pool: PagePool) -> list[int]:
        await asyncio.gather(*(read(pool, opened("a page")) for _ in range(4)))
        return pool.processes

    for process in with_pool(work):
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
