"""Read blobs: find their chunks, verify each once, and bring parts back, mapped where possible."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

from blake3 import blake3

from nbckpt.digests import Digest
from nbckpt.errors import BlobNotFoundError, FormatError
from nbckpt.runtime.dirty_pages.memory import look
from nbckpt.runtime.interrupts import breathe
from nbckpt.storage.blobs import NAME_BYTES, Part, decode_root, names_in
from nbckpt.storage.chunk_forms import Expander
from nbckpt.storage.ciphers import Cipher, cipher_of
from nbckpt.storage.cutting import GROUP_MAX_NAMES
from nbckpt.storage.index_frames import RAW, SEALED, ZEROS, Name, Place, Verified
from nbckpt.storage.mapping import ZEROS_FD, Run, can_map, gather, join_runs, new_memory
from nbckpt.storage.packs import CHUNK_BYTES, MAPPED_BYTES
from nbckpt.storage.parallel import Pieces, each, threads_for
from nbckpt.storage.spans import SPAN_BYTES, PackGoneError, Packs, Span, spans_of

T = TypeVar("T")

PARALLEL_SPANS = 4


class Reader:
    """Blobs of one store.

    Parameters
    ----------
    find
        The place of a chunk, or None.
    verified
        Chunks whose bytes are known to be right in this process; grows.
    damaged
        Called with each chunk that turns out damaged, and its place; `find` knows another one
        then, if there is one.
    look_again
        Called when a pack is gone; `find` knows other places then.
    """

    def __init__(
        self,
        folder: Path,
        find: Callable[[Name], Place | None],
        verified: Verified,
        damaged: Callable[[Name, Place], None],
        look_again: Callable[[], None],
    ) -> None:
        self._folder = folder
        self._cipher = cipher_of(folder.parent)
        self._find = find
        self._verified = verified
        self._damaged = damaged
        self._look_again = look_again

    def size(self, digest: Digest) -> int:
        """The bytes of all parts of a blob.

        Raises
        ------
        BlobNotFoundError
            If the store does not hold it.
        """
        return self._of(digest, lambda blob: sum(part.size for part in blob.root()))

    def has(self, digest: Digest) -> bool:
        """True if every chunk of a blob has a place; only its tree is read."""
        try:
            names = self.chunks(digest)
        except BlobNotFoundError:
            return False
        return all(self._find(name) is not None for name in names)

    def chunks(self, digest: Digest) -> list[Name]:
        """The chunks of a blob, its tree's first, each group's once. Only its tree is read.

        Raises
        ------
        BlobNotFoundError
            If the store does not hold its tree.
        FormatError
            If its tree is damaged.
        """

        def names(blob: _Blob) -> list[Name]:
            parts = blob.root()
            groups = {name: None for part in parts if part.grouped for name in part.names}
            own = (name for part in parts if not part.grouped for name in part.names)
            return [_name_of(digest), *groups, *own, *blob.names_in_groups(list(groups))]

        return self._of(digest, names)

    def read(self, digest: Digest) -> list[memoryview]:
        """The parts of a blob.

        Raises
        ------
        BlobNotFoundError
            If the store does not hold it.
        FormatError
            If it is damaged.
        """

        def parts(blob: _Blob) -> list[memoryview]:
            root = blob.root()
            # What is immutable and comes first is a stream, by custom: code, which is not mapped,
            # since who can write to the pack could still change it.
            return [blob.part(p, may_map=n > 0 or not p.readonly) for n, p in enumerate(root)]

        return self._of(digest, parts)

    def _of(self, digest: Digest, ask: Callable[[_Blob], T]) -> T:
        """The answer of `ask` about a blob; asked again when a pack has gone meanwhile."""
        try:
            return self._once(digest, ask)
        except PackGoneError:
            self._look_again()
        try:
            return self._once(digest, ask)
        except PackGoneError as gone:
            message = (
                f"the store does not hold blob {digest[:12]}… any more: pack {gone} is gone;"
                " `nbckpt check` lists what is missing"
            )
            raise BlobNotFoundError(message) from None

    def _once(self, digest: Digest, ask: Callable[[_Blob], T]) -> T:
        """The answer of `ask` about a blob; a damaged chunk is looked for elsewhere."""
        while True:
            packs = Packs(self._folder)
            blob = _Blob(digest, packs, self._find, self._verified, self._damaged, self._cipher)
            try:
                return ask(blob)
            except FormatError:
                if blob.damaged is None:
                    raise
                name, place = blob.damaged
                if self._find(name) in (None, place):
                    raise
            finally:
                packs.close()


class _Blob:
    """One blob that is being read.

    Attributes
    ----------
    damaged
        A chunk that cannot be read, and where that was tried; None as long as there is none.
    """

    def __init__(
        self,
        digest: Digest,
        packs: Packs,
        find: Callable[[Name], Place | None],
        verified: Verified,
        damaged: Callable[[Name, Place], None],
        cipher: Cipher | None,
    ) -> None:
        self._digest = digest
        self._packs = packs
        self._find = find
        self._verified = verified
        self._tell_damaged = damaged
        self.damaged: tuple[Name, Place] | None = None
        self._cipher = cipher
        self._expander = Expander(cipher)  # of the thread that reads

    def root(self) -> list[Part]:
        """Its parts, as its tree's root names them."""
        name = _name_of(self._digest)
        if (place := self._find(name)) is None:
            message = (
                f"the store does not hold blob {self._digest[:12]}…;"
                " `nbckpt check` lists what is missing"
            )
            raise BlobNotFoundError(message)
        parts = decode_root(self._filled([name], [place])) if _is_plain(place) else None
        if parts is None:
            message = f"blob {self._digest[:12]}… is no blob but a chunk of one"
            raise BlobNotFoundError(message)
        return parts

    def names(self, part: Part) -> Sequence[Name]:
        """The chunks of one of its parts."""
        return self.names_in_groups(part.names) if part.grouped else part.names

    def names_in_groups(self, groups: Sequence[Name]) -> Sequence[Name]:
        """The chunks that groups name.

        Raises
        ------
        FormatError
            If one is no group: it would name more than is stored of it.
        """
        places = self._places(groups)
        for place in places:
            if not _is_plain(place) or place.size > GROUP_MAX_NAMES * NAME_BYTES:
                message = f"blob {self._digest[:12]}… is damaged: what names its chunks is no group"
                raise FormatError(message)
        return names_in(self._filled(groups, places))

    def part(self, part: Part, *, may_map: bool) -> memoryview:
        """The bytes of one of its parts."""
        names = self.names(part)
        places = self._places(names)
        if sum(place.size for place in places) != part.size:
            message = f"blob {self._digest[:12]}… is damaged: its parts and sizes do not agree"
            raise FormatError(message)
        memory = self._mapped(names, places) if may_map else None
        if memory is None:
            memory = self._filled(names, places)
        if len(memory) >= MAPPED_BYTES and all(p.size == CHUNK_BYTES for p in places[:-1]):
            known = look(memory)  # so that the next put need not read it
            for index, name in enumerate(names):
                known.learn(index, name)
        return memory.toreadonly() if part.readonly else memory

    def _places(self, names: Sequence[Name]) -> list[Place]:
        places = []
        for name in names:
            place = self._find(name)
            if place is None:
                message = (
                    f"blob {self._digest[:12]}… lacks a chunk that no pack holds;"
                    " `nbckpt check` lists what else is missing"
                )
                raise BlobNotFoundError(message)
            places.append(place)
        return places

    # -- mapped

    def _mapped(self, names: Sequence[Name], places: Sequence[Place]) -> memoryview | None:
        """The chunks in one mapped range, each verified; None if they do not lie so."""
        if sum(place.size for place in places) < MAPPED_BYTES:
            return None
        if any(place.codec not in (RAW, ZEROS) for place in places):
            return None
        try:
            runs = join_runs([self._run(place) for place in places])
        except (OSError, FormatError) as error:
            self._give_up(names[0], places[0], error)
        if not can_map(runs):
            return None
        self._verify(names, places)
        try:
            return gather(runs)
        except (OSError, EOFError) as error:
            self._give_up(names[0], places[0], error)

    def _run(self, place: Place) -> Run:
        if place.codec == ZEROS:
            return Run(ZEROS_FD, 0, place.size)
        return Run(self._packs.open(place.pack), place.offset, place.length)

    def _verify(self, names: Sequence[Name], places: Sequence[Place]) -> None:
        """Read what this process has not verified yet, in several threads where it is much.

        It is read, not mapped: a disk error is then an error and not the end of the process.
        """
        unverified = {
            name: place
            for name, place in zip(names, places, strict=True)
            if (name, place) not in self._verified
        }
        spans = list(spans_of(list(unverified), list(unverified.values())))

        def work(pieces: Pieces) -> None:
            scratch = memoryview(bytearray(SPAN_BYTES))
            expander = Expander(self._cipher)
            while (number := pieces.take()) is not None:
                breathe()
                for _ in self._chunks(spans[number], scratch, expander):
                    pass

        if spans:
            each(len(spans), work, threads=threads_for(len(spans), enough=PARALLEL_SPANS))

    # -- read

    def _filled(self, names: Sequence[Name], places: Sequence[Place]) -> memoryview:
        """The chunks read into memory, one after the other, each verified."""
        memory = new_memory(sum(place.size for place in places))
        length = min(SPAN_BYTES, sum(place.length for place in places))
        spans = list(spans_of(names, places))

        def fill(span: Span, scratch: memoryview, expander: Expander) -> None:
            for at, data in self._chunks(span, scratch, expander):
                memory[at : at + len(data)] = data

        def work(pieces: Pieces) -> None:
            scratch = memoryview(bytearray(length))
            expander = Expander(self._cipher)
            while (number := pieces.take()) is not None:
                breathe()
                fill(spans[number], scratch, expander)

        if len(spans) == 1:
            fill(spans[0], memoryview(bytearray(length)), self._expander)
        elif spans:
            each(len(spans), work, threads=threads_for(len(spans), enough=PARALLEL_SPANS))
        return memory

    def _chunks(
        self, span: Span, scratch: memoryview, expander: Expander
    ) -> Iterator[tuple[int, memoryview | bytes]]:
        """The chunks of a span, each with its offset in the part; valid until the next span."""
        try:
            stored = self._packs.read(span, scratch)
        except (OSError, FormatError) as error:
            self._give_up(span.chunks[0][1], span.chunks[0][2], error)
        for at, name, place in span.chunks:
            start = place.offset - span.offset
            data = expander.bytes_of(place, stored[start : start + place.length], name)
            # Each time: what is read again may be other bytes by now.
            if data is None or blake3(data).digest() != name:
                self._give_up(name, place)
            self._verified.add((name, place))
            yield at, data

    def _give_up(self, name: Name, place: Place, error: BaseException | None = None) -> NoReturn:
        self._tell_damaged(name, place)
        self.damaged = name, place
        message = (
            f"blob {self._digest[:12]}… is damaged: pack {place.pack} at offset {place.offset};"
            " `nbckpt check` lists what else is"
        )
        raise FormatError(message) from error


def _is_plain(place: Place) -> bool:
    """True if a chunk lies as it is, as what names others always does."""
    return place.codec & ~SEALED == RAW


def _name_of(digest: Digest) -> Name:
    try:
        return bytes.fromhex(digest)
    except ValueError:
        message = f"{digest!r} is no digest"
        raise BlobNotFoundError(message) from None
