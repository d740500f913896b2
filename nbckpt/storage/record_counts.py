"""Record counts of journals as other sessions saw them, by which a lost end is noticed.

A journal that was cut at the end of a line looks as if its session had died there. So each session
says, in its first record, how many records it found in each journal of an ended session that nobody
has spoken for; and a prune says how many its own has.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from nbckpt.model import Record, is_trusted
from nbckpt.runtime import clock
from nbckpt.storage import file_calls
from nbckpt.storage.disk import reading, sync_data
from nbckpt.storage.file_names import is_name
from nbckpt.storage.journal import PRUNE, SUFFIX, is_live

SEEN = "seen"
RECORDS = "records"
UNSYNCED_S = 600
"""Seconds after which what was written has reached the disk, synced or not."""


class Claims:
    """Claims by first records of journals on the record counts of others, and of their own.

    Only a trusted one speaks for a journal that holds trusted lines: else anybody could call it
    damaged.
    """

    def __init__(self) -> None:
        self._by_own: dict[str, int] = {}
        self._by_others: dict[str, int] = {}
        self._spoken_for: set[str] = set()

    def take(self, journal: str, first: Record) -> None:
        """Note what the first record of a journal says."""
        said = first.get(SEEN)
        found = dict(said) if isinstance(said, Mapping) else {}
        if is_trusted(first):
            self._spoken_for.update(found)
        if first["kind"] == PRUNE:  # what goes with the journal when that is deleted
            found[journal] = first.get(RECORDS)
        claims = self._by_own if is_trusted(first) else self._by_others
        for name, count in found.items():
            if isinstance(count, int) and isinstance(name, str) and is_name(name):
                claims[name] = max(count, claims.get(name, 0))

    def __contains__(self, journal: object) -> bool:
        """True if another journal speaks for this one."""
        return journal in self._spoken_for

    def short(
        self, serial: Callable[[str], int], has_own: Callable[[str], bool], over: Container[str]
    ) -> dict[str, int]:
        """Name of each journal that lost its end → how many records.

        Parameters
        ----------
        serial
            How many records were read of a journal, or are known to be lost within it.
        has_own
            Whether a journal holds trusted lines.
        over
            Journals that do not count.
        """
        others = {n: c for n, c in self._by_others.items() if not has_own(n)}
        claimed = {**others, **self._by_own}
        return {n: c - serial(n) for n, c in claimed.items() if n not in over and serial(n) < c}


def seen(folder: Path, counts: Mapping[str, int], unless: Container[str]) -> dict[str, int]:
    """The claims that a new session makes about journals of ended ones: name → record count.

    Parameters
    ----------
    counts
        Number of records that it has read of each journal.
    unless
        Journals that others have spoken for.
    """
    return {n: counts[n] for n in _ended(folder, (n for n in counts if n not in unless))}


def _ended(folder: Path, names: Iterable[str]) -> list[str]:
    found = []
    for name in names:
        path = folder / f"{name}{SUFFIX}"
        with suppress(OSError):
            is_old = clock.now() - file_calls.files.lstat(path).st_mtime > UNSYNCED_S
            if is_live(path):
                continue
            if not is_old:  # events may not have reached the disk, and are spoken for now
                with reading(path) as fd:
                    sync_data(fd)
            found.append(name)
    return found
