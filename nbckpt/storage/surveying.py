"""Survey of a store for what can be mended, by reading all of it; nothing is changed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from blake3 import blake3

from nbckpt.model import Record
from nbckpt.storage import file_calls
from nbckpt.storage.bridging import Bridged, bridged
from nbckpt.storage.chunk_forms import Expander
from nbckpt.storage.chunk_search import salvaged
from nbckpt.storage.chunks_to_move import Pack, is_open
from nbckpt.storage.ciphers import cipher_of
from nbckpt.storage.counted_records import TABLE, counting
from nbckpt.storage.disk import exists, files_in, read_at
from nbckpt.storage.following import Journals
from nbckpt.storage.index_frames import Batch, Name, Place
from nbckpt.storage.journal import BATCH, Entry, is_live
from nbckpt.storage.journal import SUFFIX as JOURNAL
from nbckpt.storage.packs import SUFFIX, find_frames, header_problem, open_pack
from nbckpt.storage.sizes import size_of_file
from nbckpt.storage.whole_tables import is_whole


class Shape(NamedTuple):
    """A pack as it was found.

    Attributes
    ----------
    sound
        The chunks in it that are right, those among them that only a damaged index names.
    wrongs
        What is wrong with it, for people.
    frames
        Offset of each whole index frame → its sum.
    """

    name: str
    size: int
    sound: Mapping[Name, Place]
    wrongs: tuple[str, ...]
    frames: Mapping[int, bytes]

    @property
    def pack(self) -> Pack:
        """The pack with the chunks that are to be kept."""
        return Pack(self.name, self.size, self.sound)


class Survey:
    """A store that is to be mended.

    Parameters
    ----------
    now
        Seconds since the epoch.

    Attributes
    ----------
    entries
        All records, with where they stand.
    lame
        Names of the journals that can be replaced by what is left of them.
    left
        Why others cannot be, for people.
    """

    def __init__(self, path: Path, now: float) -> None:
        self.path = path
        self.left: list[str] = []
        self.journals = Journals(path / "journal")
        self.entries: list[Entry] = self.journals.read({})
        self.records: list[Record] = counting([entry.record for entry in self.entries])
        self._now = now
        self._cipher = cipher_of(path)
        self.lame = {name for name in sorted(self.journals.damaged) if self._can_replace(name)}

    @property
    def is_sound(self) -> bool:
        """True if there is nothing that could be mended."""
        to_mend = (self.lame, self.packs, self.gone, self.found_again, self.tables, self.bridges)
        return not any(to_mend)

    @cached_property
    def bridges(self) -> dict[str, Bridged]:
        """Checkpoints that lean on lost ones, as they stand without."""
        return bridged(self.records, self._now)

    @cached_property
    def shapes(self) -> list[Shape]:
        """The packs that nobody adds to."""
        paths = files_in(self.path / "packs", SUFFIX)
        return [self._shape(path.stem) for path in paths if not is_open(path)]

    @cached_property
    def packs(self) -> list[Shape]:
        """Those that something is wrong with."""
        return [shape for shape in self.shapes if shape.wrongs]

    @cached_property
    def gone(self) -> list[str]:
        """Names of the packs that journals name and that are not there, and not known to be."""
        known = self.journals.gone("condemned")
        return sorted(
            pack for pack in self._named
            if pack not in known and not exists(self.path / "packs" / f"{pack}{SUFFIX}")
        )  # fmt: skip

    @cached_property
    def found_again(self) -> list[Batch]:
        """Batches that no journal names any more, in sound packs of journals that lost lines."""
        lost = self.lame
        return [
            Batch(shape.name, offset, own)
            for shape in self.shapes
            if not shape.wrongs and shape.name.rpartition("-")[0] in lost
            for offset, own in shape.frames.items()
            if offset not in self._named.get(shape.name, ())
        ]  # fmt: skip

    @cached_property
    def tables(self) -> list[str]:
        """Names of the Parquet files that are damaged, or gone, and not known to be."""
        gone, folder = self.journals.gone("tables"), self.path / "tables"
        found = {r["file"]: r for r in self.records if r["kind"] == TABLE and r.get("file")}
        return sorted(
            name for name, record in found.items()
            if not is_whole(folder, record) and (name not in gone or exists(folder / name))
        )  # fmt: skip

    def batches(self) -> list[Record]:
        """Those records of replaced journals that lead to batches in packs that stay."""
        going = {
            *(shape.name for shape in self.packs),
            *self.gone,
            *self.journals.gone("condemned"),
        }
        return [
            entry.record for entry in self.entries
            if entry.record["kind"] == BATCH and entry.journal in self.lame
            and entry.record["pack"] not in going
        ]  # fmt: skip

    # -- within

    def _can_replace(self, name: str) -> bool:
        path = self.path / "journal" / f"{name}{JOURNAL}"
        if exists(path) and is_live(path):
            self.left.append(
                f"journal {path.name}: a session writes it; restart its kernel, then repair again"
            )
            return False
        if name in self.journals.unreadable:
            self.left.append(f"journal {path.name}: cannot be read; see why, then repair again")
            return False
        if name in self.journals.foreign:
            self.left.append(f"journal {path.name}: another user wrote it, who alone can mend it")
            return False
        return True

    @cached_property
    def _named(self) -> dict[str, dict[int, None]]:
        """Pack → offsets of the frames that journals name."""
        named: dict[str, dict[int, None]] = {}
        for record in self.records:
            if record["kind"] == BATCH:
                named.setdefault(record["pack"], {})[record["frame"]] = None
        return named

    def _shape(self, pack: str) -> Shape:
        fd = open_pack(self.path / "packs", pack)
        try:
            frames = list(find_frames(fd, pack, cipher=self._cipher))
            wrongs = [problem] if (problem := header_problem(fd)) else []
            chunks = [chunk for frame in frames for chunk in frame.chunks]
            there = {frame.offset: frame.sum for frame in frames}
            asked = {*self._named.get(pack, ()), *(f.previous for f in frames if f.previous)}
            for offset in sorted(asked - there.keys()):
                wrongs.append(f"its index at offset {offset} is damaged")
                chunks += [] if self._cipher else salvaged(fd, pack, offset)
            named = {name for frame in frames for name, _ in frame.chunks}
            sound: dict[Name, Place] = {}
            expander = Expander(self._cipher)
            for name, place in chunks:
                stored = read_at(fd, place.length, place.offset) if place.length else b""
                data = expander.bytes_of(place, stored, name)
                own = None if data is None else blake3(data).digest()
                # Of an entry in a damaged index the name may be what was hit.
                if own is not None and (own == name or name not in named):
                    sound[own] = place
            bad = len(named - sound.keys())
            wrongs += [f"{bad} of its chunks are damaged"] if bad else []
            size = size_of_file(self.path / "packs" / f"{pack}{SUFFIX}")
            return Shape(pack, size, sound, tuple(wrongs), there)
        finally:
            file_calls.files.close(fd)
