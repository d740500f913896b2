"""Files that take their name when they are whole, and not before."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from nbckpt.storage import file_calls
from nbckpt.storage.disk import OWN, create, sync_folder, write_at

if TYPE_CHECKING:
    from typing_extensions import Buffer


class NewFile(io.RawIOBase):
    """A file that is filled from its start on.

    Attributes
    ----------
    refusal
        What the disk said to a write that it refused: not all who write here hand it on.
    """

    def __init__(self, fd: int) -> None:
        self.refusal: OSError | None = None
        self._fd = fd
        self._end = 0

    def writable(self) -> bool:
        """Yes: that is all that can be done with it."""
        return True

    def tell(self) -> int:
        """Number of bytes written."""
        return self._end

    def write(self, data: Buffer, /) -> int:
        """Write all of `data`."""
        size = memoryview(data).nbytes
        try:
            write_at(self._fd, data, self._end)
        except OSError as error:
            self.refusal = error
            raise
        self._end += size
        return size


@contextmanager
def create_beside(path: Path, *, mode: int = OWN) -> Iterator[NewFile]:
    """An empty file to fill, which takes the name `path`, durably, when the block ends well.

    Readers see the old file or the whole new one. A crash leaves a file whose name begins with
    a dot and ends in ``.tmp``, which nothing reads.
    """
    beside = path.parent / f".{path.name}.{os.urandom(4).hex()}.tmp"
    fd = create(beside, mode=mode)
    try:
        yield NewFile(fd)
        file_calls.files.fsync(fd)
        file_calls.files.rename(beside, path)
    except BaseException:
        with suppress(OSError):
            file_calls.files.unlink(beside)
        raise
    finally:
        file_calls.files.close(fd)
    sync_folder(path.parent)
