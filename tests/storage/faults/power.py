"""What a disk may hold after its power was cut: any part of what was not synced, in any order.

A recorded disk keeps a log of what was asked of it and of what people were told in between. From
each prefix of the log many disks can have been left: bytes written since the last sync of their
file are there or not, sector by sector, or read as zeros; names given, changed and taken since the
last sync of their folder are so or not, each for itself. What was synced is there.
"""

from __future__ import annotations

import os
import random
import stat
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from nbckpt.storage.file_calls import Files

if TYPE_CHECKING:
    from typing_extensions import Buffer

SECTORS = (512, 4096)
FOLDER = -1
"""In place of a file's number: the name is a folder's."""


class Write(NamedTuple):
    """Bytes of a file; None: it is cut, or ends in zeros, at `at`."""

    file: int
    at: int
    data: bytes | None


class Named(NamedTuple):
    """A folder's name for a file, in place of one that it had; `name` is empty where it is gone."""

    folder: str
    before: str
    name: str
    file: int


class Synced(NamedTuple):
    """Of a file, what was written so far is safe; of a folder (by its path), the names."""

    what: int | str


class Told(NamedTuple):
    """Somebody was told that all that came before is durable."""

    number: int


Event: TypeAlias = Write | Named | Synced | Told


class Recorded(Files):
    """The file system, with a log of all that changes what lies under `root`."""

    def __init__(self, root: Path) -> None:
        self.log: list[Event] = []
        self.initial: dict[str, bytes | None] = {}
        self._root = root
        self._count = count()
        self._lock = threading.RLock()
        self._files: dict[int, int] = {}  # descriptor → file
        self._numbers: dict[tuple[int, int], int] = {}  # device and inode → file
        self._folders: dict[int, str] = {}
        for path in sorted(root.rglob("*")):
            name = str(path.relative_to(root))
            self.initial[name] = path.read_bytes() if path.is_file() else None
            if path.is_file():
                self._number(path.stat())
        self.numbers = {
            name: self._number((root / name).stat())
            for name, data in self.initial.items()
            if data is not None
        }

    def told(self, number: int) -> None:
        """Note that all promises up to this one were made."""
        with self._lock:
            self.log.append(Told(number))

    def _number(self, status: os.stat_result) -> int:
        key = (status.st_dev, status.st_ino)
        if key not in self._numbers:
            self._numbers[key] = next(self._count)
        return self._numbers[key]

    def _inside(self, path: Path) -> str | None:
        return str(path.relative_to(self._root)) if path.is_relative_to(self._root) else None

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
        with self._lock:
            makes = bool(flags & os.O_CREAT) and not path.exists()
            fd = super().open(path, flags, mode)
            inside = self._inside(path)
            if inside is None:
                return fd
            status = os.fstat(fd)
            if stat.S_ISDIR(status.st_mode):
                self._folders[fd] = inside
                return fd
            if makes:  # an inode's number is used again
                self._numbers.pop((status.st_dev, status.st_ino), None)
            self._files[fd] = self._number(status)
            if makes:
                self._name(path, "", path.name, self._files[fd])
            return fd

    def _name(self, path: Path, before: str, name: str, file: int) -> None:
        folder = self._inside(path.parent)
        if folder is not None:
            self.log.append(Named(folder, before, name, file))

    def close(self, fd: int) -> None:
        with self._lock:
            self._files.pop(fd, None)
            self._folders.pop(fd, None)
            super().close(fd)

    def pwrite(self, fd: int, data: Buffer, offset: int) -> int:
        with self._lock:
            done = super().pwrite(fd, data, offset)
            if fd in self._files:
                taken = bytes(memoryview(data).cast("B")[:done])
                self.log.append(Write(self._files[fd], offset, taken))
            return done

    def ftruncate(self, fd: int, length: int) -> None:
        with self._lock:
            super().ftruncate(fd, length)
            if fd in self._files:
                self.log.append(Write(self._files[fd], length, None))

    def fsync(self, fd: int) -> None:
        with self._lock:
            what = self._files.get(fd, self._folders.get(fd))
            if what is not None:
                self.log.append(Synced(what))

    def fdatasync(self, fd: int) -> None:
        self.fsync(fd)

    def mkdir(self, path: Path, mode: int = 0o700) -> None:
        with self._lock:
            super().mkdir(path, mode)
            if self._inside(path) is not None:
                self._name(path, "", path.name, FOLDER)

    def rename(self, path: Path, target: Path) -> None:
        with self._lock:
            file = self._number(path.stat())
            super().rename(path, target)
            assert path.parent == target.parent
            if self._inside(path) is not None:
                self._name(path, path.name, target.name, file)

    def unlink(self, path: Path) -> None:
        with self._lock:
            file = self._number(path.stat())
            super().unlink(path)
            if self._inside(path) is not None:
                self._name(path, path.name, "", file)


@dataclass
class Left:
    """What a disk may hold.

    Attributes
    ----------
    files
        Path → bytes; None for a folder.
    loose
        Paths of files of which not all was synced.
    """

    files: dict[str, bytes | None] = field(default_factory=dict)
    loose: set[str] = field(default_factory=set)

    def build(self, folder: Path) -> None:
        """Make these files."""
        folder.mkdir()
        for name, data in sorted(self.files.items()):
            path = folder / name
            if data is None:
                path.mkdir(0o700)
            else:
                path.write_bytes(data)
                path.chmod(0o600)


class Disk:
    """The disk at one place of a log; moves on, event by event."""

    def __init__(self, recorded: Recorded) -> None:
        self._safe: dict[int, bytes] = {}
        self._names: dict[str, dict[str, int]] = {"": {}, ".": {}}
        self._open: dict[int, list[Write]] = {}
        self._renamed: dict[str, list[Named]] = {}
        for name, data in recorded.initial.items():
            folder, _, own = name.rpartition("/")
            file = FOLDER if data is None else recorded.numbers[name]
            self._names.setdefault(folder or ".", {})[own] = file
            if data is not None:
                self._safe[file] = data

    def take(self, event: Event) -> None:
        """Move on."""
        if isinstance(event, Write):
            self._open.setdefault(event.file, []).append(event)
        elif isinstance(event, Named):
            self._renamed.setdefault(event.folder, []).append(event)
        elif isinstance(event, Synced) and isinstance(event.what, int):
            written = self._open.pop(event.what, [])
            self._safe[event.what] = _after(self._safe.get(event.what, b""), written)
        elif isinstance(event, Synced):
            names = self._names.setdefault(event.what, {})
            _rename(names, self._renamed.pop(event.what, []))

    def left(self, chance: random.Random, way: str) -> Left:
        """One of the disks that there may be now.

        Parameters
        ----------
        way
            ``none`` or ``all`` of what is not safe, the ``first`` of it, ``some`` of it, some of
            its sectors (``torn``), ``zeros`` in its place, or the names without the bytes and the
            other way round (``names``, ``bytes``).
        """
        found = Left()
        names = {folder: dict(names) for folder, names in self._names.items()}
        for folder, renamed in self._renamed.items():
            _rename(names.setdefault(folder, {}), _chosen(renamed, chance, way, "names"))
        contents: dict[int, bytes] = {}
        for file, writes in self._open.items():
            contents[file] = _partly(self._safe.get(file, b""), writes, chance, way)
        self._walk(".", "", names, contents, found)
        return found

    def _walk(
        self,
        folder: str,
        prefix: str,
        names: dict[str, dict[str, int]],
        contents: dict[int, bytes],
        found: Left,
    ) -> None:
        for name, file in names.get(folder, {}).items():
            path = f"{prefix}{name}"
            if file == FOLDER:
                found.files[path] = None
                self._walk(path, f"{path}/", names, contents, found)
                continue
            found.files[path] = contents.get(file, self._safe.get(file, b""))
            if file in self._open:
                found.loose.add(path)


WAYS = ("none", "all", "first", "some", "torn", "torn", "zeros", "names", "bytes")


def states(recorded: Recorded, seed: int, each: int) -> Iterator[tuple[int, str, int, Left]]:
    """Place in the log, way, the newest promise by then, and a disk; `each` at each place."""
    chance = random.Random(seed)
    disk = Disk(recorded)
    told = -1
    for place, event in enumerate(recorded.log):
        disk.take(event)
        if isinstance(event, Told):
            told = event.number
        for way in chance.sample(WAYS, each):
            yield place, way, told, disk.left(chance, way)


def _chosen(events: list[Named], chance: random.Random, way: str, mine: str) -> list[Named]:
    if way in ("all", mine):
        return events
    if way in ("none", "names", "bytes"):
        return []
    if way == "first":
        return events[: chance.randint(0, len(events))]
    return [event for event in events if chance.random() < 0.5]


def _rename(names: dict[str, int], events: list[Named]) -> None:
    for _, before, name, file in events:
        if before and names.get(before) == file:
            del names[before]
        if name:
            names[name] = file


def _after(data: bytes, writes: list[Write]) -> bytes:
    """The bytes of a file when all of these were made, in their order."""
    content = bytearray(data)
    for _, at, written in writes:
        end = at if written is None else at + len(written)
        if len(content) < end:
            content.extend(bytes(end - len(content)))
        if written is None:
            del content[at:]
        else:
            content[at:end] = written
    return bytes(content)


def _partly(data: bytes, writes: list[Write], chance: random.Random, way: str) -> bytes:
    if way in ("all", "bytes"):
        return _after(data, writes)
    if way in ("none", "names"):
        return data
    if way == "first":
        return _after(data, writes[: chance.randint(0, len(writes))])
    if way == "zeros":
        return data[: len(after := _after(data, writes))].ljust(len(after), b"\0")
    some = [write for write in writes if chance.random() < 0.6]
    if way == "torn":
        some = [piece for write in some for piece in _torn(write, chance)]
    return _after(data, some)


def _torn(write: Write, chance: random.Random) -> list[Write]:
    """Some sectors of what was written."""
    if write.data is None:
        return [write]
    size = chance.choice(SECTORS)
    end = write.at + len(write.data)
    cuts = [write.at, *range(write.at - write.at % size + size, end, size), end]
    pieces = [
        Write(write.file, a, write.data[a - write.at : b - write.at]) for a, b in pairwise(cuts)
    ]
    kept = [piece for piece in pieces if chance.random() < 0.7]
    chance.shuffle(kept)
    return kept
