"""Check of a store's packs: every chunk is read, and its bytes are verified."""

from __future__ import annotations

from collections.abc import Callable, Container
from pathlib import Path
from typing import TypeAlias

from blake3 import blake3

from nbckpt.storage import file_calls
from nbckpt.storage.check_report import Kind
from nbckpt.storage.chunk_forms import Expander
from nbckpt.storage.chunk_search import salvaged
from nbckpt.storage.ciphers import cipher_of
from nbckpt.storage.disk import files_in, read_at
from nbckpt.storage.index_frames import Frame, Name, Place
from nbckpt.storage.packs import HEADER, SUFFIX, find_frames, header_problem, open_pack
from nbckpt.storage.sizes import size_of_file

Tell: TypeAlias = Callable[[Kind, str, str], None]
"""Takes a problem: its kind, where it is and what it concerns."""


class CheckedPacks:
    """Packs of a store, as they are read and verified.

    Parameters
    ----------
    path
        Folder of the store.

    Attributes
    ----------
    sound
        Chunks whose bytes are right, and where they lie.
    bad
        Chunks whose bytes are wrong somewhere.
    spoiled
        All places of wrong bytes.
    count, chunks, size_bytes
        Numbers of packs and chunks that were read, and the bytes of their files.
    """

    def __init__(self, path: Path, tell: Tell) -> None:
        self.sound: dict[Name, Place] = {}
        self.bad: dict[Name, Place] = {}
        self.spoiled: set[Place] = set()
        self.count = self.chunks = self.size_bytes = 0
        self._folder = path / "packs"
        self._tell = tell
        self._cipher = cipher_of(path)
        self._expander = Expander(self._cipher)

    def read(self, named: Container[str]) -> dict[str, list[Frame]]:
        """The frames of each pack, with every chunk in them verified.

        Parameters
        ----------
        named
            Packs that journals name.
        """
        frames: dict[str, list[Frame]] = {}
        for path in files_in(self._folder, SUFFIX):
            self.count += 1
            if size_of_file(path) < HEADER.size and path.stem not in named:
                self._tell("unreachable", f"pack {path.stem}", "begun, and nothing written")
                continue
            try:
                frames[path.stem] = self._read_pack(path.stem, is_named=path.stem in named)
            except FileNotFoundError:  # taken since it was listed: who names it misses it
                self.count -= 1
            except OSError as error:
                self._tell("damaged", f"pack {path.stem}", f"cannot be read: {error.strerror}")
        return frames

    def _read_pack(self, pack: str, *, is_named: bool) -> list[Frame]:
        fd = open_pack(self._folder, pack)
        try:
            if problem := header_problem(fd):
                # Zeros: the power went before anything was promised of it.
                lost = not is_named and not any(read_at(fd, HEADER.size, 0))
                self._tell("unreachable" if lost else "damaged", f"pack {pack}", problem)
            frames = list(find_frames(fd, pack, cipher=self._cipher))
            for frame in frames:
                for name, place in frame.chunks:
                    self._read_chunk(fd, name, place)
            size = file_calls.files.fstat(fd).st_size
        finally:
            file_calls.files.close(fd)
        self.size_bytes += size
        if frames and size > (end := frames[-1].offset + frames[-1].length):
            self._tell("unreachable", f"pack {pack} at offset {end}", f"{size - end:,} bytes")
        return frames

    def _read_chunk(self, fd: int, name: Name, place: Place) -> None:
        self.chunks += 1
        data = self._chunk(fd, place, name)
        if data is not None and blake3(data).digest() == name:
            self.sound[name] = place
        else:
            self.bad[name] = place
            self.spoiled.add(place)

    def salvage(self, pack: str, offset: int) -> None:
        """Take what entries of a damaged frame are right: readers find their chunks, too."""
        fd = open_pack(self._folder, pack)
        try:
            for name, place in salvaged(fd, pack, offset, self._cipher):
                if name not in self.sound:
                    data = self._chunk(fd, place, name)
                    if data is not None and blake3(data).digest() == name:
                        self.sound[name] = place
        finally:
            file_calls.files.close(fd)

    def bytes_of(self, name: Name) -> memoryview | bytes:
        """The bytes of a sound chunk."""
        place = self.sound[name]
        fd = open_pack(self._folder, place.pack)
        try:
            return self._chunk(fd, place, name) or b""
        finally:
            file_calls.files.close(fd)

    def _chunk(self, fd: int, place: Place, name: Name) -> memoryview | bytes | None:
        return self._expander.bytes_of(place, read_at(fd, place.length, place.offset), name)
