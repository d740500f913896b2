"""The packs that one session appends to, and the chunks in them that are not durable yet."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from blake3 import blake3

from nbckpt.errors import FormatError, StoreError
from nbckpt.storage import file_calls
from nbckpt.storage.chunk_forms import Expander
from nbckpt.storage.chunk_index import Index
from nbckpt.storage.ciphers import cipher_of
from nbckpt.storage.disk import read_at
from nbckpt.storage.folder import require_cipher
from nbckpt.storage.index_frames import RAW, ZEROS, Batch, Frame, Name, Place, Verified
from nbckpt.storage.packs import MAPPED_BYTES, PAGE_BYTES, ROLL_BYTES, PackWriter, open_pack
from nbckpt.storage.waiting_writes import Waiting, Write


class NoRoomError(Exception):
    """The blob that is being put does not fit."""


class Batches:
    """Chunks on their way to the disk.

    Whoever adds chunks holds `lock`, from its first to its last one.

    Parameters
    ----------
    name
        With which the packs' names begin.
    verified
        Chunks whose bytes are known to be right; grows by those that are added.

    Attributes
    ----------
    cipher
        Of an encrypted store.
    added_bytes
        Of all chunks that were ever added here.
    room
        How many more may be added to them by the blobs that are being put; None: any number.
    """

    def __init__(self, folder: Path, name: str, index: Index, verified: Verified) -> None:
        self.lock = threading.Lock()
        self.waiting = Waiting()
        self._folder = folder
        self.cipher = cipher_of(folder.parent)
        self._name = name
        self._index = index
        self._verified = verified
        self.added_bytes = 0
        self.room: int | None = None
        self._packs: list[PackWriter] = []
        self._begun = 0
        self._pending: dict[Name, Place] = {}  # in the kernel's cache, not known to be durable
        self._suspect: dict[Name, Place] = {}  # of those: a sync failed, the disk may lack them
        self._frames: list[tuple[PackWriter, Frame]] = []  # written, to be synced
        self._later: list[Write] = []  # of the blobs that are being put

    def find(self, name: Name) -> Place | None:
        """The place of a chunk that is here and not durable yet."""
        place = self._pending.get(name)
        if place is not None and self.waiting:
            self.waiting.drain()  # whoever asks will read it
        return place

    def has(self, name: Name) -> bool:
        """True if a chunk is here, or durable already."""
        return name in self._pending or self._index.find(name) is not None

    @property
    def unwritten_bytes(self) -> int:
        """Bytes of the chunks that are here and not durable."""
        return sum(place.length for place in list(self._pending.values()))

    # -- adding: with the lock held

    def reserve(
        self, name: Name, length: int, *, size: int, codec: int = RAW, unit: int = 1
    ) -> tuple[PackWriter, Place]:
        """A place for a chunk, and the pack to write or hold its bytes with.

        Raises
        ------
        NoRoomError
            If the store may not become as large as that.
        """
        if self.room is not None:
            self.room -= length
            if self.room < 0:
                raise NoRoomError
        if not self._packs or self._packs[-1].end >= ROLL_BYTES:
            if not self._begun:
                require_cipher(self._folder.parent, self.cipher)
            self._begun += 1  # first: what a refusal leaves has the name
            name_of_pack = f"{self._name}-{self._begun - 1}"
            self._packs.append(PackWriter.begin(self._folder, name_of_pack, self.cipher))
        pack = self._packs[-1]
        place = pack.reserve(name, length, size=size, codec=codec, unit=unit)
        self._pending[name] = place
        self._verified.add((name, place))
        self.added_bytes += place.length
        return pack, place

    def flush(self) -> None:
        """Write what the packs hold back."""
        for pack in self._packs:
            pack.flush()

    def write_later(self, writes: Iterable[Write]) -> None:
        """Have these written before the batch is sealed, if the whole blob can be put."""
        self._later += writes

    def accept_blobs(self) -> None:
        """Note that blobs were put as a whole: what of them is to be written later will be."""
        self.waiting.add(self._later)
        self._later = []

    def ends(self) -> dict[str, int]:
        """Where each pack ends now, for `cut_back`."""
        return {pack.name: pack.end for pack in self._packs}

    def cut_back(self, ends: Mapping[str, int]) -> None:
        """Forget the chunks that lie past these ends, and give their room back to the disk."""
        self.waiting.give_back(
            {id(w.scratch): w.scratch for w in self._later if w.scratch}.values()
        )
        self._later = []
        for pack in self._packs:
            for name in pack.cut_back(ends.get(pack.name)):
                if place := self._pending.pop(name, None):
                    self.added_bytes -= place.length
                    self._verified.discard((name, place))

    # -- batches: called by the one committing thread

    def seal(self) -> list[Batch]:
        """Close and sync the batch of each pack that has new chunks.

        Raises
        ------
        StoreError
            If what was accepted once can no longer be read back.
        OSError
            If the disk refuses.
        """
        if not self._pending:
            return []
        self.waiting.drain()  # without the lock: the next cell's bytes can be put meanwhile
        try:
            with self.lock:
                self.waiting.drain()
                self._rewrite()
                for pack in self._packs:
                    if pack.open_chunks:
                        self._frames.append((pack, pack.seal()))
        except MemoryError:  # the frame of a pack may be lost
            self._distrust()
            raise
        try:
            for pack in {id(pack): pack for pack, _ in self._frames}.values():
                pack.sync()
        except (OSError, MemoryError):
            self._distrust()
            raise
        return self._accept()

    def close(self) -> None:
        """Let go of all files, as they are."""
        for pack in {id(p): p for p in [*self._packs, *(p for p, _ in self._frames)]}.values():
            with suppress(OSError):
                pack.close()
        self._packs = []

    def begin_anew(self) -> None:
        """Add no more to packs that have nothing open: somebody may have pruned them."""
        with self.lock:
            resting = [p for p in self._packs if not p.open_chunks and not self._is_framed(p)]
            for pack in resting:
                self._packs.remove(pack)
                pack.close()

    def _is_framed(self, pack: PackWriter) -> bool:
        return any(pack is framed for framed, _ in self._frames)

    def _accept(self) -> list[Batch]:
        with self.lock:
            batches = []
            for pack, frame in self._frames:
                self._index.add(pack.name, frame)
                batches.append(Batch(pack.name, frame.offset, frame.sum))
                for name, _ in frame.chunks:
                    self._pending.pop(name, None)
            self._frames = []
            self._let_go_of_full_packs()
            for pack in self._packs:
                if not pack.open_chunks:
                    pack.rest()
        return batches

    def _let_go_of_full_packs(self) -> None:
        full = [pack for pack in self._packs[:-1] if not pack.open_chunks]
        for pack in full:
            self._packs.remove(pack)
            pack.close()

    def _distrust(self) -> None:
        """After a failed sync, give up these packs: the kernel may have dropped their pages.

        Syncing once more would succeed and mean nothing [1]_. What can still be read back is
        written again, elsewhere, by the next commit.

        References
        ----------
        .. [1] Rebello et al., "Can Applications Recover from fsync Failures?", ATC 2020.
        """
        with self.lock:
            with suppress(OSError):
                self.waiting.drain()
            self.waiting.strand()
            self._suspect |= self._pending
            for pack in self._packs:
                pack.close()
            self._packs = []
            self._frames = []

    def _rewrite(self) -> None:
        if not self._suspect:
            return
        expander = Expander(self.cipher)
        for name, place in list(self._suspect.items()):
            stranded = self.waiting.stranded_at(place)
            stored = stranded or self._read_back(place)
            data = stranded or expander.bytes_of(place, stored, name)
            if data is None or blake3(data).digest() != name:
                message = (
                    f"the disk that holds {self._folder} lost bytes that it had accepted:"
                    " nothing more can be kept by this session; restart the kernel and %resume"
                )
                raise StoreError(message)
            mapped = place.codec == RAW and place.length >= MAPPED_BYTES
            pack, new = self.reserve(
                name,
                len(stored),
                size=place.size,
                codec=RAW if stranded else place.codec,  # what waits is not sealed yet
                unit=PAGE_BYTES if mapped else 1,
            )
            pack.write(new, memoryview(stored))
            del self._suspect[name]
        self.waiting.forget_stranded()

    def _read_back(self, place: Place) -> bytes:
        if place.codec == ZEROS:
            return b""
        try:
            fd = open_pack(self._folder, place.pack)
        except (FormatError, FileNotFoundError):  # its beginning is lost, or its name
            return b""
        try:
            return read_at(fd, place.length, place.offset)
        finally:
            file_calls.files.close(fd)
