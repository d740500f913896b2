"""HTTP/1.1 on asyncio streams, as much of it as a model provider needs.

Keep-alive, bodies by length or in chunks, answers whole or streamed, gzip.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeAlias
from urllib.parse import unquote

Json: TypeAlias = dict[str, Any]
"""An object of a body from outside; whoever reads a field checks it."""

JSON = "application/json"
SSE = "text/event-stream"
NDJSON = "application/x-ndjson"

HEAD_BYTES = 1 << 18
"""Maximum bytes in the lines of a head: more than any SDK's, with a long key in a query."""


@dataclass(frozen=True, slots=True)
class Request:
    """A client's request.

    Attributes
    ----------
    headers
        By lower-case name; the last of equal names.
    body
        After chunks were joined and gzip was undone.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to write back.

    Attributes
    ----------
    chunks
        An answer that is not streamed has one.
    streamed
        Each of the chunks is sent as a chunk of its own, as soon as it may be.
    is_broken
        It reports an error after it began well, and so does not count as an answer.
    """

    status: int
    chunks: tuple[bytes, ...]
    media_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    streamed: bool = False
    is_broken: bool = False


def json_answer(body: object, status: int = 200) -> Answer:
    """`body` as JSON, in one piece."""
    return Answer(status, (json.dumps(body).encode(),))


def sse_answer(events: Iterable[tuple[str | None, object]]) -> Answer:
    """Server-sent events of (name or None, object or text), a chunk each."""
    return Answer(200, tuple(sse(name, data) for name, data in events), SSE, streamed=True)


def sse(name: str | None, data: object) -> bytes:
    """One server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data)
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {text}\n\n".encode()


def ndjson_answer(lines: Iterable[object]) -> Answer:
    """One JSON value a line, a chunk each."""
    chunks = tuple(json.dumps(line).encode() + b"\n" for line in lines)
    return Answer(200, chunks, NDJSON, streamed=True)


async def read_request(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> Request | None:
    """The next request of a connection; None when the client is done with it.

    Raises
    ------
    ValueError
        If what came is no HTTP.
    """
    head = await read_head(reader)
    if head is None:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    body = await read_body(reader, headers)
    if headers.get("content-encoding") == "gzip":
        body = gzip.decompress(body)
    # An absolute target is what a client sends to a proxy; its path is what counts.
    if "://" in target:
        target = "/" + target.split("://", 1)[1].partition("/")[2]
    path, _, query = target.partition("?")
    return Request(method, unquote(path.partition("#")[0]), query, headers, body)


async def read_head(reader: asyncio.StreamReader) -> bytes | None:
    """Everything before the empty line, or None at the connection's end."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return head.removesuffix(b"\r\n\r\n")


async def read_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    """The body, by its length or in chunks."""
    if "chunked" not in headers.get("transfer-encoding", ""):
        return await reader.readexactly(int(headers.get("content-length") or 0))
    parts = []
    while size := int((await reader.readline()).split(b";")[0], 16):
        parts.append(await reader.readexactly(size))
        await reader.readline()
    while (await reader.readline()).strip():
        pass  # trailers
    return b"".join(parts)


def head_of(answer: Answer, length: int | None) -> bytes:
    """The head of `answer`; a body without a length comes in chunks."""
    phrase = HTTPStatus(answer.status).phrase if answer.status in set(HTTPStatus) else "Unknown"
    headers = {"content-type": answer.media_type, **answer.headers}
    if length is None:
        headers["transfer-encoding"] = "chunked"
    else:
        headers["content-length"] = str(length)
    lines = [f"HTTP/1.1 {answer.status} {phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def chunk_of(data: bytes) -> bytes:
    """`data` as one chunk of a chunked body; of nothing it would be the end."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


END = b"0\r\n\r\n"
"""End of a chunked body."""


def squeezed(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks in gzip, each flushed so that it can be read when it arrives."""
    squeezer = zlib.compressobj(wbits=31)
    held: bytes | None = None
    for chunk in chunks:
        if held is not None:
            yield held
        held = squeezer.compress(chunk) + squeezer.flush(zlib.Z_SYNC_FLUSH)
    yield (held or b"") + squeezer.flush()
