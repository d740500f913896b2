"""Follow all journals of a store: what is new since the last look, in order of time."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from nbckpt.storage.journal import SUFFIX, Entry, Follower

TICK_NS = 2_000_000_000
"""Some file systems keep the time of a change no more exactly."""


class Journals:
    """Everybody's records, read without waiting for anybody."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._followers: dict[str, Follower] = {}
        self._listed: dict[str, Path] = {}
        self._listed_as_of = 0

    @property
    def count(self) -> int:
        """How many journals were met."""
        return len(self._followers)

    @property
    def damages(self) -> list[str]:
        """A sentence for each line that was there and cannot be read."""
        return [damage for f in self._followers.values() for damage in f.damages]

    def read(self, limits: Mapping[str, int]) -> list[Entry]:
        """What was added since, oldest first; of one journal, as it was written.

        Parameters
        ----------
        limits
            Name of a journal → how many bytes of it may be read.
        """
        found = []
        with _uncollected():
            for name, path in self._paths().items():
                follower = self._followers.setdefault(name, Follower(path))
                try:
                    found.append(follower.read(limits.get(name)))
                except FileNotFoundError:
                    continue  # sealed into history meanwhile
        found = [entries for entries in found if entries]
        if len(found) == 1:
            return found[0]
        return sorted(chain.from_iterable(found), key=lambda entry: entry[:3])

    def _paths(self) -> dict[str, Path]:
        try:
            changed_at = self._folder.stat().st_mtime_ns
            if changed_at != self._listed_as_of:
                self._listed = {
                    path.stem: path
                    for path in sorted(self._folder.iterdir())
                    if path.suffix == SUFFIX and not path.name.startswith(".")
                }
                # Within a tick of the clock another file may appear under the same time.
                is_settled = time.time_ns() - changed_at > TICK_NS
                self._listed_as_of = changed_at if is_settled else 0
        except FileNotFoundError:
            return {}
        return self._listed


@contextmanager
def _uncollected() -> Iterator[None]:
    """Look for no garbage: many records come at once, and none of them is any."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
