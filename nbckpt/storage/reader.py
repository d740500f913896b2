"""Read blobs: find their chunks, verify each once, and bring parts back, mapped where possible."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from blake3 import blake3

from nbckpt.digests import Digest
from nbckpt.errors import BlobNotFoundError, FormatError
from nbckpt.storage.blobs import Part, decode_tree
from nbckpt.storage.mapping import Run, gather
from nbckpt.storage.packs import RAW, Name, Place, open_pack


class Reader:
    """Blobs of one store.

    Parameters
    ----------
    find
        The place of a chunk, or None.
    verified
        Chunks whose bytes are known to be right in this process; grows.
    damaged
        Called with each chunk that turns out damaged.
    """

    def __init__(
        self,
        folder: Path,
        find: Callable[[Name], Place | None],
        verified: set[Name],
        damaged: Callable[[Name], None],
    ) -> None:
        self._folder = folder
        self._find = find
        self._verified = verified
        self._damaged = damaged

    def parts(self, digest: Digest) -> list[Part]:
        """The tree of a blob."""
        with self._packs() as packs:
            return self._tree(digest, packs)

    def read(self, digest: Digest) -> list[memoryview]:
        """The parts of a blob.

        Raises
        ------
        BlobNotFoundError
            If the store does not hold it.
        FormatError
            If it is damaged.
        """
        with self._packs() as packs:
            return [self._part(digest, part, packs) for part in self._tree(digest, packs)]

    @contextmanager
    def _packs(self) -> Iterator[_Packs]:
        # Descriptors live as long as one call: nothing to share with threads or forked children,
        # and a mapping stays when its descriptor goes.
        packs = _Packs(self._folder)
        try:
            yield packs
        finally:
            packs.close()

    def _tree(self, digest: Digest, packs: _Packs) -> list[Part]:
        name = _name_of(digest)
        if self._find(name) is None:
            message = (
                f"the store does not hold blob {digest[:12]}…; `nbckpt check` lists what is missing"
            )
            raise BlobNotFoundError(message)
        parts = decode_tree(gather([self._run(digest, name, packs)]))
        if parts is None:
            message = f"blob {digest[:12]}… is no blob but a chunk of one"
            raise BlobNotFoundError(message)
        return parts

    def _part(self, digest: Digest, part: Part, packs: _Packs) -> memoryview:
        runs = [self._run(digest, name, packs) for name in part.names]
        if sum(run.length for run in runs) != part.size:
            message = f"blob {digest[:12]}… is damaged: its parts and their sizes do not agree"
            raise FormatError(message)
        memory = gather(runs)
        return memory.toreadonly() if part.readonly else memory

    def _run(self, digest: Digest, name: Name, packs: _Packs) -> Run:
        place = self._find(name)
        if place is None:
            message = (
                f"blob {digest[:12]}… lacks a chunk that no pack holds;"
                " `nbckpt check` lists what else is missing"
            )
            raise BlobNotFoundError(message)
        try:
            run = Run(packs.open(place.pack), place.offset, place.length)
            sound = place.codec == RAW and (name in self._verified or packs.holds(name, run))
        except (OSError, FormatError) as error:
            raise self._damage(digest, name, place) from error
        if not sound:
            raise self._damage(digest, name, place)
        self._verified.add(name)
        return run

    def _damage(self, digest: Digest, name: Name, place: Place) -> FormatError:
        self._damaged(name)
        return FormatError(
            f"blob {digest[:12]}… is damaged: pack {place.pack} at offset {place.offset};"
            " `nbckpt check` lists what else is"
        )


class _Packs:
    """Descriptors of the packs that one call reads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._fds: dict[str, int] = {}
        self._scratch = bytearray()

    def open(self, pack: str) -> int:
        if pack not in self._fds:
            self._fds[pack] = open_pack(self._folder, pack)
        return self._fds[pack]

    def holds(self, name: Name, run: Run) -> bool:
        """Whether the bytes of a run are those that `name` names.

        They are read, not mapped: a disk error is then an error and not the end of the process.
        """
        if len(self._scratch) < run.length:
            self._scratch = bytearray(run.length)
        data = memoryview(self._scratch)[: run.length]
        return _read_into(run, data) == run.length and blake3(data).digest() == name

    def close(self) -> None:
        for fd in self._fds.values():
            os.close(fd)


def _read_into(run: Run, data: memoryview) -> int:
    done = 0
    while done < run.length:
        count = os.preadv(run.fd, [data[done:]], run.offset + done)
        if count == 0:
            break
        done += count
    return done


def _name_of(digest: Digest) -> Name:
    try:
        return bytes.fromhex(digest)
    except ValueError:
        message = f"{digest!r} is no digest"
        raise BlobNotFoundError(message) from None
