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
from threading import get_ident
from types import TracebackType
from typing import Any, NamedTuple, ParamSpec, TypeVar

from nbckpt.capture.observation.audit_events import (
    Child,
    Event,
    Listed,
    Opened,
    Repeated,
    Replaced,
    Went,
)
from nbckpt.capture.observation.audit_kinds import READERS, Circumstances
from nbckpt.capture.observation.file_states import TICK_NS
from nbckpt.digests import Json
from nbckpt.runtime.context import awaited_with, called_with
from nbckpt.runtime.user_code_errors import user_code_errors

_P = ParamSpec("_P")
_R = TypeVar("_R")

MAX_EVENTS = 200_000
"""So many are collected in one window; of more it is only known that there were more."""

OF_FILES = (Opened, Listed, Replaced, Went, Child)
"""Events that calls are told of."""

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
_now = Circumstances()
_numbers = iter(range(1, sys.maxsize))


class Window(NamedTuple):
    """Events that are collected from number `start` on."""

    number: int
    start: int


def opened(namespace: Mapping[str, object]) -> Window:
    """A window that collects events from now on; `namespace` is that of the notebook."""
    _now.namespace = namespace
    _begin()
    window = Window(next(_numbers), len(_events))
    _windows.add(window.number)
    return window


def _begin() -> None:
    """Hear what happens from now on."""
    global _is_open  # noqa: PLW0603  # looked at by the hook
    _add()
    with _switching:
        if not _is_open:
            _now.since_ns = time.time_ns() - TICK_NS
        _now.is_looked = False
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
    reader = READERS.get(event)
    if reader is None:
        return
    thread = get_ident()
    if thread in _deaf or _is_ours(thread) or (len(_events) > MAX_EVENTS and not _calls):
        return
    _deaf.add(thread)
    try:
        _now.has_calls = bool(_calls)
        for found in reader(args, sys._getframe(1), _now):  # noqa: SLF001
            _note(found)
    except user_code_errors():  # an error here would be raised by the user's own call
        pass
    finally:
        _deaf.discard(thread)


def _is_ours(thread: int) -> bool:
    """True if a thread is nbckpt's own, or one of the kernel's that runs no cell."""
    known: Any = threading._active.get(thread)  # type: ignore[attr-defined]  # noqa: SLF001
    return known is not None and known.name.startswith(_OUR_THREADS)
