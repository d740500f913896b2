"""What each audit event of Python tells: a file that is opened, a child, code that is run.

Notes
-----
The sources of the events, by name: Python's documentation, *Audit events table*.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from os import O_ACCMODE, O_APPEND, O_EXCL, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY
from types import CodeType, FrameType
from typing import Any, TypeAlias
from urllib.parse import unquote

from nbckpt.capture.observation.audit_events import (
    Child,
    Compiled,
    Evaluated,
    Event,
    Framed,
    Listed,
    Opened,
    Replaced,
    Unpickled,
    Went,
)
from nbckpt.capture.observation.child_environment import put_in_environment
from nbckpt.capture.observation.commands import terminal_of
from nbckpt.capture.observation.file_states import changed_since
from nbckpt.capture.observation.frame_lookups import HARMLESS, called_from_c, looks_up

MAX_DEPTH = 400
"""Callers to look at, for the line of the notebook that an event comes from."""

_APPENDING = O_WRONLY | O_APPEND
_IMPORTER = "<frozen importlib."
_FINDING = frozenset({"importlib", "importlib_metadata", "pkgutil", "pkg_resources", "stevedore"})
"""Packages that list the folders of `sys.path`, to find modules and distributions."""

_STARTING = "nbckpt.llm.seams.process_starts"
"""A module that calls for the notebook what starts processes."""


class Circumstances:
    """What the meaning of an event depends on.

    Attributes
    ----------
    namespace
        Of the notebook.
    has_calls
        Whether calls are in work that are told of files.
    since_ns
        When the outermost window was opened.
    is_looked
        Whether files were looked at before a process started, in the latest window.
    """

    __slots__ = ("has_calls", "is_looked", "namespace", "since_ns")

    def __init__(self) -> None:
        self.namespace: Mapping[str, object] = {}
        self.has_calls = False
        self.since_ns = 0
        self.is_looked = False


Told: TypeAlias = "tuple[Event, ...]"
"""The events that one of Python's tells."""

_NOTHING: Told = ()


def module_of(frame: FrameType) -> str:
    """The module whose code a frame runs."""
    return str(frame.f_globals.get("__name__", ""))


def is_nbckpts(module: str) -> bool:
    """True of this package and what is in it."""
    return module == "nbckpt" or module.startswith("nbckpt.")


def line_of(frame: FrameType | None, namespace: Mapping[str, object]) -> int:
    """The line of the outermost frame of the notebook; 0 if the notebook did not call this."""
    line = depth = 0
    while frame is not None and depth < MAX_DEPTH:
        if frame.f_globals is namespace:
            line = frame.f_lineno or 1
        frame = frame.f_back
        depth += 1
    return line


def _opened(args: tuple[Any, ...], frame: FrameType, now: Circumstances) -> Told:
    path, mode, flags = args
    if isinstance(path, int) or is_nbckpts(module_of(frame)):
        return _NOTHING
    is_imported = frame.f_code.co_filename.startswith(_IMPORTER)
    if isinstance(flags, int):
        is_written, is_appended = flags & O_ACCMODE != O_RDONLY, flags & _APPENDING == _APPENDING
        is_there = not now.has_calls or os.path.lexists(path)
        if is_written and flags & O_EXCL and is_there and now.has_calls:  # which fails
            return (Opened(path, False, is_imported),)
        is_emptied = is_written and bool(flags & (O_TRUNC | O_EXCL))
        is_read = not is_written or (flags & O_ACCMODE == O_RDWR and not is_emptied)
        is_read = is_read and is_there
        return (Opened(path, is_written, is_imported, is_appended, is_read, is_emptied),)
    is_written = not {"w", "a", "x", "+"}.isdisjoint(mode or "")
    is_appended = "a" in (mode or "") and "+" not in (mode or "")
    return (Opened(path, is_written, is_imported, is_appended),)


def _listed(args: tuple[Any, ...], frame: FrameType, _: Circumstances) -> Told:
    if isinstance(args[0], int) or frame.f_code.co_filename.startswith(_IMPORTER):
        return _NOTHING
    module = module_of(frame)
    if is_nbckpts(module) or module.partition(".")[0] in _FINDING:
        return _NOTHING
    return (Listed(args[0] or "."),)


def _is_own(args: tuple[Any, ...], frame: FrameType) -> bool:
    """True if it is nbckpt's, or the import system's, or of a descriptor."""
    is_importers = frame.f_code.co_filename.startswith(_IMPORTER)
    return is_importers or is_nbckpts(module_of(frame)) or isinstance(args[0], int)


def _replaced(args: tuple[Any, ...], frame: FrameType, _: Circumstances) -> Told:
    return _NOTHING if _is_own(args, frame) else (Replaced(args[0]),)


def _cut(args: tuple[Any, ...], frame: FrameType, _: Circumstances) -> Told:
    return _NOTHING if _is_own(args, frame) else (Replaced(args[0], is_read=args[1] != 0),)


def _moved(args: tuple[Any, ...], frame: FrameType, _: Circumstances) -> Told:
    if _is_own(args, frame):
        return _NOTHING
    return Replaced(args[0], is_read=True), Replaced(args[1], is_made=True)


def _linked(args: tuple[Any, ...], frame: FrameType, _: Circumstances) -> Told:
    """A name of a file that stays as it is, under which it may be read."""
    if _is_own(args, frame):
        return _NOTHING
    return Opened(args[0], False, False), Replaced(args[1], is_made=True)


def _linked_by_text(args: tuple[Any, ...], frame: FrameType, now: Circumstances) -> Told:
    """The same, by a text that is read from the folder of the new name."""
    folder = os.path.dirname(os.fspath(args[1]))  # noqa: PTH120  # may be bytes
    return _linked((os.path.join(folder, os.fspath(args[0])), *args[1:]), frame, now)  # noqa: PTH118


def _connected(args: tuple[Any, ...], frame: FrameType, _: Circumstances) -> Told:
    if is_nbckpts(module_of(frame)):
        return _NOTHING
    path = _path_of_database(args[0])
    opened = Opened(path, True, False)
    if isinstance(path, str) and path and not path.startswith(":"):
        return Opened(f"{path}-wal", True, False), opened  # where others' changes may stand
    return (opened,)


def _path_of_database(named: object) -> object:
    """The path that SQLite is given, also in a URI."""
    try:
        text = os.fsdecode(named) if isinstance(named, str | bytes | os.PathLike) else named
    except UnicodeDecodeError:
        return named
    if isinstance(text, str) and text.startswith("file:"):
        return unquote(text.removeprefix("file:").partition("?")[0].removeprefix("//localhost"))
    return text


def _child(words: object, folder: object, frame: FrameType, now: Circumstances) -> Told:
    module = module_of(frame)
    if is_nbckpts(module) and module != _STARTING:
        return _NOTHING
    before = None
    if not now.is_looked:  # one look for all that a window starts
        before = changed_since(os.getcwd(), now.since_ns)  # noqa: PTH109  # texts all the way
        now.is_looked = True
    return (Child(tuple(words) if isinstance(words, list | tuple) else (words,), folder, before),)


def _started(args: tuple[Any, ...], frame: FrameType, now: Circumstances) -> Told:
    folder = args[2] if len(args) == 4 else None  # `Popen` tells its own
    return _child(args[1], folder, frame, now)


def _forked(_: tuple[Any, ...], frame: FrameType, now: Circumstances) -> Told:
    return _child(*terminal_of(frame), frame, now)


def _in_shell(args: tuple[Any, ...], frame: FrameType, now: Circumstances) -> Told:
    return _child(args[0], None, frame, now)


def _evaluated(args: tuple[Any, ...], frame: FrameType, now: Circumstances) -> Told:
    code = args[0]
    if frame.f_code.co_filename.startswith(_IMPORTER) or not isinstance(code, CodeType):
        return _NOTHING
    module = module_of(frame)
    if module in _GENERATING or is_nbckpts(module):
        return _NOTHING
    line = line_of(frame, now.namespace)
    if not line and module.startswith("IPython.core.interactiveshell"):
        return _NOTHING  # the cell itself
    return (Evaluated(code, module, line),)


def _compiled(args: tuple[Any, ...], _: FrameType, __: Circumstances) -> Told:
    text = args[0]
    is_short = isinstance(text, str | bytes) and len(text) < 20_000
    return (Compiled(text),) if is_short else _NOTHING


def _framed(args: tuple[Any, ...], frame: FrameType, now: Circumstances) -> Told:
    caller: FrameType | None = frame
    while caller is not None and module_of(caller) in _PASSING:
        caller = caller.f_back
    if caller is None or not looks_up(caller.f_code):
        return _NOTHING
    module = module_of(caller)
    if is_nbckpts(module) or module.partition(".")[0] in HARMLESS:
        return _NOTHING
    target = args[0] if args and isinstance(args[0], FrameType) else None
    walks = target is None or "f_back" in caller.f_code.co_names
    is_notebook = target is not None and target.f_globals is now.namespace
    if not is_notebook and not walks and caller.f_code not in called_from_c:
        return _NOTHING
    return (Framed(caller.f_code, module, is_notebook, line_of(frame, now.namespace)),)


def _unpickled(args: tuple[Any, ...], _: FrameType, __: Circumstances) -> Told:
    module, name = args[:2]
    return (Unpickled(module, name),) if module == "__main__" else _NOTHING


def _went(args: tuple[Any, ...], _: FrameType, __: Circumstances) -> Told:
    return (Went(args[0]),)


def _put(args: tuple[Any, ...], _: FrameType, __: Circumstances) -> Told:
    put_in_environment[args[0]] = args[1] if len(args) > 1 else None
    return _NOTHING


_GENERATING = frozenset({"ast", "collections", "dataclasses", "enum", "functools", "importlib"})
"""Modules that run text which they made themselves, of names of their own."""

_PASSING = frozenset({"inspect"})
"""Modules that look at frames for those who call them."""

_Reader: TypeAlias = Callable[[tuple[Any, ...], FrameType, Circumstances], Told]

READERS: dict[str, _Reader] = {
    "open": _opened,
    "os.listdir": _listed,
    "os.scandir": _listed,
    **dict.fromkeys(("os.remove", "os.rmdir", "os.mkdir"), _replaced),
    "os.truncate": _cut,
    "os.rename": _moved,
    "os.link": _linked,
    "os.symlink": _linked_by_text,
    **dict.fromkeys(("os.putenv", "os.unsetenv"), _put),
    "os.chdir": _went,
    "sqlite3.connect": _connected,
    **dict.fromkeys(("subprocess.Popen", "os.posix_spawn", "os.exec"), _started),
    "os.system": _in_shell,
    **dict.fromkeys(("os.fork", "os.forkpty"), _forked),
    "exec": _evaluated,
    "compile": _compiled,
    "sys._getframe": _framed,
    "pickle.find_class": _unpickled,
}
"""Name of an audit event → what it tells, of its arguments and the frame that raised it."""
