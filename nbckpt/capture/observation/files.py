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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from nbckpt.capture.observation import audit, audit_events, environment_reads
from nbckpt.capture.observation.audit_events import Event
from nbckpt.capture.observation.audited import Audited, AuditedWindow
from nbckpt.capture.observation.commands import Asked
from nbckpt.capture.observation.environment_reads import environment
from nbckpt.capture.observation.file_records import (
    FoundFiles,
    file_difference,
    join_record,
    matches_digest,
    record_of,
)
from nbckpt.capture.observation.file_states import TICK_NS, changed_since
from nbckpt.capture.observation.folder_looks import asked_by
from nbckpt.capture.observation.library_versions import version_of, versions_of
from nbckpt.capture.observation.named_files import Named, scripts_of
from nbckpt.capture.observation.named_paths import NamedPaths
from nbckpt.capture.observation.observer import Ran
from nbckpt.capture.observation.places import (
    Places,
    is_made,
    joined,
    loaded_user_files,
    source_of,
    text_of,
    working_folder,
)
from nbckpt.digests import Json
from nbckpt.fingerprint.code import names_of_tree
from nbckpt.runtime.source_trees import parse

_CALL = parse("call()")
_IMPORTERS = frozenset({"import_module", "__import__", "importlib", "find_spec", "run_module"})


class CallFiles:
    """Uses of files by one call of a function, as it goes on."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.folder = working_folder()
        self.began_ns = time.time_ns()
        self.environment = environment()


class _Use(NamedTuple):
    """Audit events since some time, by code that began in a folder."""

    events: Sequence[Event]
    folder: str
    since_ns: int
    environment: Mapping[str, str]


@dataclass
class _Window(AuditedWindow):
    """Uses of files by one step."""

    folder: str
    since_ns: int
    environment: Mapping[str, str]


class Files(Audited):
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
        super().__init__()
        self._namespace = namespace
        self._places = Places(root, own)

    def open(self) -> object:
        """A window that collects what is opened from now on."""
        opened, since_ns = audit.opened(self._namespace), time.time_ns() - TICK_NS
        window = _Window(opened, working_folder(), since_ns, environment())
        self._open.append(window)
        return window

    def close(self, window: object, ran: Ran) -> Json:
        """The states of all files that the step was seen to touch, or names."""
        assert isinstance(window, _Window)
        with audit.paused():
            names = names_of_tree(ran.tree, ran.namespace)
            reads = {*ran.key.inputs, *ran.key.functions, *names.loads, *names.binds}
            events = audit.collected(window.audited)
            use = _Use(events, window.folder, window.since_ns, window.environment)
            found = self._found(use, ran.tree, reads, ran.namespace)
            found.touched = {f for f in found.files if _is_newer(f, window.since_ns)}
            observed = self._record(found, window.folder)
            if versions := versions_of(reads, names.imports, ran.namespace):
                observed["versions"] = versions
            for nested in window.nested:
                join_record(observed, nested)
        return observed or None

    def difference(self, observed: Json, ran: Ran) -> str | None:  # noqa: ARG002
        """Reason not to restore: a file is not as the step left it, or a library has changed."""
        return self.difference_of_call(observed) if observed else None

    def difference_of_call(self, observed: Json) -> str | None:
        """The same for a call of a function."""
        kept: Any = observed
        with audit.paused():
            for package, version in kept.get("versions", {}).items():
                now = version_of(package)
                if now and now != version:
                    return f"{package} {version} -> {now}"
            if other := environment_reads.changed(kept.get("environment", {})):
                return other
            if "cwd" in kept and self._places.short(working_folder()) != kept["cwd"]:
                return f"it ran in folder '{kept['cwd']}'"
            if "more" in kept:
                return "it asks for more files than are looked at"
            return file_difference(kept, self._places)

    def changed_input(self, observed: Json) -> str | None:
        """A file that was only read, and has changed since; None if there is none.

        One that has come may be of the item that was cut short, and one that is gone was done with.
        What changed while the step ran is taken for the step's own: not every write is seen.
        """
        kept: Any = observed or {}
        written = {*kept.get("written", ()), *kept.get("touched", ())}
        full = self._places.full
        with audit.paused():
            if other := environment_reads.changed(kept.get("environment", {})):
                return other
            files = {
                file: state
                for file, state in kept.get("files", {}).items()
                if state is not None and file not in written and Path(full(file)).exists()
            }
            return file_difference({"files": files}, self._places)

    def cell_begins(self, tree: ast.Module) -> None:
        """Nothing: only steps are asked about."""

    def cell_ends(self, tree: ast.Module) -> None:
        """Nothing."""

    # -- calls of functions

    def of_call(self, call: CallFiles, names: Mapping[str, object]) -> Json:
        """The states of the files that a call has read, or that what it is given names.

        Not of those that it has made itself: what it wrote is no input. Those that others changed
        meanwhile are `touched`.

        Parameters
        ----------
        names
            The function, what it is given, and what it reaches.
        """
        with audit.paused():
            began_ns = call.began_ns - TICK_NS
            use = _Use(call.events, call.folder, began_ns, call.environment)
            found = self._found(use, _CALL, names, names)
            written, read, opened = _uses_of(call)
            found.files = {f: None for f in found.files if f not in written or f in read}
            found.appended = {f: only for f, only in found.appended.items() if f in found.files}
            found.is_more = found.is_more or len(call.events) > audit.MAX_EVENTS
            reads = found.files.keys() - found.written - written
            # What is named alone may have been written by code in C, and is as the call left it.
            found.touched = {f for f in reads & opened if _is_newer(f, call.began_ns + 1)}
            observed = self._record(found, call.folder)
            for event in call.events:
                if isinstance(event, audit_events.Repeated):
                    join_record(observed, event.record)
        return observed or None

    # -- what a window has seen -------------------------------------------------------------

    def _record(self, found: FoundFiles, folder: str) -> dict[str, Json]:
        observed = record_of(found, self._places)
        if found.is_relative and (short := self._places.short(folder)) != ".":
            observed["cwd"] = short
        return observed

    def _found(
        self, use: _Use, tree: ast.Module, reads: Iterable[str], namespace: Mapping[str, object]
    ) -> FoundFiles:
        found = FoundFiles()
        self._of_events(use.events, use.folder, found)
        named = Named(tree, reads, namespace)
        has_commands = bool(found.commands)
        found.environment = environment_reads.read_of(named, use.environment, has_commands)
        paths = NamedPaths(named)
        for text in paths.found(has_commands=has_commands):
            self._add(found, text, use.folder, is_named=True)
        for pattern in paths.patterns:
            found.globs[pattern] = matches_digest(pattern, use.folder)
            found.is_relative = found.is_relative or not os.path.isabs(pattern)  # noqa: PTH117
        for text in paths.folders():
            path = self._absolute(found, text, use.folder, is_named=True)
            if path and not any(file.startswith(f"{path}/") for file in found.files):
                found.trees[path] = None
        if not _IMPORTERS.isdisjoint(named.calls):
            for file in loaded_user_files():
                self._add(found, file, use.folder)
        if found.commands:
            self._of_children(found, use, tree)
        if entries := asked_by(named.calls):
            found.is_more = named.is_full and entries != "names"
            found.looks.update(dict.fromkeys((entries, folder) for folder in found.listed))
            if entries == "times":
                found.looks.update(dict.fromkeys(("time", file) for file in found.files))
        return found

    def _of_events(self, events: Iterable[Event], folder: str, found: FoundFiles) -> None:
        read = set[str]()  # as they were before
        for event in events:
            if isinstance(event, audit_events.Opened):
                is_made = event.is_written
                if event.is_imported:
                    if file := source_of(event.path):
                        self._add(found, file, folder)
                elif path := self._add(found, event.path, folder):
                    if is_made and path in read:
                        found.rewritten.add(path)
                    elif not is_made and path not in found.written:
                        read.add(path)
                    found.written.update([path] if is_made else ())
                    found.appended[path] = event.is_appended and found.appended.get(path, True)
            elif isinstance(event, audit_events.Listed):
                if path := self._folder(found, event.path, folder):
                    found.listed[path] = None
            elif isinstance(event, audit_events.Replaced):
                if path := self._add(found, event.path, folder):
                    found.rewritten.update([path] if event.is_made and path in read else ())
                    found.written.add(path)
            elif isinstance(event, audit_events.Went):
                folder = joined(folder, event.path) or folder
            elif isinstance(event, audit_events.Child):
                found.commands.append(event._replace(folder=joined(folder, event.folder or folder)))
                found.before = event.before if found.before is None else found.before

    def _of_children(self, found: FoundFiles, use: _Use, tree: ast.Module) -> None:
        """Add files that commands name, and files that changed since before the first of them."""
        asked, folder = Asked(), use.folder
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
            found.globs[pattern] = matches_digest(pattern, folder)
        known = found.before or {}
        for path, stamp in changed_since(folder, use.since_ns).items():
            if stamp == known.get(path) or path.endswith(".ipynb"):
                continue
            if whole := self._add(found, path, folder):
                found.written.add(whole)

    def _folder(self, found: FoundFiles, path: object, folder: str) -> str | None:
        """The whole path of a folder whose entries count."""
        whole = joined(folder, path)
        if whole is None or not self._places.counts(f"{whole}/."):
            return None
        found.is_relative = found.is_relative or not os.path.isabs(text_of(path) or "/")  # noqa: PTH117
        return whole

    def _add(
        self, found: FoundFiles, path: object, folder: str, *, is_named: bool = False
    ) -> str | None:
        if whole := self._absolute(found, path, folder, is_named=is_named):
            found.files[whole] = None
        return whole

    def _absolute(
        self, found: FoundFiles, path: object, folder: str, *, is_named: bool = False
    ) -> str | None:
        """The whole path of what counts; in temporary folders, of what the code names."""
        whole = joined(folder, path)
        if whole is None or not (self._places.counts(whole) or (is_named and is_made(whole))):
            return None
        found.is_relative = found.is_relative or not os.path.isabs(text_of(path) or "/")  # noqa: PTH117
        return whole


class _Uses(NamedTuple):
    """The paths that a call has used, as far as Python was told.

    Attributes
    ----------
    read
        Those that it may have read as they were before.
    """

    written: set[str]
    read: set[str]
    opened: set[str]


def _uses_of(call: CallFiles) -> _Uses:
    found, emptied, folder = _Uses(set(), set(), set()), set[str](), call.folder
    for event in call.events:
        if isinstance(event, audit_events.Went):
            folder = joined(folder, event.path) or folder
        if not isinstance(event, audit_events.Opened | audit_events.Replaced):
            continue
        path = joined(folder, event.path) or ""
        if event.is_read and path not in emptied:
            found.read.add(path)
        if isinstance(event, audit_events.Opened):
            found.opened.add(path)
            is_written, is_emptied = event.is_written, event.is_emptied
        else:
            is_written, is_emptied = True, not event.is_read
        if is_written:
            found.written.add(path)
        if is_emptied:
            emptied.add(path)
    return found


def _is_newer(path: str, since_ns: int) -> bool:
    """True if a file was changed since then."""
    try:
        return Path(path).stat().st_mtime_ns >= since_ns
    except OSError:
        return False
