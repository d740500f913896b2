"""Parts → chunks in packs: what the store has is not written again.

What is written is what was hashed: another thread may write to a buffer meanwhile, so its bytes
are copied first. Where the kernel tells which pages were written, chunks whose names still hold
and that the store has are not even read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from blake3 import blake3

from nbckpt.digests import Digest
from nbckpt.runtime.interrupts import breathe
from nbckpt.storage.batches import Batches
from nbckpt.storage.blobs import Part, flat, is_stream, tree_of
from nbckpt.storage.chunk_forms import Press
from nbckpt.storage.cutting import by_content, evenly
from nbckpt.storage.index_frames import RAW, Name
from nbckpt.storage.large_parts import LargePart
from nbckpt.storage.packs import MAPPED_BYTES
from nbckpt.storage.similar_streams import LEAST_BYTES, SimilarStreams

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Putter:
    """Puts the parts of blobs into `batches`, whose lock the caller holds."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches
        self._press = Press()
        self._similar = SimilarStreams()

    def put(self, blobs: Iterable[Sequence[Buffer]]) -> list[Digest]:
        """The digests of blobs whose bytes are in the kernel's hands when this returns."""
        digests = [self._put_blob(parts) for parts in blobs]
        self._batches.flush()
        return digests

    def _put_blob(self, parts: Sequence[Buffer]) -> Digest:
        tree = tree_of([self._part(number, part) for number, part in enumerate(parts)])
        for group in tree.groups:
            self._put_small(memoryview(group), may_shrink=False)
        # A reader that knows nothing of the blob begins here, so it is never compressed.
        return self._put_small(memoryview(tree.root), may_shrink=False).hex()

    def _part(self, number: int, part: Buffer) -> Part:
        view = flat(part)
        if is_stream(number, part):
            names = self._put_stream(view)
        elif len(view) >= MAPPED_BYTES:
            names = LargePart(self._batches, view).put()
        else:
            # One chunk: as it is at this instant.
            names = [self._put_small(memoryview(bytes(chunk))) for chunk in evenly(view)]
        return Part(len(view), memoryview(part).readonly, tuple(names))

    def _put_stream(self, view: memoryview) -> list[Name]:
        stream = view.obj
        if not isinstance(stream, bytes) or len(stream) < LEAST_BYTES:
            return [self._put_small(chunk) for chunk in by_content(view)]
        return self._similar.put(stream, self._batches.has, self._put_small)

    def _put_small(self, data: memoryview, *, may_shrink: bool = True) -> Name:
        """The name of a chunk that is never mapped, and whose bytes nobody changes."""
        name = blake3(data).digest()
        if not self._batches.has(name):
            breathe()
            codec, stored = self._press.form(data) if may_shrink else (RAW, data)
            pack, place = self._batches.reserve(name, len(stored), size=len(data), codec=codec)
            pack.hold(place, stored)
        return name
