"""Where every chunk of the store lies: learned from batches in journals, else by a search.

A chunk that a journal's batch names is durable and may be used again by anyone. One that only a
search found (its journal is damaged, or its writer died a moment too early) can be read, and is
not relied upon by new blobs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from nbckpt.storage import system
from nbckpt.storage.ciphers import cipher_of
from nbckpt.storage.entries import Entries, Window
from nbckpt.storage.packs import (
    NO_FRAME,
    Batch,
    Frame,
    Name,
    Place,
    RawFrame,
    header_problem,
    open_pack,
    raw_frame,
)
from nbckpt.storage.searching import Search


class Index:
    """Name of a chunk → its place.

    Frames are read when the first chunk is asked for: what only reads journals never opens a
    pack.

    Attributes
    ----------
    damages
        A sentence for each pack or index frame that cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self.damages: list[str] = []
        self._folder = folder
        self._cipher = cipher_of(folder.parent)
        self._lock = threading.RLock()
        self._unread: list[Batch] = []
        self._known: dict[Name, Place | Entries] = {}
        self._bad: set[Place] = set()
        self._frames: dict[str, set[int]] = {}
        self._search = Search(folder, self._cipher)
        self._pruned: set[str] = set()

    def expect(self, batches: Iterable[Batch]) -> None:
        """Note batches that journals name."""
        with self._lock:
            self._unread += batches

    def add(self, pack: str, frame: Frame) -> None:
        """Note a frame of this session's own, durable now."""
        with self._lock:
            self._frames.setdefault(pack, set()).add(frame.offset)
            self._known.update(frame.chunks)

    def find(self, name: Name) -> Place | None:
        """The durable place of a chunk."""
        known = self._known.get(name)
        if known is None and self._unread:
            with self._lock:
                self._read_frames()
            known = self._known.get(name)
        return known.place(name) if isinstance(known, Entries) else known

    def look_at(self, batch: Batch) -> None:
        """Know the chunks of one batch, before all others are read."""
        with self._lock:
            if not self._unread or batch.frame in self._frames.get(batch.pack, ()):
                return
            with suppress(OSError):
                fd = open_pack(self._folder, batch.pack)
                try:
                    # Not among the frames that were followed: those before it are still to come.
                    frame = raw_frame(Window(fd).read, batch.frame, batch.pack, self._cipher)
                    self._take(batch.pack, frame)
                finally:
                    system.files.close(fd)

    def search(self, name: Name) -> Place | None:
        """The place of a chunk, searching packs where no journal leads.

        One that turned out damaged is given only where there is no other.
        """
        with self._lock:
            if place := self.find(name):
                return place
            places = self._search.places(name)
            return next((p for p in places if p not in self._bad), places[0] if places else None)

    def excuse(self, packs: Iterable[str]) -> None:
        """Call it no damage that these are not there: they were pruned."""
        self._pruned = set(packs)

    def begin_anew(self) -> None:
        """Forget all places: packs are gone, and their chunks lie elsewhere."""
        with self._lock:
            self.damages = []
            self._unread, self._known, self._frames = [], {}, {}
            self._bad = set()
            self._search.begin_anew()

    def renew_lock(self) -> None:
        """In a forked child: no thread is left that could give the old lock back."""
        self._lock = threading.RLock()

    def forget(self, name: Name, place: Place) -> None:
        """Stop relying on a chunk that turned out damaged: the next put stores it again."""
        with self._lock:
            self._bad.add(place)
            self._known.pop(name, None)

    def _read_frames(self) -> None:
        while batches := self._unread:
            for pack, offsets in _by_pack(batches).items():
                self._read_pack(pack, offsets)
            # Emptied last: who finds it empty asks no lock, and everything is known then.
            self._unread = []

    def _read_pack(self, pack: str, offsets: list[int]) -> None:
        try:
            fd = open_pack(self._folder, pack)
        except OSError as error:
            if not (isinstance(error, FileNotFoundError) and pack in self._pruned):
                self.damages.append(f"pack {pack}: {error}")
            return
        try:
            if problem := header_problem(fd):
                self.damages.append(f"pack {pack}: {problem}")
            window = Window(fd)
            for offset in offsets:
                self._follow(window, pack, offset)
        finally:
            system.files.close(fd)

    def _follow(self, window: Window, pack: str, offset: int) -> None:
        """Take in a frame and those before it that no journal named."""
        seen = self._frames.setdefault(pack, set())
        while offset != NO_FRAME and offset not in seen:
            seen.add(offset)
            frame = raw_frame(window.read, offset, pack, self._cipher)
            if frame is None:
                self.damages.append(f"pack {pack}: its index at offset {offset} is damaged")
                self._search.note_broken(pack, offset)
                return
            self._take(pack, frame)
            offset = frame.previous

    def _take(self, pack: str, frame: RawFrame | None) -> None:
        if frame is not None:
            known, entries = self._known, Entries(pack, frame.entries)
            for (name,) in entries.names():
                known[name] = entries


def _by_pack(batches: Iterable[Batch]) -> dict[str, list[int]]:
    grouped: dict[str, list[int]] = {}
    for pack, offset in batches:
        grouped.setdefault(pack, []).append(offset)
    return grouped
