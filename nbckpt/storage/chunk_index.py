"""Where every chunk of the store lies: learned from batches in journals, else by a search.

A chunk that a trusted record of a batch names is durable, and may be used again. One that another's
record names, or that only a search found (its journal is damaged, or its writer died a moment too
early), can be read, and is not relied upon by new blobs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbckpt.storage import file_calls
from nbckpt.storage.ciphers import cipher_of
from nbckpt.storage.disk import reread
from nbckpt.storage.frame_entries import Entries, Window
from nbckpt.storage.index_frames import (
    NO_FRAME,
    Batch,
    Frame,
    Name,
    Place,
    RawFrame,
    chained,
    raw_frame,
)
from nbckpt.storage.packs import header_problem, open_pack

if TYPE_CHECKING:
    from nbckpt.storage.chunk_search import Search


class Index:
    """Name of a chunk → its place.

    Frames are read when the first chunk is asked for: what only reads journals never opens a
    pack.

    Attributes
    ----------
    damages
        A sentence for each pack or index frame that cannot be read.
    unreadable
        Name of each pack that the disk did not give → what of that is told; it is asked again
        when there is news.
    """

    def __init__(self, folder: Path) -> None:
        self.damages: list[str] = []
        self.unreadable: dict[str, str] = {}
        self._folder = folder
        self._cipher = cipher_of(folder.parent)
        self._lock = threading.RLock()
        self._unread: list[Batch] = []
        self._refused: dict[str, list[Batch]] = {}
        self._known: dict[Name, Place | Entries] = {}
        self._offered: dict[Name, Entries] = {}
        self._bad: set[Place] = set()
        self._frames: dict[str, set[int]] = {}  # those that are relied upon
        self._offers: dict[str, set[int]] = {}
        self._search: Search | None = None
        self._pruned: set[str] = set()

    def expect(self, batches: Iterable[Batch]) -> None:
        """Note batches that journals name."""
        with self._lock:
            self._unread += batches
            for pack, told in self.unreadable.items():  # perhaps the disk gives them now
                self._unread += self._refused.pop(pack)
                self.damages.remove(told)
            self.unreadable = {}

    def add(self, pack: str, frame: Frame) -> None:
        """Note a frame of this session's own, durable now."""
        with self._lock:
            self._frames.setdefault(pack, set()).add(frame.offset)
            self._known.update(frame.chunks)

    def find(self, name: Name) -> Place | None:
        """The durable place of a chunk, which new records may rely upon."""
        known = self._known.get(name)
        if known is None and self._unread:
            with self._lock:
                self._read_frames()
            known = self._known.get(name)
        return known.place(name) if isinstance(known, Entries) else known

    def place(self, name: Name) -> Place | None:
        """Where to read a chunk: a frame that nobody vouches for serves, for what is read of it."""
        known = self._known.get(name) or self._offered.get(name)
        if known is None:
            return self.find(name) or self._offer_of(name)
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
                    if frame is not None:
                        self._take(self._offered, batch.pack, frame)
                finally:
                    file_calls.files.close(fd)

    def search(self, name: Name) -> Place | None:
        """The place of a chunk, searching packs where no journal leads.

        One that turned out damaged is given only where there is no other.
        """
        with self._lock:
            place = self.find(name) or self._offer_of(name)
            if place is not None and place not in self._bad:
                return place
            places = self._searching().places(name)
            return next((p for p in places if p not in self._bad), places[0] if places else None)

    def vouched(self, pack: str, offset: int) -> Batch | None:
        """A batch that vouches for a frame and all before it; None if one is not relied upon.

        Raises
        ------
        OSError
            If the pack cannot be read.
        """
        with self._lock:
            self._read_frames()
            relied, fd = self._frames.get(pack, set()), open_pack(self._folder, pack)
            try:
                frames = list(self._before(Window(fd), pack, offset))
            finally:
                file_calls.files.close(fd)
        if not frames or not relied.issuperset(at for at, _ in frames):
            return None
        before = chained(frame.sum for _, frame in frames[1:]) if frames[1:] else b""
        return Batch(pack, offset, frames[0][1].sum, before)

    def excuse(self, packs: Iterable[str]) -> None:
        """Call it no damage that these are not there: they were pruned."""
        self._pruned = set(packs)

    def begin_anew(self) -> None:
        """Forget all places: packs are gone, and their chunks lie elsewhere."""
        with self._lock:
            self.damages, self.unreadable, self._refused = [], {}, {}
            self._unread, self._known, self._frames = [], {}, {}
            self._offered, self._offers = {}, {}
            self._bad = set()
            self._search = None

    def renew_lock(self) -> None:
        """In a forked child: no thread is left that could give the old lock back."""
        self._lock = threading.RLock()

    def forget(self, name: Name, place: Place) -> None:
        """Stop relying on a chunk that turned out damaged: the next put stores it again."""
        with self._lock:
            self._bad.add(place)
            self._known.pop(name, None)
            self._offered.pop(name, None)

    def _read_frames(self) -> None:
        while batches := self._unread:
            for pack, own in _by_pack(batches).items():
                self._read_pack(pack, own)
            # Emptied last: who finds it empty asks no lock, and everything is known then.
            self._unread = []

    def _read_pack(self, pack: str, batches: list[Batch]) -> None:
        try:
            reread(partial(self._read_whole, pack, batches))
        except FileNotFoundError as error:
            if pack not in self._pruned:
                self.damages.append(f"pack {pack}: {error}")
        except OSError as error:
            told = f"pack {pack}: cannot be read: {(error.strerror or str(error)).lower()}"
            self.damages.append(told)
            self.unreadable[pack] = told
            self._refused[pack] = batches

    def _read_whole(self, pack: str, batches: list[Batch]) -> None:
        """Take in all of these or, where the disk refuses, none as if it had been."""
        before = self._frames.get(pack, set()).copy(), self._offers.get(pack, set()).copy()
        try:
            self._read_indexes(pack, batches)
        except OSError:
            self._frames[pack], self._offers[pack] = before
            raise

    def _read_indexes(self, pack: str, batches: list[Batch]) -> None:
        fd = open_pack(self._folder, pack)
        try:
            if problem := header_problem(fd):
                self.damages.append(f"pack {pack}: {problem}")
            window = Window(fd)
            trusted = [batch for batch in batches if batch.trusted]
            for batch in trusted:
                self._rely(window, batch)
            for batch in batches if len(trusted) < len(batches) else ():
                self._offer(window, pack, batch.frame)
        finally:
            file_calls.files.close(fd)

    def _rely(self, window: Window, batch: Batch) -> None:
        """Take in the frame that a trusted record names, if it is that one."""
        pack, offset = batch.pack, batch.frame
        seen = self._frames.setdefault(pack, set())
        if offset in seen or (frame := self._frame(window, pack, offset)) is None:
            return
        if batch.sum != frame.sum:
            self.damages.append(f"pack {pack}: its index at offset {offset} is not the one named")
            self._offer(window, pack, offset)
            return
        seen.add(offset)
        self._take(self._known, pack, frame)
        if frame.previous in seen:
            return
        if not batch.before:
            self._offer(window, pack, frame.previous)
            return
        earlier = list(self._before(window, pack, frame.previous))
        if chained(f.sum for _, f in earlier) != batch.before:
            self.damages.append(f"pack {pack}: an index before offset {offset} is not as named")
            self._offer(window, pack, frame.previous)
            return
        for at, before in earlier:
            seen.add(at)
            self._take(self._known, pack, before)

    def _offer(self, window: Window, pack: str, offset: int) -> None:
        """Take in a frame, and those before it, for what is read and not for what is written."""
        relied, seen = self._frames.get(pack, ()), self._offers.setdefault(pack, set())
        while offset != NO_FRAME and offset not in seen and offset not in relied:
            seen.add(offset)
            if (frame := self._frame(window, pack, offset)) is None:
                return
            self._take(self._offered, pack, frame)
            offset = frame.previous

    def _before(self, window: Window, pack: str, offset: int) -> Iterator[tuple[int, RawFrame]]:
        """A frame, and those before it, each with its offset."""
        while offset != NO_FRAME:
            frame = self._frame(window, pack, offset)
            if frame is None:
                return
            yield offset, frame
            # Frames lead backwards; one that does not would be followed for ever.
            offset = frame.previous if frame.previous < offset else NO_FRAME

    def _frame(self, window: Window, pack: str, offset: int) -> RawFrame | None:
        frame = raw_frame(window.read, offset, pack, self._cipher)
        if frame is None:
            damage = f"pack {pack}: its index at offset {offset} is damaged"
            if damage not in self.damages:
                self.damages.append(damage)
            self._searching().note_broken(pack, offset)
        return frame

    def _searching(self) -> Search:
        from nbckpt.storage.chunk_search import Search  # nearly nobody searches

        self._search = self._search or Search(self._folder, self._cipher)
        return self._search

    def _offer_of(self, name: Name) -> Place | None:
        entries = self._offered.get(name)
        return None if entries is None else entries.place(name)

    def _take(self, into: dict[Name, Any], pack: str, frame: RawFrame) -> None:
        entries = Entries(pack, frame.entries)
        for (name,) in entries.names():
            into[name] = entries


def _by_pack(batches: Iterable[Batch]) -> dict[str, list[Batch]]:
    grouped: dict[str, list[Batch]] = {}
    for batch in batches:
        grouped.setdefault(batch.pack, []).append(batch)
    return grouped
