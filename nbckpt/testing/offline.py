"""`Provider`: model providers on loopback, to test a notebook without a network or keys.

What a model says is in `replies`, how it is written in `formats`, what goes wrong in `faults`.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import nullcontext
from types import TracebackType
from typing import Self

from nbckpt.testing.counts import Counts, Received
from nbckpt.testing.faults import Fault
from nbckpt.testing.model import Model, Says
from nbckpt.testing.sending import CutError, send
from nbckpt.testing.serving import HOST, Server
from nbckpt.testing.wire import Answer, Json, Request, json_answer


class Provider:
    """A server on loopback that answers as OpenAI, Anthropic, Gemini, Mistral and Ollama do.

    Each answer has a serial number in it, so that an answer that was paid for again can be told
    from the one that was kept; everything else in it is the same for the same request.

    Parameters
    ----------
    answer
        What the model says to a request's body; a `ToolCall` calls a tool. Without it, a line
        of words, a value of the JSON schema that is asked for, or a call of the first tool.
    port
        0 = a free one.

    Attributes
    ----------
    url
        Where it listens, without a slash at the end. Set by `start`.

    Examples
    --------
    >>> from urllib.request import Request, urlopen
    >>> body = b'{"model": "m", "messages": [{"role": "user", "content": "Hello"}]}'
    >>> with Provider(answer=lambda asked: asked["messages"][-1]["content"].upper()) as provider:
    ...     with urlopen(Request(provider.url + "/v1/chat/completions", body)) as response:
    ...         b"HELLO" in response.read(), provider.answered
    (True, 1)
    """

    def __init__(self, *, answer: Says | None = None, port: int = 0) -> None:
        self.url = ""
        self._port = port
        self._counts = Counts()
        self._model = Model(answer, self._counts)
        self._server: Server | None = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> Self:
        """Listen, on a thread of its own; also again after `stop`, at the same port.

        Raises
        ------
        UsageError
            If the port is taken.
        """
        if self._server is None:
            self._server = Server(self._serve, self._port)
            self._port = self._server.port
            self.url = f"http://{HOST}:{self._port}"
        return self

    def stop(self) -> None:
        """Refuse connections from now on; answers in flight are lost."""
        if self._server is not None:
            self._server.stop()
            self._server = None

    @property
    def answered(self) -> int:
        """Number of requests answered, each counted when the whole answer was written."""
        return int(self.stats()["answered"])

    @property
    def requests(self) -> list[Received]:
        """The requests that came, also those that were not answered: (path, body) of each."""
        return list(self._counts.received)

    def stats(self) -> Json:
        """All that is counted; other processes read it at ``/_stats``."""
        return self._counts.as_json()

    def reset(self) -> None:
        """Count from 0, forget requests and faults; serial numbers go on."""
        self._counts.clear()
        self._model.mend()

    def environment(self) -> dict[str, str]:
        """Variables for ``os.environ`` that point the SDKs here, with keys that are none.

        Mistral's SDK reads no address from there: give it ``server_url=provider.url``.
        """
        beyond = os.environ.get("NO_PROXY") or os.environ.get("no_proxy") or ""
        return {
            "OPENAI_BASE_URL": f"{self.url}/v1",
            "OPENAI_API_BASE": f"{self.url}/v1",
            "OPENAI_API_KEY": "offline",
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_BASE": self.url,
            "ANTHROPIC_API_KEY": "offline",
            "GOOGLE_GEMINI_BASE_URL": self.url,
            "GEMINI_API_BASE": self.url,
            "GOOGLE_API_KEY": "offline",
            "MISTRAL_API_BASE": f"{self.url}/mistral/v1",
            "MISTRAL_API_KEY": "offline",
            "OLLAMA_HOST": self.url,
            "OLLAMA_API_BASE": self.url,
            "NO_PROXY": ",".join(filter(None, [beyond, HOST])),
        }

    def fail(
        self,
        times: int | None = 1,
        *,
        status: int = 500,
        retry_after: float | None = 0.0,
        path: str = "",
    ) -> None:
        """Answer the next requests with an error, which is not counted as an answer."""
        self.fault(Fault(status=status, retry_after=retry_after, times=times, path=path))

    def cut(self, *, after_chunks: int, times: int | None = 1, path: str = "") -> None:
        """Lose the connection in the middle of the next answers."""
        self.fault(Fault(cut=after_chunks, times=times, path=path))

    def error_midway(self, *, after_chunks: int, times: int | None = 1, path: str = "") -> None:
        """Tell an error in the middle of the next streams, which have begun well."""
        self.fault(Fault(error_after=after_chunks, times=times, path=path))

    def slow(
        self,
        *,
        first_s: float = 0.0,
        between_s: float = 0.0,
        times: int | None = None,
        path: str = "",
    ) -> None:
        """Wait before answers, and between the chunks of streams."""
        self.fault(Fault(first_s=first_s, between_s=between_s, times=times, path=path))

    def malformed(self, times: int | None = 1, *, path: str = "") -> None:
        """Break off the JSON of the next answers, or of a stream's second chunk."""
        self.fault(Fault(malformed=True, times=times, path=path))

    def wrong_type(
        self, media_type: str = "text/html", *, times: int | None = 1, path: str = ""
    ) -> None:
        """Claim that the next answers are of another content type than they are."""
        self.fault(Fault(media_type=media_type, times=times, path=path))

    def large(self, size_bytes: int, *, times: int | None = 1, path: str = "") -> None:
        """Make the text of the next answers so long."""
        self.fault(Fault(size_bytes=size_bytes, times=times, path=path))

    def never_close(self, times: int | None = 1, *, path: str = "") -> None:
        """Write all of the next answers but their end, and keep the connections open."""
        self.fault(Fault(never_close=True, times=times, path=path))

    def compress(self, times: int | None = None, *, path: str = "") -> None:
        """Send answers in gzip to clients that take it."""
        self.fault(Fault(gzip=True, times=times, path=path))

    def fault(self, rule: Fault) -> None:
        """Add a rule; those that are there go on."""
        self._model.fault(rule)

    def mend(self) -> None:
        """Take all rules away."""
        self._model.mend()

    async def _serve(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer one request; whether the connection stays open."""
        if request.path.startswith("/_"):
            await send(request, self._told(request), Fault(), writer, nullcontext())
            return True
        self._counts.begun()
        try:
            answer, fault = await self._model.answer(request)
            status = 500 if answer.is_broken else answer.status
            ending = self._counts.written(request.path, status)
            await send(request, answer, fault, writer, ending)
        except (CutError, ConnectionError, asyncio.CancelledError):
            self._counts.lost_one()
            raise
        if fault.never_close:
            await reader.read()
            return False
        return request.headers.get("connection", "").lower() != "close"

    def _told(self, request: Request) -> Answer:
        match (request.method, request.path):
            case ("GET", "/_stats"):
                return json_answer(self.stats())
            case ("GET", "/_requests"):
                shown = [(each.path, without_bytes(each.body)) for each in self.requests]
                return json_answer(shown)
            case ("POST", "/_reset"):
                self.reset()
                return json_answer({})
        return json_answer({"error": f"no {request.method} {request.path} here"}, 404)


def without_bytes(body: Json) -> Json:
    """`body` as JSON takes it: a file is told by its size."""
    return {
        name: f"<{len(value)} bytes>" if isinstance(value, bytes) else value
        for name, value in body.items()
    }
