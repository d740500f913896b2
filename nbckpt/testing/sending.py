"""Writing an answer to a connection, with what is wrong with it."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager
from dataclasses import replace

from nbckpt.testing.faults import Fault
from nbckpt.testing.wire import END, Answer, Request, chunk_of, head_of, squeezed

PART_BYTES = 1 << 18
"""Bytes of an answer written at once: large ones end when the client took nearly all."""


class CutError(Exception):
    """The connection has to be lost now, as a fault asks for it."""


async def send(
    request: Request,
    answer: Answer,
    fault: Fault,
    writer: asyncio.StreamWriter,
    ending: AbstractContextManager[None],
) -> None:
    """Write all of `answer`; its last bytes while `ending` holds.

    Raises
    ------
    CutError
        If `fault` cuts the answer: the caller loses the connection.
    ConnectionError
        If the client is gone.
    """
    answer = distorted(request, answer, fault)
    await asyncio.sleep(fault.first_s)
    *pieces, last = cut(pieces_of(answer, fault), fault)
    for at, piece in enumerate(pieces):
        writer.write(piece)
        await writer.drain()
        if fault.between_s and at:
            await asyncio.sleep(fault.between_s)
    if fault.cut is not None:
        raise CutError
    with ending:
        if writer.is_closing():
            message = "the client is gone"
            raise ConnectionResetError(message)
        writer.write(last)


def pieces_of(answer: Answer, fault: Fault) -> list[bytes]:
    """Pieces to write one after the other: the head, and each chunk; the end with the last."""
    if answer.streamed or fault.never_close:
        chunks = [chunk_of(chunk) for chunk in answer.chunks]
        if not fault.never_close:
            chunks[-1] += END
        return [head_of(answer, None), *chunks]
    body = b"".join(answer.chunks)
    parts = [body[start : start + PART_BYTES] for start in range(0, len(body), PART_BYTES)] or [b""]
    return [head_of(answer, len(body)) + parts[0], *parts[1:]]


def cut(pieces: list[bytes], fault: Fault) -> list[bytes]:
    """The pieces that are written before the connection is lost, and one that is not.

    What is not streamed has no chunks to count, and is lost in its middle.
    """
    if fault.cut is None:
        return pieces
    if len(pieces) == 1:
        return [pieces[0][: -max(1, len(pieces[0]) // 4)], b""]
    return [*pieces[: min(fault.cut + 1, len(pieces) - 1)], b""]


def distorted(request: Request, answer: Answer, fault: Fault) -> Answer:
    """`answer` as `fault` wants it: broken off, of another type, compressed."""
    if fault.malformed:
        # The second chunk of a stream: the first is still understood, and then comes nonsense.
        at = 1 if len(answer.chunks) > 1 else 0
        broken = answer.chunks[at]
        end = b"\n\n" if answer.streamed else b""
        broken = broken[: max(1, len(broken) * 2 // 3)].rstrip(b"}]\n") + end
        answer = replace(answer, chunks=(*answer.chunks[:at], broken, *answer.chunks[at + 1 :]))
    if fault.media_type:
        answer = replace(answer, media_type=fault.media_type)
    if fault.gzip and "gzip" in request.headers.get("accept-encoding", ""):
        headers = {**answer.headers, "content-encoding": "gzip", "vary": "accept-encoding"}
        answer = replace(answer, chunks=tuple(squeezed(answer.chunks)), headers=headers)
    return answer
