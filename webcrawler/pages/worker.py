"""A page worker: reads documents that come in by a socket, until that is closed.

Messages are marshalled plain values behind their length: first the questions, then a document
each (body, URL, type, character set, language), each answered in their order. Both ends are this
project's own processes of one version; nothing from outside is ever unmarshalled.
"""

from __future__ import annotations

import marshal
import signal
import socket
import sys
from contextlib import suppress
from typing import Any

from webcrawler.documents import DOCUMENTS, Document
from webcrawler.pages.answers import Questions, read
from webcrawler.pages.frames import LENGTH


def serve(sock: socket.socket) -> None:
    """Answer until the other end closes."""
    stream = sock.makefile("rb", buffering=1 << 20)
    questions: Questions | None = None
    while True:
        head = stream.read(LENGTH.size)
        if len(head) < LENGTH.size:
            return
        message = stream.read(LENGTH.unpack(head)[0])
        values = marshal.loads(message)  # noqa: S302 - see the module
        if questions is None:
            questions = Questions.unpack(values)
            _send(sock, None)  # ready
            continue
        body, url, mime, charset, language = values
        document = DOCUMENTS.get(mime, Document)(
            body, url, mime, charset, options=questions.options, content_language=language
        )
        _send(sock, read(document, questions))


def _send(sock: socket.socket, answer: dict[str, Any] | None) -> None:
    message = marshal.dumps(answer)
    sock.sendall(LENGTH.pack(len(message)) + message)


def main() -> None:
    # Ctrl-C is for the crawl, which then closes the socket.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(ConnectionError):  # the crawl was killed
        serve(socket.socket(fileno=int(sys.argv[1])))


if __name__ == "__main__":
    main()
