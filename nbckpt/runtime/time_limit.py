"""A bound in time for code of values, which may never end: an endless ``__iter__``, a wait.

A thread of its own watches the clock, and has the code interrupted where it runs: on the main
thread by a signal, which ends a wait as well, elsewhere as soon as Python code runs.

Notes
-----
What another thread is sent is never taken back by `PyThreadState_SetAsyncExc` with nothing: Python
3.11 then looks for what was sent at each step of all threads, for ever, and finds nothing (a trace
of opcodes does not even come by). It is let come, and caught.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from contextlib import AbstractContextManager, nullcontext
from types import FrameType

from nbckpt.runtime.weak_objects import WeakObjects

CHECKED_S = 0.25
"""Seconds between two looks at the clock while something is bound."""

AT_REST_S = 2.0
"""After so long without a bound the thread sleeps until there is one."""

_STEPS = 100

_ATOMS = frozenset({type(None), bool, int, float, complex, str, bytes})
_SIGNAL = getattr(signal, "SIGVTALRM", None)
"""Of virtual timers, which hardly anybody uses."""


class OutOfTimeError(BaseException):
    """Code of a value took longer than it may; no `except Exception` of its own catches that."""


class _Bound:
    __slots__ = ("frame", "has_fired", "thread", "until")

    def __init__(self, until: float, frame: FrameType | None) -> None:
        self.thread = threading.get_ident()
        self.until = until
        self.frame = frame
        self.has_fired = False

    def holds(self, frame: FrameType | None) -> bool:
        """True while the block runs, by the frame that its thread is in.

        An interrupt at its very end may have kept it from saying so.
        """
        while frame is not None and frame is not self.frame:
            frame = frame.f_back
        return frame is not None


class _Watch:
    """Watches the innermost bound of each thread."""

    def __init__(self) -> None:
        self._bounds: dict[int, list[_Bound]] = {}
        self._is_needed = threading.Event()
        self._turn = threading.Lock()
        self._thread: threading.Thread | None = None
        self._has_handler = False

    def begin(self, bound: _Bound) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="nbckpt-bounds", daemon=True)
            self._thread.start()
        if not self._has_handler and _is_main() and _SIGNAL is not None:
            if signal.getsignal(_SIGNAL) in (signal.SIG_DFL, None):
                signal.signal(_SIGNAL, self._on_signal)
            self._has_handler = True
        self._bounds.setdefault(bound.thread, []).append(bound)
        if not self._is_needed.is_set():
            self._is_needed.set()

    def holds_here(self) -> bool:
        """True if the code that asks is inside of a block that is bound."""
        bounds = self._bounds.get(threading.get_ident(), ())
        return any(bound.holds(sys._getframe(1)) for bound in bounds)  # noqa: SLF001

    def end(self, bound: _Bound) -> None:
        """Send no more from here on."""
        bound.frame = None
        with self._turn:
            bounds = self._bounds.get(bound.thread, [])
            if bound in bounds:  # not in a child
                bounds.remove(bound)

    def forget(self) -> None:
        """In a child after a fork: the thread is not there, and a copy may start none.

        So nothing is bound there until a session says so.
        """
        set_limit(None)
        self._bounds, self._thread = {}, None
        self._is_needed, self._turn = threading.Event(), threading.Lock()

    def _run(self) -> None:
        idle_since = time.monotonic()
        while True:
            self._is_needed.wait()
            time.sleep(CHECKED_S)
            now = time.monotonic()
            active = [each for bounds in list(self._bounds.values()) for each in list(bounds)]
            if active:
                idle_since = now
            elif now - idle_since > AT_REST_S:
                self._is_needed.clear()
                if any(self._bounds.values()):  # it began meanwhile, and saw that the clock runs
                    self._is_needed.set()
            for bound in active:
                if now > bound.until:
                    self._interrupt(bound)

    def _interrupt(self, bound: _Bound) -> None:
        with self._turn:
            bounds = self._bounds.get(bound.thread, [])
            frame = sys._current_frames().get(bound.thread)  # noqa: SLF001  # there is no other way
            if bound in bounds and not bound.holds(frame):
                bounds.remove(bound)
            if bound in bounds:
                self._send_to(bound)

    def _send_to(self, bound: _Bound) -> None:
        bound.has_fired = True
        is_main = bound.thread == threading.main_thread().ident
        if is_main and _SIGNAL is not None and signal.getsignal(_SIGNAL) == self._on_signal:
            signal.pthread_kill(bound.thread, _SIGNAL)
        else:
            error = ctypes.py_object(OutOfTimeError)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(bound.thread), error)

    def _on_signal(self, _: int, __: FrameType | None) -> None:
        bounds = self._bounds.get(threading.get_ident(), ())
        if any(bound.has_fired for bound in bounds):
            raise OutOfTimeError


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


slow = WeakObjects()
"""Values that took longer than they may, and are not asked again; others are tried each time."""

_watch = _Watch()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_watch.forget)
_limit_s: float | None = 30.0


def set_limit(seconds: float | None) -> None:
    """Say how long code of one value may take in this process; None: as long as it wants."""
    global _limit_s  # noqa: PLW0603  # one for the process, as the clock is
    _limit_s = seconds


def limit_s() -> float | None:
    """Seconds that code of one value may take; None: as many as it wants."""
    return _limit_s


def limit_text() -> str:
    """The bound, for people."""
    return f"{_limit_s:g} s" if _limit_s is not None else "for ever"


def bounded(*values: object) -> AbstractContextManager[None]:
    """Have code of a value end in time.

    Within a bound that holds already, this one changes nothing; nor does one of values that have no
    code, where they are given.

    Raises
    ------
    OutOfTimeError
        If it does not.
    """
    if values and all(type(value) in _ATOMS for value in values):
        return _NOTHING
    if _limit_s is None or _watch.holds_here():
        return _NOTHING
    return _Within()


_NOTHING = nullcontext()


class _Within:
    """A bound, for a block; a generator would take three times as long."""

    __slots__ = ("_bound",)

    def __enter__(self) -> None:
        self._bound = _Bound(time.monotonic() + (_limit_s or 0.0), sys._getframe(1))  # noqa: SLF001
        try:
            _watch.begin(self._bound)
        except BaseException:  # an interrupt
            _watch.end(self._bound)
            raise

    def __exit__(self, *_: object) -> None:
        try:
            _watch.end(self._bound)
            if self._bound.has_fired:
                for _step in range(_STEPS):  # what was sent, and has not come yet, comes here
                    pass
        except OutOfTimeError:
            _watch.end(self._bound)
        except BaseException:  # an interrupt
            _watch.end(self._bound)
            raise
