"""The seam in aiohttp: `ClientSession._request`, through which all of its requests go.

The library has no place for an answer that comes from elsewhere: it is built by hand. Bodies are
seen with their content encoding undone, so that no header of it is kept.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterable
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any

from nbckpt.llm import seams
from nbckpt.llm.call_protocols import SeamCall
from nbckpt.llm.http_request import HttpRequest, RecordedResponse
from nbckpt.llm.seams.begin import begin_async
from nbckpt.llm.seams.forms import written
from nbckpt.llm.unseen_traffic import is_worth
from nbckpt.llm.waiting import wait_async
from nbckpt.text.content_encodings import decoder

NAME = "_request"


def patch(module: ModuleType) -> None:
    """Have every session of the library ask the recorder first; once.

    Raises
    ------
    AttributeError
        If the library is not as it is known here: nothing was changed.
    """
    original = module.ClientSession.__dict__.get(NAME)
    if original is None or not hasattr(module.StreamReader, "_wait"):
        message = f"ClientSession has no {NAME}, or StreamReader no _wait"
        raise AttributeError(message)
    if not hasattr(original, "is_nbckpts_own"):
        setattr(module.ClientSession, NAME, _requesting(original, module))


def unpatch(module: ModuleType) -> None:
    """Have the library be as it was, unless somebody else has patched it since."""
    if original := getattr(module.ClientSession.__dict__.get(NAME), "original", None):
        setattr(module.ClientSession, NAME, original)


def _requesting(original: Any, module: ModuleType) -> Any:
    reader = _reader_of(module)

    async def request(self: Any, method: str, str_or_url: Any, **options: Any) -> Any:
        headers = partial(_headers, self, options)
        if seams.is_inside() or not is_worth(method.upper(), _place(self, str_or_url), headers):
            return await original(self, method, str_or_url, **options)
        call, is_decoded = None, _is_decoded(self, options)
        try:
            if (
                asked := await _asked(self, module, method.upper(), str_or_url, options)
            ) is not None:
                call = await begin_async(asked)
            if asked is not None and call is not None and call.kept is not None:
                return _answer(self, module, reader, asked, call.kept, options)
        except (AttributeError, TypeError) as problem:
            seams.notify(module, problem)
            call = None
        if call is None:
            return await original(self, method, str_or_url, **options)
        call.ask_usage()
        sent = options if call.body is None else _asking(asked, call.body, options)
        try:
            response = await seams.inside_async(original, self, method, str_or_url, **sent)
            if call.may_be_refused(response.status) and call.is_refused(await response.read()):
                response = await seams.inside_async(original, self, method, str_or_url, **options)
        except BaseException as error:
            call.failed(error)
            raise
        try:
            _start(call, response, is_decoded=is_decoded)
            if call.extra is not None or not call.is_over:
                await _tee(call, response, module, reader)
        except (AttributeError, TypeError) as problem:
            call.failed(problem)
            seams.notify(module, problem)
        return response

    setattr(request, "is_nbckpts_own", True)  # noqa: B010 - functions have no such attributes
    setattr(request, "original", original)  # noqa: B010
    request.__name__ = NAME
    return request


def _headers(session: Any, options: dict[str, Any]) -> Iterable[tuple[Any, Any]]:
    return [*dict(options.get("headers") or {}).items(), *getattr(session, "headers", {}).items()]


def _place(session: Any, str_or_url: Any) -> str:
    """The address, with that of the session before it."""
    base = getattr(session, "_base_url", None)
    text = str(str_or_url)
    return text if base is None or "://" in text else f"{str(base).rstrip('/')}/{text.lstrip('/')}"


def _is_decoded(session: Any, options: dict[str, Any]) -> bool:
    mine = options.get("auto_decompress")
    return bool(getattr(session, "_auto_decompress", True) if mine is None else mine)


async def _asked(
    session: Any, module: ModuleType, method: str, str_or_url: Any, options: dict[str, Any]
) -> HttpRequest | None:
    """The request as it will be sent; None if its body can be read once only."""
    url = session._build_url(str_or_url)  # noqa: SLF001 - as the original does
    if params := options.get("params"):
        more = url.with_query(params).query
        url = url.with_query([*url.query.items(), *more.items()])
    given = session._prepare_headers(options.get("headers"))  # noqa: SLF001
    headers = {name.lower(): value for name, value in given.items()}
    data = options.get("data")
    if options.get("json") is not None:
        serialized = session._json_serialize(options["json"])  # noqa: SLF001
        body = serialized if isinstance(serialized, bytes) else serialized.encode()
        headers.setdefault("content-type", "application/json")
    elif data is None or isinstance(data, str | bytes | bytearray | memoryview):
        body = data.encode() if isinstance(data, str) else bytes(data or b"")
    elif isinstance(data, dict | list | tuple | module.FormData):
        form = data if isinstance(data, module.FormData) else module.FormData(data)
        found = await written(form, module)
        if found is None:
            seams.notify(module, "the parts of a form cannot be read before they are sent")
            return None
        body, options["data"] = found
        headers["content-type"] = options["data"].headers.get("content-type", "")
    else:
        seams.notify(module, f"a body of type {type(data).__name__} can be read only once")
        return None
    return HttpRequest(method, str(url), list(headers.items()), body)


def _asking(asked: HttpRequest | None, body: bytes, options: dict[str, Any]) -> dict[str, Any]:
    """Options of a request that asks for more than the caller does."""
    from multidict import CIMultiDict

    headers = CIMultiDict(options.get("headers") or {})
    headers["content-type"] = asked.header("content-type") if asked else "application/json"
    headers["accept-encoding"] = "identity"  # what was asked for is taken out as it comes
    headers.popall("content-length", None)
    others = {name: value for name, value in options.items() if name not in ("json", "data")}
    return {**others, "headers": headers, "data": body}


def _start(call: SeamCall, response: Any, *, is_decoded: bool) -> None:
    headers, version = response.headers, response.version
    is_framed = "content-length" in headers or "transfer-encoding" in headers
    gone = ("content-encoding", "content-length") if is_decoded else ()
    told = [(name, value) for name, value in headers.items() if name.lower() not in gone]
    call.started(response.status, told, is_framed=is_framed or version is None)


async def _tee(call: SeamCall, response: Any, module: ModuleType, reader: Any) -> None:
    content = response.content
    if response._body is not None:  # noqa: SLF001 - somebody has read it all
        await wait_async(call.chunk(response._body))  # noqa: SLF001
        await wait_async(call.ended())
    elif isinstance(content, module.StreamReader):
        limit = content.get_read_buffer_limits()[0]
        is_split = "transfer-encoding" in response.headers
        response.content = reader(limit, inner=content, call=call, is_split=is_split)


def _reader_of(module: ModuleType) -> Any:
    """Reads from elsewhere when its own reader wants more: what is not asked for stays there."""

    class Pulled(module.StreamReader):  # type: ignore[misc, name-defined]
        def __init__(
            self,
            limit: int,
            *,
            chunks: Iterable[bytes] = (),
            inner: Any = None,
            call: Any = None,
            is_split: bool = False,
        ) -> None:
            super().__init__(_protocol(), limit, loop=asyncio.get_running_loop())
            self._chunks, self._inner, self._call = iter(chunks), inner, call
            if is_split:  # a reader may ask where the transport's chunks end
                self.begin_http_chunk_receiving()
            self._is_split = is_split

        async def _wait(self, func_name: str) -> None:  # noqa: ARG002 - as the original has it
            call = self._call
            try:
                data, is_end = await self._next()
            except BaseException as error:
                if call is not None:
                    call.failed(error)
                raise
            if call is not None:
                await wait_async(
                    call.ended() if not (data or is_end) else call.chunk(data) if data else None
                )
            if self._exception is not None:  # closed in between
                raise self._exception
            if data:
                self.feed_data(data)
            elif not is_end:
                self.feed_eof()
            if is_end:
                self.end_http_chunk_receiving()

        async def _next(self) -> tuple[bytes, bool]:
            """Some bytes, and whether a chunk ends there; neither at the end."""
            extra = None if self._call is None else self._call.extra
            while self._inner is not None:
                data, is_end = await self._inner.readchunk()
                if extra is None:
                    return bytes(data), is_end
                given = extra.without(bytes(data)) if data else b""
                if not data and not is_end:
                    return extra.rest(), False
                if given:
                    return given, is_end
            data = next(filter(None, self._chunks), b"")
            return data, bool(data) and self._is_split

        async def wait_eof(self) -> None:
            if self._inner is not None:
                await self._inner.wait_eof()

        def set_read_chunk_size(self, n: int) -> None:
            """Set the amount that the caller wants at once: newer versions pause by that."""
            super().set_read_chunk_size(n)
            if self._inner is not None:
                self._inner.set_read_chunk_size(n)

        def set_exception(self, exc: Any, *cause: Any) -> None:
            if self._call is not None:
                self._call.left()
            super().set_exception(exc, *cause)
            if self._inner is not None and self._inner.exception() is None:
                self._inner.set_exception(exc, *cause)

    return Pulled


def _protocol() -> Any:
    """Stand-in for the protocol that a reader pauses and resumes: nothing runs ahead of it here."""
    return SimpleNamespace(
        connected=True,
        _reading_paused=False,
        pause_reading=lambda **_: None,
        resume_reading=lambda **_: None,
    )


def _answer(
    session: Any,
    module: ModuleType,
    reader: Any,
    asked: HttpRequest,
    kept: RecordedResponse,
    options: dict[str, Any],
) -> Any:
    """The session's recorded answer, as a response."""
    from aiohttp.helpers import TimerNoop
    from multidict import CIMultiDict, CIMultiDictProxy
    from yarl import URL

    headers, chunks = CIMultiDict(kept.headers), list(kept.chunks)
    encoding = headers.get("content-encoding", "")
    if encoding and _is_decoded(session, options):  # it was recorded through another library
        decode = decoder(encoding)
        if decode is None:
            message = f"an answer of encoding {encoding} cannot be read"
            raise TypeError(message)
        chunks = [decode(data) for data in chunks]
        headers.popall("content-encoding")
        headers.popall("content-length", None)
    url, loop = URL(asked.url), asyncio.get_running_loop()
    sent = CIMultiDictProxy(CIMultiDict(asked.headers))
    known = {
        "writer": None,
        "continue100": None,
        "timer": TimerNoop(),
        "request_info": module.RequestInfo(url, asked.method, sent, url),
        "traces": [],
        "loop": loop,
        "session": session,
        "stream_writer": SimpleNamespace(output_size=len(asked.body)),
    }
    made = session._response_class  # noqa: SLF001 - as the original does
    taken = inspect.signature(made.__init__).parameters
    response = made(asked.method, url, **{k: v for k, v in known.items() if k in taken})
    response.status, response.reason = kept.status, "OK"
    response.version = module.HttpVersion11
    response._headers = CIMultiDictProxy(headers)  # noqa: SLF001 - as its `start` does
    response._raw_headers = tuple((k.encode(), v.encode()) for k, v in headers.items())  # noqa: SLF001
    limit = options.get("read_bufsize") or getattr(session, "_read_bufsize", 2**16)
    response.content = reader(limit, chunks=chunks, is_split="transfer-encoding" in headers)
    return response
