"""The blobs of a store: put, found and read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from nbckpt.digests import Digest
from nbckpt.model import Record
from nbckpt.runtime.interrupts import whole
from nbckpt.storage import journal_lines
from nbckpt.storage.chunk_index import Index
from nbckpt.storage.index_frames import Batch, Name, Place, Verified
from nbckpt.storage.known_records import KnownRecords
from nbckpt.storage.size_limit import Room
from nbckpt.storage.writer import Writer

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from nbckpt.storage.reader import Reader


class StoredBlobs:
    """Bytes by digest, whichever session put them.

    Parameters
    ----------
    verified
        Chunks whose bytes are known to be right.
    """

    def __init__(self, path: Path, index: Index, known: KnownRecords, verified: Verified) -> None:
        self._path = path
        self._index = index
        self._known = known
        self._verified = verified

    def begin(self, writer: Writer) -> None:
        """Put with `writer` from now on; again in a forked child."""
        self._writer = writer
        self._room = Room(self._path, writer)

    def put(self, blobs: Sequence[Sequence[Buffer]], *, within: int | None = None) -> list[Digest]:
        """The digests of blobs; within `Store.writing`: see `Store.put_blobs`."""
        from nbckpt.storage.blobs import size_of_parts

        if not self._known.has_looked:
            self._known.look()  # so that what other sessions stored is not stored again
        wanted = 0 if within is None else sum(map(size_of_parts, blobs))
        with self._room.within(within, wanted) as room:
            return self._writer.put_blobs(blobs, room)

    def get(self, digest: Digest, *, of: Record | None = None) -> list[memoryview]:
        """The parts of a blob: see `Store.get_blob`."""
        if isinstance(of, journal_lines.Unread) and of.near is not None:
            self._index.look_at(Batch(*of.near))
        return self._reader.read(digest)

    @whole
    def size(self, digest: Digest) -> int:
        """The bytes of all parts together.

        Raises
        ------
        BlobNotFoundError
            If the store does not hold the blob.
        """
        return self._reader.size(digest)

    @whole
    def has(self, digest: Digest) -> bool:
        """True if every chunk of the blob has a place; their bytes are not looked at."""
        return self._reader.has(digest)

    @whole
    def can_rely_on(self, digest: Digest) -> bool:
        """True if a record that is written now may name a blob without putting it again."""
        return self._relied_on.has(digest)

    @cached_property
    def _reader(self) -> Reader:
        return self._reading(self._find)

    @cached_property
    def _relied_on(self) -> Reader:
        return self._reading(self._find_durable)

    def _reading(self, find: Callable[[Name], Place | None]) -> Reader:
        # Not before bytes are asked for: a look at the history needs records alone.
        from nbckpt.storage.reader import Reader

        look_again, forget = self._known.look_again, self._index.forget
        return Reader(self._path / "packs", find, self._verified, forget, look_again)

    def _find(self, name: Name) -> Place | None:
        place = self._writer.find(name) or self._index.place(name)
        if place is None:
            self._known.look()
            place = self._index.search(name)
        return place

    def _find_durable(self, name: Name) -> Place | None:
        """The place of a chunk that new records may rely upon."""
        return self._writer.find(name) or self._index.find(name)
