"""The audit events of this process, collected while a window is open, or a call is in work.

Notes
-----
An audit hook can never be removed, so one is added when a session begins, and returns at once
where no window is open. `id()` raises an event, too: that one is told from others first. What the
hook asks of frames raises further events; a thread that is inside the hook is not heard.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from functools import cache, wraps
from os import O_ACCMODE, O_APPEND, O_EXCL, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY
from threading import get_ident
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple, ParamSpec, TypeVar
from urllib.parse import unquote

from nbckpt.capture.observation.audit_events import (
    Child,
    Compiled,
    Evaluated,
    Event,
    Framed,
    Listed,
    Opened,
    Repeated,
    Replaced,
    Unpickled,
    Went,
)
from nbckpt.capture.observation.child_environment import put_in_environment
from nbckpt.capture.observation.commands import terminal_of
from nbckpt.capture.observation.file_states import TICK_NS, changed_since
from nbckpt.capture.observation.frame_lookups import HARMLESS, called_from_c, looks_up
from nbckpt.digests import Json
from nbckpt.runtime.context import awaited_with, called_with
from nbckpt.runtime.user_code_errors import user_code_errors

_P = ParamSpec("_P")
_R = TypeVar("_R")

MAX_EVENTS = 200_000
"""So many are collected in one window; of more it is only known that there were more."""

OF_FILES = (Opened, Listed, Replaced, Went, Child)
"""Events that calls are told of."""

MAX_DEPTH = 400
"""Callers to look at, for the line of the notebook that an event comes from."""

_APPENDING = O_WRONLY | O_APPEND
_IMPORTER = "<frozen importlib."
_FINDING = frozenset({"importlib", "importlib_metadata", "pkgutil", "pkg_resources", "stevedore"})
"""Packages that list the folders of `sys.path`, to find modules and distributions."""

_OUR_THREADS = (
    *("nbckpt", "IPythonHistorySavingThread", "IOPub", "Control", "Heartbeat", "Subshell"),
    *("subshell", "Parent", "asyncio_notebook", "ZMQ", "pydevd"),
)


_events: list[Event] = []
_windows: set[int] = set()
_calls: dict[int, list[Event]] = {}  # what each call in work has done, by whatever thread
_switching = threading.RLock()  # calls begin and end in threads
_in_calls: ContextVar[tuple[list[Event], ...]] = ContextVar("nbckpt_heard", default=())
_deaf: set[int] = set()  # threads that are inside the hook, or in work of nbckpt's own
_is_open = False
_is_looked = False  # whether files were looked at before a process started, in the latest window
_since_ns = 0  # when the outermost window was opened
_namespace: Mapping[str, object] = {}
_numbers = iter(range(1, sys.maxsize))


class Window(NamedTuple):
    """Events that are collected from number `start` on."""

    number: int
    start: int


def opened(namespace: Mapping[str, object]) -> Window:
    """A window that collects events from now on; `namespace` is that of the notebook."""
    global _namespace  # noqa: PLW0603  # looked at by the hook
    _namespace = namespace
    _begin()
    window = Window(next(_numbers), len(_events))
    _windows.add(window.number)
    return window


def _begin() -> None:
    """Hear what happens from now on."""
    global _is_open, _is_looked, _since_ns  # noqa: PLW0603  # looked at by the hook
    _add()
    with _switching:
        if not _is_open:
            _since_ns = time.time_ns() - TICK_NS
        _is_looked = False
        _is_open = True


@cache
def _add() -> None:
    sys.addaudithook(_hook)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forget)


def collected(window: Window) -> list[Event]:
    """The events of a window so far."""
    return _events[window.start :] if window.number in _windows else []


def closed(window: Window) -> None:
    """Collect nothing more in a window."""
    _windows.discard(window.number)
    if not _windows:
        _events.clear()
    _end()


def _end() -> None:
    """Hear nothing more, unless something still listens."""
    global _is_open  # noqa: PLW0603  # looked at by the hook
    with _switching:
        _is_open = bool(_windows or _calls)


def heard(events: list[Event], function: Callable[..., _R], /, *args: object) -> _R:
    """Call a function, and add to `events` what it does.

    So does a thread that belongs to no call: it may be one that the function has begun.
    """
    try:
        _calls[id(events)] = events
        _begin()
        answer = called_with(_in_calls, (*_in_calls.get(), events), function, *args)
    finally:
        _forget_call(events)
    return answer


async def heard_async(
    events: list[Event], function: Callable[..., Awaitable[_R]], /, *args: object
) -> _R:
    """As `heard`, of one to wait for."""
    try:
        _calls[id(events)] = events
        _begin()
        answer = await awaited_with(_in_calls, (*_in_calls.get(), events), function, *args)
    finally:
        _forget_call(events)
    return answer


def _forget_call(events: list[Event]) -> None:
    _calls.pop(id(events), None)
    _end()


def repeated(record: Json) -> None:
    """Have the calls in which a kept call is answered take the files that it read for theirs."""
    for events in _in_calls.get():
        events.append(Repeated(record))


def _note(event: Event) -> None:
    """Add an event to the windows, and to the calls of the thread or task; else to all calls."""
    if _windows and len(_events) <= MAX_EVENTS:
        _events.append(event)
    if _calls and isinstance(event, OF_FILES):
        for events in _in_calls.get() or tuple(_calls.values()):
            if len(events) <= MAX_EVENTS:
                events.append(event)


def _forget() -> None:
    """Have a forked process begin without windows: they are its parent's."""
    global _is_open, _switching  # noqa: PLW0603  # looked at by the hook
    _switching = threading.RLock()  # a thread that is not here may have it
    _windows.clear()
    _events.clear()
    _calls.clear()
    _deaf.clear()
    _is_open = False


class paused:  # noqa: N801  # reads as a state: with paused():
    """In the block, events of this thread are nbckpt's own and do not count."""

    __slots__ = ("_thread", "_was_heard")

    def __enter__(self) -> None:
        self._thread = get_ident()
        self._was_heard = self._thread not in _deaf
        _deaf.add(self._thread)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._was_heard:
            _deaf.discard(self._thread)


def unheard(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """`function`, during which events are nbckpt's own."""

    @wraps(function)
    def wrapped(*args: _P.args, **named: _P.kwargs) -> _R:
        with paused():
            return function(*args, **named)

    return wrapped


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if not _is_open or event == "builtins.id" or event == "object.__getattr__":
        return
    told = _KINDS.get(event)
    if told is None:
        return
    thread = get_ident()
    if thread in _deaf or _is_ours(thread) or (len(_events) > MAX_EVENTS and not _calls):
        return
    _deaf.add(thread)
    try:
        found = told(args, sys._getframe(1))  # noqa: SLF001
        if found is not None:
            _note(found)
    except user_code_errors():  # an error here would be raised by the user's own call
        pass
    finally:
        _deaf.discard(thread)


def _is_ours(thread: int) -> bool:
    """True if a thread is nbckpt's own, or one of the kernel's that runs no cell."""
    known: Any = threading._active.get(thread)  # type: ignore[attr-defined]  # noqa: SLF001
    return known is not None and known.name.startswith(_OUR_THREADS)


def _module_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _is_nbckpts(module: str) -> bool:
    return module == "nbckpt" or module.startswith("nbckpt.")


def line_of(frame: FrameType | None) -> int:
    """The line of the outermost frame of the notebook; 0 if the notebook did not call this."""
    line = depth = 0
    while frame is not None and depth < MAX_DEPTH:
        if frame.f_globals is _namespace:
            line = frame.f_lineno or 1
        frame = frame.f_back
        depth += 1
    return line


def _opened(args: tuple[Any, ...], frame: FrameType) -> Event | None:
    path, mode, flags = args
    if isinstance(path, int) or _is_nbckpts(_module_of(frame)):
        return None
    is_imported = frame.f_code.co_filename.startswith(_IMPORTER)
    if isinstance(flags, int):
        is_written, is_appended = flags & O_ACCMODE != O_RDONLY, flags & _APPENDING == _APPENDING
        is_there = not _calls or os.path.lexists(path)
        if is_written and flags & O_EXCL and is_there and _calls:  # which fails
            return Opened(path, False, is_imported)
        is_emptied = is_written and bool(flags & (O_TRUNC | O_EXCL))
        is_read = not is_written or (flags & O_ACCMODE == O_RDWR and not is_emptied)
        return Opened(path, is_written, is_imported, is_appended, is_read and is_there, is_emptied)
    is_written = not {"w", "a", "x", "+"}.isdisjoint(mode or "")
    is_appended = "a" in (mode or "") and "+" not in (mode or "")
    return Opened(path, is_written, is_imported, is_appended)


def _listed(args: tuple[Any, ...], frame: FrameType) -> Event | None:
    if isinstance(args[0], int) or frame.f_code.co_filename.startswith(_IMPORTER):
        return None
    module = _module_of(frame)
    if _is_nbckpts(module) or module.partition(".")[0] in _FINDING:
        return None
    return Listed(args[0] or ".")


def _replaced(args: tuple[Any, ...], frame: FrameType) -> Event | None:
    own = frame.f_code.co_filename.startswith(_IMPORTER) or _is_nbckpts(_module_of(frame))
    return None if own or isinstance(args[0], int) else Replaced(args[0])


def _cut(args: tuple[Any, ...], frame: FrameType) -> Event | None:
    found = _replaced(args, frame)
    return None if found is None else Replaced(args[0], is_read=args[1] != 0)


def _moved(args: tuple[Any, ...], frame: FrameType) -> Event | None:
    if _replaced(args, frame) is None:
        return None
    _note(Replaced(args[0], is_read=True))
    return Replaced(args[1], is_made=True)


def _linked(args: tuple[Any, ...], frame: FrameType) -> Event | None:
    """A name of a file that stays as it is, under which it may be read."""
    if _replaced(args, frame) is None:
        return None
    _note(Opened(args[0], False, False))
    return Replaced(args[1], is_made=True)


def _linked_by_text(args: tuple[Any, ...], frame: FrameType) -> Event | None:
    """The same, by a text that is read from the folder of the new name."""
    folder = os.path.dirname(os.fspath(args[1]))  # noqa: PTH120  # may be bytes
    return _linked((os.path.join(folder, os.fspath(args[0])), *args[1:]), frame)  # noqa: PTH118


def _connected(args: tuple[Any, ...], frame: FrameType) -> Event | None:
    if _is_nbckpts(_module_of(frame)):
        return None
    path = _path_of_database(args[0])
    if isinstance(path, str) and path and not path.startswith(":"):
        _note(Opened(f"{path}-wal", True, False))  # where others' changes may stand
    return Opened(path, True, False)


def _path_of_database(named: object) -> object:
    """The path that SQLite is given, also in a URI."""
    try:
        text = os.fsdecode(named) if isinstance(named, str | bytes | os.PathLike) else named
    except UnicodeDecodeError:
        return named
    if isinstance(text, str) and text.startswith("file:"):
        return unquote(text.removeprefix("file:").partition("?")[0].removeprefix("//localhost"))
    return text


def _child(words: object, folder: object, frame: FrameType) -> Event | None:
    global _is_looked  # noqa: PLW0603  # one look for all that a window starts
    if _is_nbckpts(_module_of(frame)):
        return None
    before = None
    if not _is_looked:
        before = changed_since(os.getcwd(), _since_ns)  # noqa: PTH109  # texts all the way
        _is_looked = True
    return Child(tuple(words) if isinstance(words, list | tuple) else (words,), folder, before)


def _started(args: tuple[Any, ...], frame: FrameType) -> Event | None:
    return _child(args[1], args[2] if len(args) == 4 else None, frame)  # `Popen` tells its folder


def _forked(_: tuple[Any, ...], frame: FrameType) -> Event | None:
    return _child(*terminal_of(frame), frame)


def _evaluated(args: tuple[Any, ...], frame: FrameType) -> Event | None:
    code = args[0]
    if frame.f_code.co_filename.startswith(_IMPORTER) or not isinstance(code, CodeType):
        return None
    module = _module_of(frame)
    if module in _GENERATING or _is_nbckpts(module):
        return None
    line = line_of(frame)
    if not line and module.startswith("IPython.core.interactiveshell"):
        return None  # the cell itself
    return Evaluated(code, module, line)


def _compiled(args: tuple[Any, ...], _: FrameType) -> Event | None:
    text = args[0]
    return Compiled(text) if isinstance(text, str | bytes) and len(text) < 20_000 else None


def _framed(args: tuple[Any, ...], frame: FrameType) -> Event | None:
    caller: FrameType | None = frame
    while caller is not None and _module_of(caller) in _PASSING:
        caller = caller.f_back
    if caller is None or not looks_up(caller.f_code):
        return None
    module = _module_of(caller)
    if _is_nbckpts(module) or module.partition(".")[0] in HARMLESS:
        return None
    target = args[0] if args and isinstance(args[0], FrameType) else None
    walks = target is None or "f_back" in caller.f_code.co_names
    is_notebook = target is not None and target.f_globals is _namespace
    if not is_notebook and not walks and caller.f_code not in called_from_c:
        return None
    return Framed(caller.f_code, module, is_notebook, line_of(frame))


def _unpickled(args: tuple[Any, ...], _: FrameType) -> Event | None:
    module, name = args[:2]
    return Unpickled(module, name) if module == "__main__" else None


_GENERATING = frozenset({"ast", "collections", "dataclasses", "enum", "functools", "importlib"})
"""Modules that run text which they made themselves, of names of their own."""

_PASSING = frozenset({"inspect"})
"""Modules that look at frames for those who call them."""


def _put(args: tuple[Any, ...], _: FrameType) -> None:
    put_in_environment[args[0]] = args[1] if len(args) > 1 else None


_Told = Callable[[tuple[Any, ...], FrameType], "Event | None"]

_KINDS: dict[str, _Told] = {
    "open": _opened,
    "os.listdir": _listed,
    "os.scandir": _listed,
    **dict.fromkeys(("os.remove", "os.rmdir", "os.mkdir"), _replaced),
    "os.truncate": _cut,
    "os.rename": _moved,
    "os.link": _linked,
    "os.symlink": _linked_by_text,
    **dict.fromkeys(("os.putenv", "os.unsetenv"), _put),
    "os.chdir": lambda args, _: Went(args[0]),
    "sqlite3.connect": _connected,
    **dict.fromkeys(("subprocess.Popen", "os.posix_spawn", "os.exec"), _started),
    "os.system": lambda args, frame: _child(args[0], None, frame),
    **dict.fromkeys(("os.fork", "os.forkpty"), _forked),
    "exec": _evaluated,
    "compile": _compiled,
    "sys._getframe": _framed,
    "pickle.find_class": _unpickled,
}
