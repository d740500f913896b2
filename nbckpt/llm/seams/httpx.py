"""The seam in httpx and in httpx2, which is the same under another name.

`_send_single_request` is where every transport is called, also those that an SDK brings along. Its
name is private: where it is missing, the calls are not seen, and the user is told.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from types import ModuleType
from typing import Any

from nbckpt.llm import current, seams
from nbckpt.llm.asked_usage import AskedUsage
from nbckpt.llm.call_protocols import SeamCall
from nbckpt.llm.http_request import HttpRequest, RecordedResponse
from nbckpt.llm.seams.begin import begin, begin_async
from nbckpt.llm.unseen_traffic import is_worth
from nbckpt.llm.waiting import wait, wait_async
from nbckpt.text.content_encodings import decoder

NAME = "_send_single_request"


def patch(module: ModuleType) -> None:
    """Have every client of the library ask the recorder first; once.

    Raises
    ------
    AttributeError
        If the library is not as it is known here: nothing was changed.
    """
    patched = [_of(module.Client), _of(module.AsyncClient)]
    if any(hasattr(method, "is_nbckpts_own") for method in patched):
        return
    made = _Made(module)
    setattr(module.Client, NAME, _sending(patched[0], made))
    setattr(module.AsyncClient, NAME, _sending_async(patched[1], made))


def unpatch(module: ModuleType) -> None:
    """Have the library be as it was, unless somebody else has patched it since."""
    for client in (module.Client, module.AsyncClient):
        if original := getattr(client.__dict__.get(NAME), "original", None):
            setattr(client, NAME, original)


def _of(client: type) -> Any:
    if NAME not in client.__dict__:
        message = f"{client.__name__} has no {NAME}"
        raise AttributeError(message)
    return client.__dict__[NAME]


class _Made:
    """Streams and answers of one of the two libraries."""

    def __init__(self, module: ModuleType) -> None:
        sync, asynchronous = module.SyncByteStream, module.AsyncByteStream
        self._request, self._response = module.Request, module.Response
        self.reduced = type("Reduced", (_Reduced, sync), {})
        self.reduced_async = type("ReducedAsync", (_ReducedAsync, asynchronous), {})
        self.teed = type("Teed", (_Teed, sync), {})
        self.teed_async = type("TeedAsync", (_TeedAsync, asynchronous), {})
        self._replayed = type("Replayed", (_Replayed, sync, asynchronous), {})

    def request(self, request: Any, call: SeamCall) -> Any:
        """The request that is sent: with another body, if more is asked for."""
        if call.body is None:
            return request
        headers = request.headers.copy()
        for name in ("content-length", "transfer-encoding"):
            headers.pop(name, None)
        headers["accept-encoding"] = "identity"  # what was asked for is taken out as it comes
        return self._request(
            request.method,
            request.url,
            headers=headers,
            content=call.body,
            extensions=request.extensions,
        )

    @staticmethod
    def kept(response: Any, chunks: list[bytes]) -> RecordedResponse:
        """A response that was read, to be read once more."""
        return RecordedResponse(response.status_code, response.headers.multi_items(), chunks)

    def answer(self, client: Any, request: Any, kept: RecordedResponse) -> Any:
        """The transport's recorded answer, as a response."""
        response = self._response(
            kept.status,
            headers=list(kept.headers),
            stream=self._replayed(kept.chunks),
            request=request,
            extensions={"http_version": b"HTTP/1.1"},
        )
        response.default_encoding = client._default_encoding  # noqa: SLF001 - as the original does
        response.elapsed = timedelta(0)
        return response


def _sending(original: Any, made: _Made) -> Any:
    def send(self: Any, request: Any) -> Any:
        if not _may_be_call(request):
            return original(self, request)
        body = request.read()
        call = begin(_asked(request, body)) if current.is_open() else None
        if call is None:
            return original(self, request)
        if call.kept is not None:
            return made.answer(self, request, call.kept)
        call.ask_usage()
        try:
            response = seams.inside(original, self, made.request(request, call))
            if call.may_be_refused(response.status_code):
                read = response.is_stream_consumed  # a transport of the user's that had it all
                raw = [response.content] if read else list(response.iter_raw())
                kept = made.kept(response, raw)
                response = (
                    seams.inside(original, self, request)
                    if call.is_refused(b"".join(kept.chunks))
                    else made.answer(self, request, kept)
                )
        except BaseException as error:
            call.failed(error)
            raise
        response.request = request
        if call.extra is not None:
            _decode(call.extra, response)
        _start(call, response)
        if call.extra is not None:
            response.stream = made.reduced(response.stream, call.extra)
        if not call.is_over:
            response.stream = made.teed(response.stream, call)
            if response.is_stream_consumed:  # a transport of the user's that had it all
                for _ in response.stream:
                    pass
        return response

    return _marked(send, original)


def _sending_async(original: Any, made: _Made) -> Any:
    async def send(self: Any, request: Any) -> Any:
        if not _may_be_call(request):
            return await original(self, request)
        body = await request.aread()
        call = await begin_async(_asked(request, body)) if current.is_open() else None
        if call is None:
            return await original(self, request)
        if call.kept is not None:
            return made.answer(self, request, call.kept)
        call.ask_usage()
        try:
            response = await seams.inside_async(original, self, made.request(request, call))
            if call.may_be_refused(response.status_code):
                read = response.is_stream_consumed
                raw = [response.content] if read else [c async for c in response.aiter_raw()]
                kept = made.kept(response, raw)
                response = (
                    await seams.inside_async(original, self, request)
                    if call.is_refused(b"".join(kept.chunks))
                    else made.answer(self, request, kept)
                )
        except BaseException as error:
            call.failed(error)
            raise
        response.request = request
        if call.extra is not None:
            _decode(call.extra, response)
        _start(call, response)
        if call.extra is not None:
            response.stream = made.reduced_async(response.stream, call.extra)
        if not call.is_over:
            response.stream = made.teed_async(response.stream, call)
            if response.is_stream_consumed:
                async for _ in response.stream:
                    pass
        return response

    return _marked(send, original)


def _marked(send: Any, original: Any) -> Any:
    send.is_nbckpts_own, send.original, send.__name__ = True, original, NAME
    return send


def _may_be_call(request: Any) -> bool:
    return not seams.is_inside() and is_worth(
        request.method, str(request.url), request.headers.items
    )


def _asked(request: Any, body: bytes) -> HttpRequest:
    headers = [(name.lower(), value) for name, value in request.headers.multi_items()]
    return HttpRequest(request.method, str(request.url), headers, body)


def _decode(extra: AskedUsage, response: Any) -> None:
    """Have the caller get a stream decoded that a server encodes though it was asked not to."""
    encoding = response.headers.get("content-encoding", "")
    if encoding and (undo := decoder(encoding)) is not None:
        extra.decode = undo
        del response.headers["content-encoding"]


def _start(call: SeamCall, response: Any) -> None:
    headers = response.headers
    is_framed = (
        "content-length" in headers
        or "transfer-encoding" in headers
        or response.http_version == "HTTP/2"
    )
    call.started(response.status_code, headers.multi_items(), is_framed=is_framed)


class _Teed:
    """Gives the caller each chunk as it comes, and has the end durable before it is seen."""

    def __init__(self, inner: Any, call: SeamCall) -> None:
        self._inner = inner
        self._call = call

    def __iter__(self) -> Iterator[bytes]:
        call = self._call
        try:
            for data in self._inner:
                wait(call.chunk(data))
                yield data
            wait(call.ended())
        except GeneratorExit:
            call.left()
            raise
        except BaseException as error:
            call.failed(error)
            raise

    def close(self) -> None:
        self._call.left()
        self._inner.close()

    @property
    def elapsed(self) -> Any:
        """Elapsed time, which httpx2 asks the stream for."""
        return getattr(self._inner, "elapsed", None)


class _TeedAsync:
    """As `_Teed`, in an event loop."""

    def __init__(self, inner: Any, call: SeamCall) -> None:
        self._inner = inner
        self._call = call

    async def __aiter__(self) -> AsyncIterator[bytes]:
        call, chunks = self._call, self._inner.__aiter__()
        try:
            async for data in chunks:
                await wait_async(call.chunk(data))
                yield data
            await wait_async(call.ended())
        except GeneratorExit:
            call.left()
            raise
        except BaseException as error:
            call.failed(error)
            raise
        finally:
            if (close := getattr(chunks, "aclose", None)) is not None:
                await close()

    async def aclose(self) -> None:
        self._call.left()
        await self._inner.aclose()

    @property
    def elapsed(self) -> Any:
        """Elapsed time, which httpx2 asks the stream for."""
        return getattr(self._inner, "elapsed", None)


class _Reduced:
    """A stream without what was asked for besides."""

    def __init__(self, inner: Any, extra: AskedUsage) -> None:
        self._inner = inner
        self._extra = extra

    def __iter__(self) -> Iterator[bytes]:
        for data in self._inner:
            if given := self._extra.without(data):
                yield given
        if rest := self._extra.rest():
            yield rest

    def close(self) -> None:
        self._inner.close()

    @property
    def elapsed(self) -> Any:
        """Elapsed time, which httpx2 asks the stream for."""
        return getattr(self._inner, "elapsed", None)


class _ReducedAsync(_Reduced):
    """As `_Reduced`, in an event loop."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks = self._inner.__aiter__()
        try:
            async for data in chunks:
                if given := self._extra.without(data):
                    yield given
            if rest := self._extra.rest():
                yield rest
        finally:
            if (close := getattr(chunks, "aclose", None)) is not None:
                await close()

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Replayed:
    """The chunks of an answer, as they came then."""

    def __init__(self, chunks: Any) -> None:
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        yield from self._chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for data in self._chunks:
            yield data
