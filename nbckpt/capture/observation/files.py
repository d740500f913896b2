"""Files: what a step opened, listed, named or wrote, and the versions of the libraries it used.

Notes
-----
A file that a step read and one that it wrote are kept alike: as they were when it ended. A step
stands for a run of its cell where all of them are as it left them. So a file that a cell appends
to makes it run where the file is as it was before, and not where it is as the cell left it.
"""

from __future__ import annotations

import ast
import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nbckpt.capture.observation import audit, audit_events
from nbckpt.capture.observation.commands import Asked
from nbckpt.capture.observation.file_states import (
    TICK_NS,
    Stamp,
    begins_as,
    changed_since,
    is_in,
    names_in,
    state_of,
    tree_of,
)
from nbckpt.capture.observation.folder_looks import (
    TOO_MANY,
    EntriesOf,
    asked_by,
    look_at,
    matches_of,
)
from nbckpt.capture.observation.library_versions import version_of, versions_of
from nbckpt.capture.observation.named_files import Named, scripts_of
from nbckpt.capture.observation.observer import Ran, Unmoved
from nbckpt.capture.observation.places import (
    Places,
    is_made,
    joined,
    loaded_user_files,
    source_of,
    text_of,
    working_folder,
)
from nbckpt.digests import Json, digest_of
from nbckpt.fingerprint.code import names_of_tree

MAX_IN_FOLDER = 300
"""Files of one folder that are kept one by one; of more the folder stands for them."""

_IMPORTERS = frozenset({"import_module", "__import__", "importlib", "find_spec", "run_module"})


@dataclass
class _Window:
    """Uses of files by one step.

    Attributes
    ----------
    nested
        Records of steps that were restored inside of it.
    """

    audited: audit.Window
    folder: str
    since_ns: int
    nested: list[Json] = field(default_factory=list)


@dataclass
class _Found:
    """Paths of one window, absolute."""

    files: dict[str, None] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    rewritten: set[str] = field(default_factory=set)  # were read before
    appended: dict[str, bool] = field(default_factory=dict)  # whether nothing else was done to it
    listed: dict[str, None] = field(default_factory=dict)
    trees: dict[str, None] = field(default_factory=dict)
    looks: dict[tuple[EntriesOf, str], None] = field(default_factory=dict)
    globs: dict[str, str] = field(default_factory=dict)
    before: Mapping[str, Stamp] | None = None
    commands: list[audit_events.Child] = field(default_factory=list)
    is_relative: bool = False
    is_more: bool = False


class Files(Unmoved):
    """The facet of files.

    Parameters
    ----------
    namespace
        The variables of the notebook.
    root
        Its working folder.
    own
        Folders of nbckpt's, which are no input of a cell.
    """

    name = "files"

    def __init__(
        self, namespace: Mapping[str, object], root: str, own: tuple[str, ...] = ()
    ) -> None:
        self._namespace = namespace
        self._places = Places(root, own)
        self._open: list[_Window] = []

    def open(self) -> object:
        """A window that collects what is opened from now on."""
        window = _Window(audit.opened(self._namespace), working_folder(), time.time_ns() - TICK_NS)
        self._open.append(window)
        return window

    def discard(self, window: object) -> None:
        """Collect nothing more."""
        assert isinstance(window, _Window)
        if window in self._open:
            self._open.remove(window)
        audit.closed(window.audited)

    def close(self, window: object, ran: Ran) -> Json:
        """The states of all files that the step was seen to touch, or names."""
        assert isinstance(window, _Window)
        with audit.paused():
            names = names_of_tree(ran.tree, ran.namespace)
            reads = {*ran.key.inputs, *ran.key.functions, *names.loads, *names.binds}
            found = self._found(window, ran, reads)
            observed = self._states(found)
            if versions := versions_of(reads, names.imports, ran.namespace):
                observed["versions"] = versions
            if found.is_relative and (folder := self._places.short(window.folder)) != ".":
                observed["cwd"] = folder
            for nested in window.nested:
                _join(observed, nested)
        return observed or None

    def restored(self, observed: Json) -> Sequence[str]:
        """Have open windows take what a restored step had read for theirs."""
        if observed:
            for window in self._open:
                window.nested.append(observed)
        return ()

    def difference(self, observed: Json, ran: Ran) -> str | None:  # noqa: ARG002
        """Reason not to restore: a file is not as the step left it, or a library has changed."""
        if not observed:
            return None
        kept: Any = observed
        with audit.paused():
            for package, version in kept.get("versions", {}).items():
                now = version_of(package)
                if now and now != version:
                    return f"{package} {version} -> {now}"
            if "cwd" in kept and self._places.short(working_folder()) != kept["cwd"]:
                return f"it ran in folder '{kept['cwd']}'"
            if "more" in kept:
                return "it asks for more files than are looked at"
            return self._file_difference(kept)

    def cell_begins(self, tree: ast.Module) -> None:
        """Nothing: only steps are asked about."""

    def cell_ends(self, tree: ast.Module) -> None:
        """Nothing."""

    def _file_difference(self, kept: Any) -> str | None:
        written, full = set(kept.get("written", ())), self._places.full
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
                if look_at(full(path), entries, self._places.counts) != look:
                    return f"{'file' if entries == 'time' else 'files in folder'} '{path}' changed"
        for pattern, matches in kept.get("globs", {}).items():
            if _matching(pattern, working_folder()) != matches:
                return f"'{pattern}' names other files"
        for path, tree in kept.get("trees", {}).items():
            if tree_of(full(path)) != tree:
                return f"files in folder '{path}' changed"
        return None

    # -- what a window has seen -------------------------------------------------------------

    def _found(self, window: _Window, ran: Ran, reads: Iterable[str]) -> _Found:
        found = _Found()
        self._of_events(window, found)
        named = Named(ran.tree, reads, ran.namespace)
        for text in named.paths(has_commands=bool(found.commands)):
            self._add(found, text, window.folder, is_named=True)
        for pattern in named.patterns:
            found.globs[pattern] = _matching(pattern, window.folder)
            found.is_relative = found.is_relative or not os.path.isabs(pattern)  # noqa: PTH117
        for text in named.folders():
            path = self._absolute(found, text, window.folder, is_named=True)
            if path and not any(file.startswith(f"{path}/") for file in found.files):
                found.trees[path] = None
        if not _IMPORTERS.isdisjoint(named.calls):
            for file in loaded_user_files():
                self._add(found, file, window.folder)
        if found.commands:
            self._of_children(window, found, ran.tree)
        if entries := asked_by(named.calls):
            found.is_more = named.is_full and entries != "names"
            found.looks.update(dict.fromkeys((entries, folder) for folder in found.listed))
            if entries == "times":
                found.looks.update(dict.fromkeys(("time", file) for file in found.files))
        return found

    def _of_events(self, window: _Window, found: _Found) -> None:
        folder = window.folder
        for event in audit.collected(window.audited):
            if isinstance(event, audit_events.Opened):
                is_made = event.is_written
                if event.is_imported:
                    if file := source_of(event.path):
                        self._add(found, file, folder)
                elif path := self._add(found, event.path, folder):
                    if is_made and path in found.appended.keys() - found.written:
                        found.rewritten.add(path)
                    found.written.update([path] if is_made else ())
                    found.appended[path] = event.is_appended and found.appended.get(path, True)
            elif isinstance(event, audit_events.Listed):
                if path := self._folder(found, event.path, folder):
                    found.listed[path] = None
            elif isinstance(event, audit_events.Replaced):
                if path := self._add(found, event.path, folder):
                    found.written.add(path)
            elif isinstance(event, audit_events.Went):
                folder = joined(folder, event.path) or folder
            elif isinstance(event, audit_events.Child):
                found.commands.append(event._replace(folder=joined(folder, event.folder or folder)))
                found.before = event.before if found.before is None else found.before

    def _of_children(self, window: _Window, found: _Found, tree: ast.Module) -> None:
        """Add files that commands name, and files that changed since before the first of them."""
        asked, folder = Asked(), window.folder
        for child in found.commands:
            asked.words(child.words, str(child.folder or folder))
        for script in scripts_of(tree):
            asked.line(script, folder)
        for path in asked.files:
            self._add(found, path, folder, is_named=True)
        listed = (self._folder(found, path, folder) for path in asked.listed)
        found.listed.update((whole, None) for whole in listed if whole)
        for entries, path in asked.looks:
            if whole := self._folder(found, path, folder):
                found.looks[entries, whole] = None
        for pattern in asked.patterns:
            found.globs[pattern] = _matching(pattern, folder)
        known = found.before or {}
        for path, stamp in changed_since(folder, window.since_ns).items():
            if stamp == known.get(path) or path.endswith(".ipynb"):
                continue
            if whole := self._add(found, path, folder):
                found.written.add(whole)

    def _folder(self, found: _Found, path: object, folder: str) -> str | None:
        """The whole path of a folder whose entries count."""
        whole = joined(folder, path)
        if whole is None or not self._places.counts(f"{whole}/."):
            return None
        found.is_relative = found.is_relative or not os.path.isabs(text_of(path) or "/")  # noqa: PTH117
        return whole

    def _add(
        self, found: _Found, path: object, folder: str, *, is_named: bool = False
    ) -> str | None:
        if whole := self._absolute(found, path, folder, is_named=is_named):
            found.files[whole] = None
        return whole

    def _absolute(
        self, found: _Found, path: object, folder: str, *, is_named: bool = False
    ) -> str | None:
        """The whole path of what counts; in temporary folders, of what the code names."""
        whole = joined(folder, path)
        if whole is None or not (self._places.counts(whole) or (is_named and is_made(whole))):
            return None
        found.is_relative = found.is_relative or not os.path.isabs(text_of(path) or "/")  # noqa: PTH117
        return whole

    def _states(self, found: _Found) -> dict[str, Json]:
        short, n_in = self._places.short, Counter(map(_folder_of, found.files))
        trees = {f: None for f, n in n_in.items() if n > MAX_IN_FOLDER} | found.trees
        files = [f for f in found.files if _folder_of(f) not in trees]
        states: dict[str, Json] = {
            short(file): state for file in files if (state := state_of(file)) != ["folder"]
        }
        kept: dict[str, Json] = {
            "files": states,
            "written": sorted(short(f) for f in found.written if short(f) in states),
            "rewritten": sorted(short(f) for f in found.rewritten if short(f) in states),
            "appended": sorted(short(f) for f, only in found.appended.items() if only),
            "listed": {short(f): names_in(f) for f in found.listed if f not in trees},
            "trees": {short(f): tree_of(f) for f in trees},
            "globs": found.globs,
            "more": found.is_more,
        }
        looks: dict[str, dict[str, Json]] = {}
        for entries, path in found.looks:
            known = looks.setdefault(entries, {})
            known[short(path)] = look_at(path, entries, self._places.counts)
        kept["looks"] = dict(looks)
        return {member: what for member, what in kept.items() if what}


def _told(path: str, state: Json, full: str, *, is_written: bool) -> str:
    which = f"file '{path}', which it wrote," if is_written else f"file '{path}'"
    is_there = os.path.exists(full)  # noqa: PTH110  # texts all the way
    if state is None:
        return f"file '{path}' is there now"
    return f"{which} changed" if is_there else f"{which} is gone"


def _join(observed: dict[str, Json], nested: Any) -> None:
    for member, what in nested.items():
        known: Any = observed.get(member)
        if member == "looks":
            for entries, folders in what.items():
                ours: Any = observed.setdefault("looks", {})
                ours[entries] = {**folders, **ours.get(entries, {})}
        elif isinstance(what, dict):
            observed[member] = {**what, **(known or {})}
        elif isinstance(what, list | tuple):
            observed[member] = sorted({*what, *(known or ())})
        else:
            observed.setdefault(member, what)


def _matching(pattern: str, folder: str) -> str:
    return digest_of(*(f"{name}\n" for name in matches_of(pattern, folder)))[:32]


def _folder_of(path: str) -> str:
    return path.rpartition("/")[0]
