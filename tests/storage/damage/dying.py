"""Repairs that die at each step on the disk: ``python -m tests.storage.damage.dying FOLDER EVERY``.

Says how many steps a repair has, and what was wrong after which.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

from nbckpt.storage import file_calls
from nbckpt.storage.repairing import repair
from nbckpt.storage.store import Store
from tests.storage.damage.everything import make_everything
from tests.storage.damage.harming import Harm
from tests.storage.damage.reading import Error, Found, find_all

CHANGING = ("open", "pwrite", "ftruncate", "fsync", "fdatasync", "rename", "unlink", "mkdir")
DEAD = 9


class Dying(file_calls.Files):
    """The file system of a process that is killed before its n-th call that may change anything."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __getattribute__(self, name: str) -> Any:
        if name in CHANGING:
            self.left -= 1
            if self.left < 0:
                os._exit(DEAD)
        return super().__getattribute__(name)


def harm(path: Path) -> None:
    """Damage a journal, the index of a pack, and a table."""
    journals, packs = sorted((path / "journal").iterdir()), sorted((path / "packs").iterdir())
    (table,) = (path / "tables").iterdir()
    line = journals[1].read_bytes().index(b'"kind":"checkpoint"')
    for file, offset in ((journals[1], line + 30), (packs[0], -60), (table, 1000)):
        data = file.read_bytes()
        done = Harm("flip", file.name, offset % len(data), 1).data(data)
        assert done is not None
        file.write_bytes(done)


def repaired(path: Path) -> None:
    """Repair a store."""
    store = Store.open(path, create=False)
    repair(store)
    store.close()


def dies_at(path: Path, step: int) -> bool:
    """Whether a repair that dies at a step gets there."""
    child = os.fork()
    if child == 0:
        file_calls.files = Dying(step)
        repaired(path)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == DEAD


def worse(before: Found, after: Found) -> list[str]:
    """What was readable, and is not, or is another."""
    return [
        f"{what} became {after.things.get(what)}"
        for what, answer in before.things.items()
        if not isinstance(answer, Error) and after.things.get(what) != answer
    ]


def main(folder: Path, every: int) -> None:
    """Try each `every`-th step."""
    path = folder / "s"
    make_everything(path)
    harm(path)
    before = find_all(path, deep=False)
    step, is_over = 0, False
    while not is_over:
        copy = shutil.copytree(path, folder / "copy")
        is_over = not dies_at(copy, step)
        wrong = worse(before, find_all(copy, deep=False))
        repaired(copy)
        after = find_all(copy, deep=False)
        wrong += worse(before, after)
        assert after.report is not None
        wrong += [f"still {p}" for p in after.report.problems if p.kind == "damaged"]
        for told in wrong:
            print(f"after step {step}: {told}")
        shutil.rmtree(copy)
        step += every
    print(f"{step} steps")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
