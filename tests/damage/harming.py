"""One damage to one file of a store, and what it may cost."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.damage.reading import Error, Found

KINDS = ("flip",) * 7 + ("cut", "cut", "delete")
UNTOLD = frozenset({".gitignore", "writing", "turn", "pruning"})
"""Files in which nothing stands that could be lost."""


class Harm(NamedTuple):
    """What is done to a file.

    Attributes
    ----------
    kind
        flip: one bit. cut: all from `offset` on. delete: the file. burst: 16 bytes, at random.
    """

    kind: str
    file: str
    offset: int = 0
    bit: int = 0

    def data(self, data: bytes) -> bytes | None:
        """What the file holds then; None if it is gone."""
        if self.kind == "delete":
            return None
        if self.kind == "cut":
            return data[: self.offset]
        length = 1 if self.kind == "flip" else 16
        piece = bytearray(data[self.offset : self.offset + length])
        for i in range(len(piece)):
            piece[i] ^= 1 << self.bit if length == 1 else (self.bit * 31 + i * 7 + 1) % 255 + 1
        return data[: self.offset] + bytes(piece) + data[self.offset + length :]


def files_of(store: Path) -> list[str]:
    """Names of the files of a store, from its folder."""
    return sorted(str(p.relative_to(store)) for p in store.rglob("*") if p.is_file())


def harms(store: Path, seed: int, count: int) -> Iterator[Harm]:
    """Damages at random: as many in journals as in packs, few in files that hold little."""
    rng = random.Random(seed)
    sizes = {name: (store / name).stat().st_size for name in files_of(store)}
    rooms: dict[str, list[str]] = {}
    for name in sizes:
        rooms.setdefault(name.partition("/")[0], []).append(name)
    weights = {"journal": 10, "packs": 10, "tables": 3}
    chosen = rng.choices(list(rooms), [weights.get(room, 1) for room in rooms], k=count)
    for room in chosen:
        name = rng.choice(rooms[room])
        size = sizes[name]
        kind = rng.choice(KINDS) if size else "delete"
        # What describes the rest is small, and stands at the ends.
        ends = [rng.randrange(min(size, 64)), max(0, size - 1 - rng.randrange(400))] if size else []
        offset = rng.choice([rng.randrange(size), rng.randrange(size), *ends]) if size else 0
        yield Harm(kind, name, offset, rng.randrange(8))


@contextmanager
def harmed(store: Path, done: Sequence[Harm]) -> Iterator[None]:
    """The store with these damages within the block, and as it was afterwards."""
    before = {harm.file: (store / harm.file).read_bytes() for harm in done}
    now: dict[str, bytes | None] = dict(before)
    for harm in done:
        if (data := now[harm.file]) is not None:
            now[harm.file] = harm.data(data)
    try:
        for name, data in now.items():
            _put(store / name, data, before[name])
        yield
    finally:
        for name, whole in before.items():
            (store / name).parent.mkdir(exist_ok=True)
            (store / name).write_bytes(whole)


def unseen(before: Found, done: Sequence[Harm]) -> bool:
    """Whether a harm leaves what could be so without any: settings, or the end of a journal."""
    for harm in done:
        room = harm.file.partition("/")[0]
        if room == "config.json" and harm.kind == "delete":
            return True
        is_end = room == "journal" and harm.kind in ("cut", "delete")
        if is_end and Path(harm.file).stem == before.newest:
            return True
    return False


def _put(path: Path, data: bytes | None, before: bytes) -> None:
    """Make it so; a file of the same size is changed where it is, as a disk would."""
    if data is None:
        path.unlink()
    elif len(data) == len(before):
        with path.open("r+b") as file:
            file.write(data)
    else:
        path.write_bytes(data)


def wrongs(before: Found, after: Found, done: Sequence[Harm]) -> list[str]:
    """What breaks a promise: a wrong value, or a loss that nobody is told of."""
    wrong = []
    files = {Path(harm.file).name for harm in done}
    lost = [what for what in before.things if isinstance(after.things.get(what), Error | None)]
    lost += [("record", text) for text in before.records - after.records]
    for what, answer in after.things.items():
        if isinstance(answer, Error) or answer == before.things.get(what):
            continue
        if what == ("settings",) and any("config.json" in told for told in after.told):
            continue
        if what not in before.things and after.told:  # a prune that is lost takes nothing
            continue
        if what == ("settings",) and unseen(before, done):
            continue
        wrong.append(f"{what} was {before.things.get(what)}, is {answer}")
    if more := after.records - before.records:
        allowed = after.told and not lost
        wrong += [] if allowed else [f"a record that was not there: {text}" for text in more]
    if not lost or unseen(before, done):
        return wrong
    if after.report is None:
        (error,) = after.things.values()
        assert isinstance(error, Error)
        if not any(name in error.text for name in files):
            wrong.append(f"not opened, and {files} not named: {error.text}")
        return wrong
    if after.report.ok:
        wrong.append(f"lost and not told: {lost[:3]}")
    named = " ".join(map(str, after.report.problems))
    if not any(Path(name).stem in named for name in files):
        wrong.append(f"{files} not named in {named[:300]!r}; lost: {lost[:2]}")
    return wrong
