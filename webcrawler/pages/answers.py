"""What is asked of every page, and the answers in a form that can be sent between processes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from webcrawler.dedup.signature import Signer
from webcrawler.documents import Options, Refresh
from webcrawler.items import Link

if TYPE_CHECKING:
    from webcrawler.documents import Document

Answers = dict[str, Any]
_ALWAYS = ("links", "robots_meta", "canonical", "refresh", "title")
_make_link = Link._make


@dataclass(frozen=True, slots=True)
class Questions:
    """What to read of a document. `signer` None: no signature is wanted."""

    options: Options
    text: bool = False
    main_text: bool = False
    signer: Signer | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The document's properties that are asked for."""
        text = ("text", "language") if self.text else ()
        return (*_ALWAYS, *text, *(("main_text",) if self.main_text else ()))

    def pack(self) -> tuple[Any, ...]:
        """For a worker, of plain values only."""
        signer = self.signer.pack() if self.signer is not None else None
        return asdict(self.options), self.text, self.main_text, signer

    @classmethod
    def unpack(cls, packed: tuple[Any, ...]) -> Questions:
        options, text, main_text, signer = packed
        return cls(Options(**options), text, main_text, Signer.unpack(signer) if signer else None)


def ask(document: Document, questions: Questions) -> bytes | None:
    """Ask a document everything, let its parse go, and sign its text."""
    for name in questions.names:
        getattr(document, name)
    document.settle()
    if questions.signer is None:
        return None
    return questions.signer.sign(document.main_text if questions.main_text else document.text)


def read(document: Document, questions: Questions) -> Answers:
    """The same for another process: the answers as plain values."""
    signature = ask(document, questions)
    answers: Answers = {name: getattr(document, name) for name in questions.names}
    answers["links"] = [tuple(link) for link in document.links]
    answers["refresh"] = tuple(document.refresh) if document.refresh is not None else None
    answers["problems"] = document.problems
    answers["signature"] = signature
    return answers


def fill(document: Document, answers: Answers) -> bytes | None:
    """Give a document the answers, as if it had found them itself; returns the signature."""
    signature: bytes | None = answers.pop("signature")
    for problem in answers.pop("problems"):
        document.note(problem)
    answers["links"] = [_make_link(link) for link in answers["links"]]
    refresh = answers["refresh"]
    answers["refresh"] = Refresh(*refresh) if refresh is not None else None
    document.__dict__.update(answers)
    return signature
