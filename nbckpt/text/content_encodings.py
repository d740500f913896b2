"""Content encodings of HTTP bodies (RFC 9110, 8.4), undone. Pure."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

Decode: TypeAlias = Callable[[bytes], bytes]


def encoding_in(headers: Iterable[Sequence[str]]) -> str:
    """The content encoding that some headers, pairs of name and value, tell; empty if none."""
    return next((value for name, value in headers if name.lower() == "content-encoding"), "")


def decoder(encoding: str) -> Decode | None:
    """Function that decodes a content encoding piece by piece; None if that is not possible."""
    match encoding.strip().lower():
        case "" | "identity":
            return bytes
        case "gzip" | "x-gzip":
            return zlib.decompressobj(wbits=31).decompress
        case "deflate":
            return _Deflate().decompress
        case "zstd":
            import zstandard

            return zstandard.ZstdDecompressor().decompressobj().decompress
        case "br":
            return _brotli()
    return None


class _Deflate:
    """Deflate comes with a header or without."""

    def __init__(self) -> None:
        self._with: Any = zlib.decompressobj()

    def decompress(self, data: bytes) -> bytes:
        try:
            return bytes(self._with.decompress(data))
        except zlib.error:
            self._with = zlib.decompressobj(wbits=-15)
            return bytes(self._with.decompress(data))


def _brotli() -> Decode | None:
    """Of the package that a client needs to ask for it."""
    for name in ("brotli", "brotlicffi"):
        try:
            module = __import__(name)
        except ImportError:
            continue
        made = module.Decompressor()
        return getattr(made, "process", None) or getattr(made, "decompress", None)
    return None


def decoded(data: bytes, encoding: str) -> bytes | None:
    """All of a body; None if its encoding cannot be undone."""
    decode = decoder(encoding)
    if decode is None:
        return None
    try:
        return decode(data)
    except Exception:  # each decoder has errors of its own, and none of them is ours
        return None
