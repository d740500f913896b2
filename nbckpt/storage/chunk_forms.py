"""Forms of a chunk's bytes in a pack: as they are, compressed, or left out.

What is mapped lies as it is. Of the rest, what a sample says will shrink is compressed with zstd,
whose fastest level costs less than the disk that it saves. In an encrypted store a pack seals what
comes out of this, and here that is opened again.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from blake3 import blake3

from nbckpt.storage.ciphers import Cipher
from nbckpt.storage.index_frames import RAW, SEALED, ZEROS, ZSTD, Name, Place

if TYPE_CHECKING:
    import zstandard

LEVEL = 1
SMALLEST_BYTES = 128  # below, a compressed frame saves nothing that is worth a look
SAMPLE_BYTES = 4096
WORTH = 0.9


class Press:
    """Compresses chunks; not for two threads at once."""

    def __init__(self) -> None:
        self._compressor: zstandard.ZstdCompressor | None = None

    def form(self, data: memoryview) -> tuple[int, memoryview | bytes]:
        """The codec of a chunk and its bytes on disk, where they need not be mapped."""
        if len(data) < SMALLEST_BYTES or (
            len(data) >= 4 * SAMPLE_BYTES and not self._shrinks(_sample(data))
        ):
            return RAW, data
        pressed = self._press(data)
        return (ZSTD, pressed) if len(pressed) < WORTH * len(data) else (RAW, data)

    def _shrinks(self, sample: memoryview) -> bool:
        return len(self._press(sample)) < WORTH * len(sample)

    def _press(self, data: memoryview) -> bytes:
        if self._compressor is None:
            import zstandard

            self._compressor = zstandard.ZstdCompressor(LEVEL)
        return self._compressor.compress(data)


def _sample(data: memoryview) -> memoryview:
    middle = len(data) // 2
    return data[middle : middle + SAMPLE_BYTES]


def is_zeros(name: Name, data: memoryview) -> bool:
    """True if a chunk holds nothing but zeros: then it needs no bytes on disk."""
    return not data[0] and not data[-1] and name == _name_of_zeros(len(data))


@lru_cache(64)
def _name_of_zeros(size: int) -> Name:
    return blake3(bytes(size)).digest()


class Expander:
    """Gives chunks back from their bytes on disk; not for two threads at once.

    Parameters
    ----------
    cipher
        Of a store that is encrypted: of that no bytes count that are not sealed.
    """

    def __init__(self, cipher: Cipher | None = None) -> None:
        self._cipher = cipher
        self._decompressor: zstandard.ZstdDecompressor | None = None

    def bytes_of(
        self, place: Place, stored: memoryview | bytes, name: Name
    ) -> memoryview | bytes | None:
        """The bytes of a chunk; None if what is stored is not whole, or of a form not known."""
        if len(stored) != place.length:
            return None
        if place.codec == ZEROS:
            return bytes(place.size)
        if bool(place.codec & SEALED) != (self._cipher is not None):
            return None
        codec, data = place.codec & ~SEALED, stored
        if self._cipher is not None:
            opened = self._cipher.chunks.open(stored, name)
            if opened is None:
                return None
            data = opened
        if codec == RAW:
            return data
        return self._expanded(place, data) if codec == ZSTD else None

    def _expanded(self, place: Place, stored: memoryview | bytes) -> bytes | None:
        import zstandard

        if self._decompressor is None:
            self._decompressor = zstandard.ZstdDecompressor()
        try:
            # Asked first: a damaged frame may say that it grows to any size.
            if zstandard.frame_content_size(stored) != place.size:
                return None
            return self._decompressor.decompress(stored)
        except zstandard.ZstdError:
            return None
