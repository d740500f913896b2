"""The seam in urllib3, on which requests and boto3 stand: `HTTPConnectionPool.urlopen`.

What the library tries again is one call to whoever asked: only the last answer is told of.
"""

from __future__ import annotations

import io
from importlib import import_module
from types import ModuleType
from typing import Any

from nbckpt.llm import current, seams
from nbckpt.llm.call_protocols import SeamCall
from nbckpt.llm.http_request import HttpRequest, RecordedResponse
from nbckpt.llm.seams.begin import begin
from nbckpt.llm.unseen_traffic import is_worth
from nbckpt.llm.waiting import wait
from nbckpt.text.content_encodings import decoder

NAME = "urlopen"
READS = ("_fp_read", "_handle_chunk", "_update_chunk_length")


def patch(module: ModuleType) -> None:
    """Have every pool of the library ask the recorder first; once.

    Raises
    ------
    AttributeError
        If the library is not as it is known here: nothing was changed.
    """
    pool = module.HTTPConnectionPool
    original = pool.__dict__.get(NAME)
    lacking = [name for name in READS if not hasattr(module.HTTPResponse, name)]
    if original is None or lacking:
        message = f"HTTPResponse has no {lacking[0]}" if lacking else f"no {NAME}"
        raise AttributeError(message)
    if not hasattr(original, "is_nbckpts_own"):
        setattr(pool, NAME, _opening(original, module))


def unpatch(module: ModuleType) -> None:
    """Have the library be as it was, unless somebody else has patched it since."""
    pool = module.HTTPConnectionPool
    if original := getattr(pool.__dict__.get(NAME), "original", None):
        setattr(pool, NAME, original)


def _opening(original: Any, module: ModuleType) -> Any:
    teed = type("Teed", (_Teed, module.HTTPResponse), {})

    def urlopen(
        self: Any,
        method: str,
        url: str,
        body: Any = None,
        headers: Any = None,
        *rest: Any,
        **more: Any,
    ) -> Any:
        call = None
        place = _place(self, url)
        given = self.headers if headers is None else headers
        if not seams.is_inside() and is_worth(method.upper(), place, given.items):
            call = _begin(self, module, method.upper(), place, body, headers)
        if call is None:
            return original(self, method, url, body, headers, *rest, **more)
        if call.kept is not None:
            return _answer(module, method, url, call.kept, more)
        try:
            response = seams.inside(original, self, method, url, body, headers, *rest, **more)
        except BaseException as error:
            call.failed(error)
            raise
        _follow(call, response, module, teed)
        return response

    setattr(urlopen, "is_nbckpts_own", True)  # noqa: B010 - functions have no such attributes
    setattr(urlopen, "original", original)  # noqa: B010
    return urlopen


def _begin(
    pool: Any, module: ModuleType, method: str, url: str, body: Any, headers: Any
) -> SeamCall | None:
    if not current.is_open():
        return None
    if body is not None and not isinstance(body, str | bytes | bytearray):
        seams.notify(module, f"a body of type {type(body).__name__} can be read only once")
        return None
    given = pool.headers if headers is None else headers
    pairs = [(_text(name).lower(), _text(value)) for name, value in given.items()]
    data = body.encode() if isinstance(body, str) else bytes(body or b"")
    return begin(HttpRequest(method, url, pairs, data))


def _place(pool: Any, url: str) -> str:
    if "://" in url:  # through a proxy, it is all there
        return url
    host = f"[{pool.host}]" if ":" in pool.host else pool.host
    return f"{pool.scheme}://{host}" + (f":{pool.port}" if pool.port else "") + url


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _follow(call: SeamCall, response: Any, module: ModuleType, teed: type) -> None:
    """Tell the recorder of an answer: of all that is there, or of what the caller will read."""
    headers = list(response.headers.items())
    names = {name.lower() for name, _ in headers}
    is_framed = bool(names & {"content-length", "transfer-encoding"})
    body = getattr(response, "_body", None)
    if body is not None and response.decode_content:
        gone = ("content-encoding", "content-length")
        headers = [(name, value) for name, value in headers if name.lower() not in gone]
    call.started(response.status, headers, is_framed=is_framed)
    if call.is_over:
        return
    if body is not None:
        wait(call.chunk(body))
        wait(call.ended())
    elif type(response) is module.HTTPResponse:
        response.__class__ = teed
        response.nbckpts_call = call
    else:
        call.failed(f"an answer of class {type(response).__name__}")
        seams.notify(module, f"answers of class {type(response).__name__} are not known")


class _Teed:
    """An answer whose bytes are told of as they are read: mixed into the library's own class."""

    nbckpts_call: SeamCall
    _fp: Any
    chunk_left: int | None
    length_remaining: int | None

    def _fp_read(self, amt: int | None = None, **options: Any) -> Any:
        call = self.nbckpts_call
        data = self._told("_fp_read", amt, **options)
        if data:
            wait(call.chunk(data))
        is_cut = not data and amt not in (None, 0) and self.length_remaining not in (0, None)
        if is_cut:
            call.failed("the answer was cut")
        elif amt is None or (not data and amt != 0) or _is_closed(self._fp):
            wait(call.ended())
        return data

    def _handle_chunk(self, amt: int | None) -> Any:
        data = self._told("_handle_chunk", amt)
        wait(self.nbckpts_call.chunk(data))
        return data

    def _update_chunk_length(self) -> None:
        self._told("_update_chunk_length")
        if self.chunk_left == 0:
            wait(self.nbckpts_call.ended())

    def _told(self, name: str, *arguments: Any, **options: Any) -> Any:
        try:
            return getattr(super(), name)(*arguments, **options)
        except BaseException as error:
            self.nbckpts_call.failed(error)
            raise

    def close(self) -> None:
        self.nbckpts_call.left()
        super().close()  # type: ignore[misc]

    def release_conn(self) -> None:
        self.nbckpts_call.left()
        super().release_conn()  # type: ignore[misc]


def _is_closed(file: Any) -> bool:
    ask = getattr(file, "isclosed", None)
    return bool(ask() if ask is not None else getattr(file, "closed", False))


def _answer(
    module: ModuleType, method: str, url: str, kept: RecordedResponse, options: dict[str, Any]
) -> Any:
    """The pool's recorded answer, as a response."""
    answer = type("Replayed", (_Replayed, module.HTTPResponse), {})
    # Version 1 has no such name at its top.
    headers = import_module(f"{module.__name__}._collections").HTTPHeaderDict(list(kept.headers))
    body: Any = io.BytesIO(b"".join(kept.chunks))
    response = answer(
        body=body,
        headers=headers,
        status=kept.status,
        version=11,
        reason="OK",
        preload_content=options.get("preload_content", True),
        decode_content=options.get("decode_content", True),
        enforce_content_length=False,
        request_method=method,
        request_url=url,
    )
    response.nbckpts_chunks = kept.chunks
    return response


class _Replayed:
    """An answer that comes in the pieces in which it came then, where that can be seen."""

    nbckpts_chunks: Any
    decode_content: bool
    headers: Any
    _fp: Any

    def stream(self, amt: int | None = 2**16, decode_content: bool | None = None) -> Any:
        """As the library's own, where the answer was chunked: no piece waits for another."""
        is_whole = self._fp.closed or self._fp.tell() or "content-length" in self.headers
        wanted = self.decode_content if decode_content is None else decode_content
        undo = decoder(self.headers.get("content-encoding", "") if wanted else "")
        if is_whole or undo is None:
            yield from super().stream(amt, decode_content)  # type: ignore[misc]
            return
        for chunk in self.nbckpts_chunks:
            self._fp.seek(len(chunk), io.SEEK_CUR)
            for at in range(0, len(chunk), amt or len(chunk) or 1):
                if data := undo(chunk[at : at + (amt or len(chunk))]):
                    yield data
        self._fp.close()
