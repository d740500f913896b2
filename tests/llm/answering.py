"""A server on loopback that gives the answers that a test writes down."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.llm.serving import served


class _Handler(BaseHTTPRequestHandler):
    """Answers with an object as JSON, or with several as a stream of events."""

    server: _Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        answer = self.server.answer
        text, kind = json.dumps(answer), "application/json"
        if isinstance(answer, list):
            text = "".join(f"data: {json.dumps(event)}\n\n" for event in answer)
            text, kind = f"{text}data: [DONE]\n\n", "text/event-stream"
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text.encode())))
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    def __init__(self, answer: Any, headers: Mapping[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.headers = headers


@contextmanager
def answering(answer: Any, headers: Mapping[str, str] | None = None) -> Iterator[str]:
    """The address of a server with one answer: an object, or the events of a stream."""
    server = _Server(answer, headers or {})
    with served(server):
        yield f"http://127.0.0.1:{server.server_port}"
