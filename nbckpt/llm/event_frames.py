"""Frames of Amazon's event streams, in which Bedrock answers [1]_. Pure.

References
----------
.. [1] "Event stream encoding", Amazon Transcribe developer guide; botocore's `eventstream`.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

_AROUND = 16
"""Bytes of a frame besides its headers and its payload: lengths and checksums."""


class Frames(NamedTuple):
    """The frames of a stream.

    Attributes
    ----------
    payloads
        Of those that are whole.
    is_whole
        False if something is left, or differs from its checksum.
    """

    payloads: list[bytes]
    is_whole: bool


def is_framed(media_type: str) -> bool:
    """True if a stream of such a type is one of frames."""
    return "vnd.amazon.eventstream" in media_type.lower()


def frames_of(data: bytes) -> Frames:
    """The frames of all that has come of a stream."""
    at, payloads = 0, list[bytes]()
    while at < len(data):
        end = at + int.from_bytes(data[at : at + 4])
        inner = int.from_bytes(data[at + 4 : at + 8])
        frame = data[at:end]
        is_whole = _AROUND + inner <= end - at == len(frame)
        if not is_whole or zlib.crc32(frame[:-4]) != int.from_bytes(frame[-4:]):
            return Frames(payloads, is_whole=False)
        payloads.append(frame[12 + inner : -4])
        at = end
    return Frames(payloads, is_whole=True)


def events_in(data: bytes) -> Iterator[Any]:
    """The JSON values of a stream; of those in which a model's own JSON is packed, that."""
    for payload in frames_of(data).payloads:
        try:
            value = json.loads(payload)
            if isinstance(value, dict) and isinstance(packed := value.get("bytes"), str):
                value = json.loads(base64.b64decode(packed))
        except ValueError:
            continue
        yield value
