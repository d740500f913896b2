"""What a process of a long run does: imports before it forks, and a batch of programs after it."""

from __future__ import annotations

import gc
import importlib
import os
import random
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.random_programs.generator import program_from
from tests.random_programs.programs import as_data
from tests.random_programs.runner import World
from tests.random_programs.shrinking import signature_of, smallest

_COLLECTED = 4
"""In one of so many programs Python looks for garbage as it usually does."""


class Dice:
    """Choices by a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def below(self, end: int) -> int:
        """A number from 0 to `end`, which is left out."""
        return int(self._random.random() * end)


def warm(folder: Path) -> None:
    """Import all that programs turn out to need; nothing of them stays in this process."""
    listed = folder / "modules"
    pid = os.fork()
    if pid == 0:
        try:
            list(tried(range(20), folder, 0, set()))
            import sys

            listed.write_text("\n".join(sys.modules))
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    for name in listed.read_text().split() if listed.exists() else ():
        with suppress(Exception):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()


def tried(
    seeds: Iterable[int], folder: Path, shrink_s: float, known: set[str]
) -> Iterator[dict[str, Any]]:
    """What becomes of each program, as JSON; of those that fail the smallest that does, too."""
    world = World(folder)
    for seed in seeds:
        if seed % _COLLECTED:
            gc.disable()  # a fifth of the time
        else:
            gc.enable()
            gc.collect()
        program = program_from(Dice(seed))
        failure = world.failure_of(program)
        if failure is None:
            yield {"seed": seed}
            continue
        if shrink_s:
            program, failure = smallest(program, failure, world.failure_of, within_s=shrink_s)
        signature = signature_of(program, failure)
        text = "" if signature in known else f"{program}\n{failure}"
        known.add(signature)
        yield {
            "seed": seed,
            "kind": failure.kind,
            "signature": signature,
            "text": text,
            "program": as_data(program),
        }
