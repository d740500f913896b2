"""The record of the files that a step used, and what differs from it now."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nbckpt.capture.observation import audit_events
from nbckpt.capture.observation.file_states import (
    Stamp,
    begins_as,
    is_in,
    names_in,
    state_of,
    tree_of,
)
from nbckpt.capture.observation.folder_looks import TOO_MANY, EntriesOf, look_at, matches_of
from nbckpt.capture.observation.places import Places, working_folder
from nbckpt.digests import Json, digest_of

MAX_IN_FOLDER = 300
"""Files of one folder that are kept one by one; of more the folder stands for them."""


@dataclass
class FoundFiles:
    """Paths of one window, absolute."""

    files: dict[str, None] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    rewritten: set[str] = field(default_factory=set)  # were read before
    touched: set[str] = field(default_factory=set)  # changed meanwhile, whoever did that
    appended: dict[str, bool] = field(default_factory=dict)  # whether nothing else was done to it
    listed: dict[str, None] = field(default_factory=dict)
    trees: dict[str, None] = field(default_factory=dict)
    looks: dict[tuple[EntriesOf, str], None] = field(default_factory=dict)
    globs: dict[str, str] = field(default_factory=dict)
    before: Mapping[str, Stamp] | None = None
    commands: list[audit_events.Child] = field(default_factory=list)
    is_relative: bool = False
    is_more: bool = False
    environment: dict[str, Json] = field(default_factory=dict)


def record_of(found: FoundFiles, places: Places) -> dict[str, Json]:
    """The states of the files that were found, now."""
    short, n_in = places.short, Counter(map(_folder_of, found.files))
    trees = {f: None for f, n in n_in.items() if n > MAX_IN_FOLDER} | found.trees
    files = [f for f in found.files if _folder_of(f) not in trees]
    states: dict[str, Json] = {
        short(file): state for file in files if (state := state_of(file)) != ["folder"]
    }
    kept: dict[str, Json] = {
        "files": states,
        "written": sorted(short(f) for f in found.written if short(f) in states),
        "rewritten": sorted(short(f) for f in found.rewritten if short(f) in states),
        "touched": sorted(short(f) for f in found.touched - found.written if short(f) in states),
        "appended": sorted(short(f) for f, only in found.appended.items() if only),
        "listed": {short(f): names_in(f) for f in found.listed if f not in trees},
        "trees": {short(f): tree_of(f) for f in trees},
        "globs": found.globs,
        "more": found.is_more,
        "environment": found.environment,
    }
    looks: dict[str, dict[str, Json]] = {}
    for entries, path in found.looks:
        known = looks.setdefault(entries, {})
        known[short(path)] = look_at(path, entries, places.counts)
    kept["looks"] = dict(looks)
    return {member: what for member, what in kept.items() if what}


def file_difference(kept: Any, places: Places) -> str | None:
    """A file that is not as a record tells it, as a clause; None if all are."""
    written, full = set(kept.get("written", ())), places.full
    if rewritten := kept.get("rewritten"):  # nobody knows what it had read there
        return f"it reads file '{rewritten[0]}' and then changes it"
    appended = set(kept.get("appended", ()))
    for path, state in kept.get("files", {}).items():
        if path in appended and begins_as(full(path), state):
            continue  # it is a log, to which other steps have added since
        if not is_in(full(path), state):
            return _told(path, state, full(path), is_written=path in written)
    for path, names in kept.get("listed", {}).items():
        if names_in(full(path)) != names:
            return f"other files are in folder '{path}'"
    for entries, folders in kept.get("looks", {}).items():
        for path, look in folders.items():
            if look == TOO_MANY:
                return f"folder '{path}' holds more than is looked at"
            if look_at(full(path), entries, places.counts) != look:
                return f"{'file' if entries == 'time' else 'files in folder'} '{path}' changed"
    for pattern, matches in kept.get("globs", {}).items():
        if matches_digest(pattern, working_folder()) != matches:
            return f"'{pattern}' names other files"
    for path, tree in kept.get("trees", {}).items():
        if tree_of(full(path)) != tree:
            return f"files in folder '{path}' changed"
    return None


def _told(path: str, state: Json, full: str, *, is_written: bool) -> str:
    which = f"file '{path}', which it wrote," if is_written else f"file '{path}'"
    is_there = os.path.exists(full)  # noqa: PTH110  # texts all the way
    if state is None:
        return f"file '{path}' is there now"
    return f"{which} changed" if is_there else f"{which} is gone"


def join_record(observed: dict[str, Json], nested: Any) -> None:
    """Take the record of a step that was restored into that of the step around it."""
    for member, what in nested.items():
        known: Any = observed.get(member)
        ours: Any
        if member == "looks":
            for entries, folders in what.items():
                ours = observed.setdefault("looks", {})
                ours[entries] = {**folders, **ours.get(entries, {})}
        elif isinstance(what, dict):
            ours = observed.setdefault(member, {})
            for key, state in what.items():
                ours.setdefault(key, state)
        elif isinstance(what, list | tuple):
            observed[member] = sorted({*what, *(known or ())})
        else:
            observed.setdefault(member, what)


def matches_digest(pattern: str, folder: str) -> str:
    """A digest of the names that match a pattern."""
    return digest_of(*(f"{name}\n" for name in matches_of(pattern, folder)))[:32]


def _folder_of(path: str) -> str:
    return path.rpartition("/")[0]
