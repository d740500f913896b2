"""Facts about a folder that need none of its files opened: names, sizes and times below it."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable
from itertools import islice
from typing import Literal, TypeAlias

from nbckpt.capture.observation.file_states import SKIPPED
from nbckpt.digests import digest_of

EntriesOf: TypeAlias = Literal[
    "names", "sizes", "times", "all names", "all sizes", "all times", "time"
]
"""Of the entries of a folder, or of all below it; `time`: of a file, its own."""

MAX_ENTRIES = 10_000
"""Entries to look at; of more it cannot be told whether they are as before."""

MAX_MATCHES = 2_000
"""Files that one pattern may name."""

TOO_MANY = "too many"

SIZES = frozenset({"getsize", "st_size"})
TIMES = frozenset(
    {
        *("getmtime", "getctime", "getatime", "st_mtime", "st_mtime_ns", "st_ctime"),
        *("st_ctime_ns", "st_atime", "st_atime_ns"),
    }
)
KINDS = frozenset({"exists", "lexists", "isfile", "isdir", "is_file", "is_dir", "islink"})
STATS = frozenset({"stat", "lstat", "fstat"})


def asked_by(calls: set[str]) -> EntriesOf | None:
    """Facts that code asks for about entries of folders it lists, by the names that it mentions."""
    if not TIMES.isdisjoint(calls):
        return "times"
    if not STATS.isdisjoint(calls) and SIZES.isdisjoint(calls):
        return "times"
    if not SIZES.isdisjoint(calls):
        return "sizes"
    return None if KINDS.isdisjoint(calls) else "names"


def look_at(path: str, entries: EntriesOf, counts: Callable[[str], bool]) -> str | None:
    """Text that stands for the facts asked for; None if nothing is there.

    Parameters
    ----------
    counts
        True for an absolute path that may be an input of a cell.
    """
    if entries == "time":
        about = _about(path)
        return None if about is None else str(about.st_mtime_ns)
    is_deep, what = entries.startswith("all "), entries.removeprefix("all ")
    lines: list[str] = []
    waiting = [path]
    while waiting:
        here = waiting.pop()
        try:
            found = list(os.scandir(here))
        except OSError:
            if here == path:
                return None
            continue
        for entry in found:
            is_folder = _is_folder(entry)
            if entry.name in SKIPPED or (is_folder and not counts(f"{entry.path}/.")):
                continue
            if len(lines) == MAX_ENTRIES:
                return TOO_MANY
            if is_folder and is_deep:
                waiting.append(entry.path)
            asked = "names" if is_folder and is_deep else what  # its own entries tell
            lines.append(_line(entry, asked, is_folder=is_folder)[len(path) :])
    return digest_of(*sorted(lines))[:32]


def _line(entry: os.DirEntry[str], what: str, *, is_folder: bool) -> str:
    line = f"{entry.path}{'/' * is_folder}"
    if what == "names" or entry.name.endswith(".ipynb"):  # a front end saves it when it likes
        return f"{line}\n"
    about = _about(entry.path)
    if about is not None:
        line += f" {about.st_size}" if not is_folder else ""
        line += f" {about.st_mtime_ns}" if what == "times" else ""
    return f"{line}\n"


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _about(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116  # texts all the way
    except (OSError, ValueError):
        return None


def matches_of(pattern: str, folder: str | None = None) -> list[str]:
    """The files that a pattern names, sorted; no more than some."""
    try:
        found = glob.iglob(pattern, root_dir=folder, recursive=True)  # noqa: PTH207  # texts
        names = (name for name in found if SKIPPED.isdisjoint(name.rpartition("/")[::2]))
        return sorted(islice(names, MAX_MATCHES))
    except (OSError, re.error, ValueError):
        return []
