"""Tables of an encrypted store: whole Parquet files, sealed, and opened into memory alone."""

from __future__ import annotations

from pathlib import Path

from blake3 import blake3

from nbckpt.errors import FormatError
from nbckpt.storage.ciphers import Cipher
from nbckpt.storage.disk import read_whole

SUFFIX = ".sealed"
MAGIC = b"\x93NBTABL\n"
SUM_BYTES = 32


def sealed_file(cipher: Cipher, parquet: bytes | memoryview, name: str) -> bytes:
    """The file `name` of a table: a mark, a digest of what follows, and the sealed Parquet."""
    sealed = cipher.tables.seal(parquet, name.encode())
    return MAGIC + blake3(sealed).digest() + sealed


def opened_file(cipher: Cipher, path: Path) -> bytes:
    """The Parquet in a sealed file.

    Raises
    ------
    FormatError
        If it is damaged, or of another name or key.
    OSError
        If it cannot be read.
    """
    data = read_whole(path)
    start = len(MAGIC) + SUM_BYTES
    opened = cipher.tables.open(memoryview(data)[start:], path.name.encode())
    if opened is None or data[: len(MAGIC)] != MAGIC:
        message = f"table {path.name} is damaged, or belongs elsewhere"
        raise FormatError(message)
    return opened


def is_whole(data: bytes) -> bool:
    """True if a sealed file is as it was written; that can be told without the key."""
    start = len(MAGIC) + SUM_BYTES
    digest = blake3(memoryview(data)[start:]).digest()
    return data[: len(MAGIC)] == MAGIC and data[len(MAGIC) : start] == digest
