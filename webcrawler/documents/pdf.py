"""PDF: its text, and the links of its pages.

PDFium is fuzzed day and night, and is still a million lines of C++ that strangers' files are fed
to. So each file is read in a process of its own, which may crash, loop or swell: this one waits
for its answer only so long. That costs a fifth of a second a file.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from functools import cache
from importlib import resources
from typing import Any

from webcrawler.documents.document import Document, lazy
from webcrawler.documents.html_text import fold
from webcrawler.documents.language import declared, detected
from webcrawler.documents.text import links_in
from webcrawler.items import Link
from webcrawler.urls import Resolver

_MEMORY = 2 << 30


class PDFDocument(Document):
    """A PDF. Its links are its link annotations, then the URLs written in its text."""

    @lazy(dict)
    def _found(self) -> dict[str, Any]:
        options = self.options
        if len(self.body) > options.max_pdf_bytes:
            # A PDF is read from its end: a part of one is none.
            self.note("truncated")
            return {}
        limits = (
            options.max_pdf_pages,
            options.max_text_chars,
            options.max_links,
            _MEMORY,
            math.ceil(options.max_pdf_secs),
        )
        try:
            answer = subprocess.run(  # noqa: S603 - our own program, the body is its input
                [sys.executable, "-P", "-c", _program(), *map(str, limits)],
                input=self.body,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=options.max_pdf_secs,
                check=True,
                process_group=0,  # Ctrl-C is for the crawl, which still finishes this page
            )
        except subprocess.TimeoutExpired:
            self.note("truncated")
            return {}
        except subprocess.CalledProcessError:
            self.note("unparseable")
            return {}
        found: dict[str, Any] = json.loads(answer.stdout)
        for problem in found["problems"]:
            self.note(problem)
        return found

    @lazy(str)
    def _raw_text(self) -> str:
        return "\n".join(self._found.get("texts", ()))

    @lazy(str)
    def title(self) -> str:
        return fold(self._found.get("title", ""))

    @lazy(str)
    def text(self) -> str:
        return fold(self._raw_text)[: self.options.max_text_chars]

    @lazy(str)
    def language(self) -> str:
        tag = declared(self._found.get("language"), self.content_language)
        return tag or detected(self.text)

    @lazy(list)
    def links(self) -> list[Link]:
        resolver = Resolver(self.url)
        links = []
        for written in self._found.get("links", ()):
            url = resolver.resolve(written)
            if url is not None and url.startswith("http") and url != self.url:
                links.append(Link(url, "", "", "pdf"))
        annotated = {link.url for link in links}
        room = max(0, self.options.max_links - len(links))
        # Most written URLs are annotated too: each counts once.
        links += [
            link
            for link in links_in(self._raw_text, self.url, "pdf", room)
            if link.url not in annotated
        ]
        return links


@cache
def _program() -> str:
    """The source of the process, read so that it is found in a zipped egg too."""
    return resources.files(__package__).joinpath("pdf_worker.py").read_text(encoding="utf-8")
