"""States of files: sizes and times, which need no bytes, and digests of the bytes, made once."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from typing import Any, TypeAlias

from blake3 import blake3

from nbckpt.digests import Json, digest_of

TICK_NS = 20_000_000
"""Within so short a time a file may change without its time telling."""

MAX_HASHED = 4_000_000_000
"""Bytes of the largest file whose content is read; of a larger one size and time decide."""

MAX_ENTRIES = 20_000
"""Files and folders to look at below one folder."""

SKIPPED = frozenset(
    {
        *(".git", ".hg", ".nbckpt", "node_modules", "__pycache__", ".ipynb_checkpoints"),
        *(".venv", "venv", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox", ".idea"),
    }
)
"""Folders that no cell is about."""

Stamp: TypeAlias = tuple[int, int, int, int]
"""Of a file: size, times in nanoseconds, inode."""

_digests: dict[tuple[str, int, int, int, int], str] = {}


def state_of(path: str) -> Json:
    """State of a file: size, times, inode, content; None for one that is not there.

    The times count only where they lie far enough back to tell of a later change.
    """
    about = _about(path)
    if about is None:
        return None
    if not stat.S_ISREG(about.st_mode):
        return ["folder" if stat.S_ISDIR(about.st_mode) else "special"]
    digest = _content(path, about)
    mtime, ctime = about.st_mtime_ns, about.st_ctime_ns
    if max(mtime, ctime) > time.time_ns() - TICK_NS:
        mtime = ctime = 0
    return [about.st_size, mtime, ctime, about.st_ino, digest]


def is_in(path: str, state: Json) -> bool:
    """True if a file still is as `state_of` said: by size and times, else by content."""
    about = _about(path)
    if about is None or state is None:
        return about is None and state is None
    assert isinstance(state, list | tuple)
    if len(state) == 1:
        return not stat.S_ISREG(about.st_mode)
    known: Any = state
    size, *times, digest = known
    if not stat.S_ISREG(about.st_mode) or about.st_size != size:
        return False
    if times == [about.st_mtime_ns, about.st_ctime_ns, about.st_ino]:
        return True
    if not digest:
        return bool(times[0] == about.st_mtime_ns)
    return bool(_content(path, about) == digest)


def begins_as(path: str, state: Json) -> bool:
    """True if a file still begins with all that it had when `state_of` said so."""
    about = _about(path)
    if about is None or not isinstance(state, list | tuple) or len(state) == 1:
        return False
    known: Any = state
    size, digest = known[0], known[-1]
    if not stat.S_ISREG(about.st_mode) or about.st_size < size or not digest:
        return False
    try:
        hasher, left = blake3(), size
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123  # half the time of `Path`
            while left and (piece := file.read(min(left, 1 << 20))):
                hasher.update(piece)
                left -= len(piece)
    except OSError:
        return False
    return bool(hasher.hexdigest()[: len(digest)] == digest)


def names_in(folder: str) -> Json:
    """Digest of the names in a folder; None for one that is not there."""
    try:
        names = sorted(n for n in os.listdir(folder) if n[0] != "." and n not in SKIPPED)  # noqa: PTH208
    except OSError:
        return None
    return digest_of(*(f"{name}\n" for name in names))[:32]


def tree_of(folder: str) -> Json:
    """Digest of the sizes and times of all files below a folder; None for one that is not there."""
    if not os.path.isdir(folder):  # noqa: PTH112  # texts all the way
        return None
    entries = sorted(
        f"{path[len(folder) :]} {about.st_size} {about.st_mtime_ns}\n"
        for path, about in walked(folder)
    )
    return digest_of(*entries)[:32]


def stamp_of(about: os.stat_result) -> Stamp:
    """Stamp of a file, which tells of a change without a look at its bytes."""
    return about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino


def changed_since(folder: str, since_ns: int) -> dict[str, Stamp]:
    """Files below a folder whose times lie after `since_ns`."""
    return {
        path: stamp_of(about)
        for path, about in walked(folder)
        if max(about.st_mtime_ns, about.st_ctime_ns) >= since_ns
    }


def walked(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """Files below a folder; no more than some, and none that no cell is about."""
    waiting, n_seen = [folder], 0
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue
        for entry in entries:
            n_seen += 1
            if n_seen > MAX_ENTRIES:
                return
            if entry.name in SKIPPED:
                continue
            try:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif entry.is_file():
                    yield entry.path, entry.stat()
            except OSError:
                continue


def _about(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116  # texts all the way
    except (OSError, ValueError):
        return None


def _content(path: str, about: os.stat_result) -> str:
    """The digest of a file's bytes; empty if it is too large, or cannot be read."""
    if about.st_size > MAX_HASHED:
        return ""
    key = (path, about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino)
    known = _digests.get(key)
    if known is not None:
        return known
    try:
        digest = _hashed(path, about.st_size)[:32]
    except OSError:
        return ""
    if about.st_ctime_ns < time.time_ns() - TICK_NS:
        if len(_digests) > 20_000:
            _digests.clear()
        _digests[key] = digest
    return digest


def _hashed(path: str, size: int) -> str:
    if size < 1_000_000:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123  # half the time of `Path`
            return blake3(file.read()).hexdigest()
    hasher = blake3(max_threads=blake3.AUTO)
    return hasher.update_mmap(path).hexdigest()
