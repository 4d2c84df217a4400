"""A server whose answers a test writes down: by host name, and noting every request."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SO_LINGER, SOL_SOCKET
from struct import pack
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Answer:
    """What is answered; `ending` is whole, reset (nothing is), cut (half the body), or hang."""

    status: int = 200
    body: bytes = b"<!DOCTYPE html><title>fine</title><p>A fine page.</p>"
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = "text/html; charset=utf-8"
    ending: str = "whole"


@dataclass(frozen=True)
class Asked:
    """One request, as it came."""

    host: str
    path: str
    method: str
    body: bytes
    headers: dict[str, str]
    at: float


def page(*urls: str) -> Answer:
    """A page with these links."""
    links = "".join(f'<p><a href="{url}">{url}</a></p>\n' for url in urls)
    return Answer(body=f"<!DOCTYPE html><title>links</title>\n{links}".encode())


class OddServer:
    """Serves `answers`: (host, path), or host for all of its other paths, or a function.

    A list is answered one after the other, its last for ever. What is not named is a fine page.
    """

    def __init__(self, answers: dict[Any, Any]) -> None:
        self.answers = answers
        self.asked: list[Asked] = []
        self._turns: dict[Any, int] = {}
        self._lock = threading.Lock()
        self._hang = threading.Event()
        odd = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                odd._serve(self)

            do_POST = do_PUT = do_GET
            do_HEAD = do_GET

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            request_queue_size = 512  # a crawl comes with many connections at once
            daemon_threads = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def url(self, host: str, path: str = "/") -> str:
        return f"http://{host}:{self.port}{path}"

    def paths(self, host: str) -> list[str]:
        """What was asked for of a host, in order."""
        return [asked.path for asked in self.asked if asked.host == host]

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        host = handler.headers.get("Host", "").partition(":")[0]
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        asked = Asked(
            host, handler.path, handler.command, body, dict(handler.headers.items()), time.time()
        )
        with self._lock:
            self.asked.append(asked)
            answer = self._answer(asked)
        if answer.ending == "reset":
            handler.connection.setsockopt(SOL_SOCKET, SO_LINGER, pack("ii", 1, 0))
            handler.close_connection = True
            handler.connection.close()
            return
        if answer.ending == "hang":
            self._hang.wait()
            handler.close_connection = True
            return
        handler.send_response(answer.status)
        if answer.content_type:
            handler.send_header("Content-Type", answer.content_type)
        for name, value in answer.headers.items():
            handler.send_header(name, value.replace("{port}", str(self.port)))
        handler.send_header("Content-Length", str(len(answer.body)))
        handler.end_headers()
        if answer.ending == "cut":
            handler.wfile.write(answer.body[: len(answer.body) // 2])
            handler.close_connection = True
        elif answer.status != 304:
            handler.wfile.write(answer.body)

    def _answer(self, asked: Asked) -> Answer:
        for key in ((asked.host, asked.path), asked.host):
            if key in self.answers:
                found: Answer | list[Answer] | Callable[[Asked], Answer] = self.answers[key]
                if isinstance(found, list):
                    turn = self._turns.get(key, 0)
                    self._turns[key] = turn + 1
                    found = found[min(turn, len(found) - 1)]
                return found if isinstance(found, Answer) else found(asked)
        return Answer()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._hang.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
