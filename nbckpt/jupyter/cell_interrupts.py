"""Interrupts around a cell: what IPython calls is not left half done, and none of them is lost.

IPython shows what a callback of its events raises, an interrupt also, and goes on as if nothing had
come: the cell would run to its end, and *Run All* to the last one.
"""

from __future__ import annotations

import sys
import threading
import time
from _thread import interrupt_main
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

from IPython.core.interactiveshell import ExecutionResult, InteractiveShell

from nbckpt.runtime.interrupts import held

if TYPE_CHECKING:
    from nbckpt.llm.scope import Entered

_P = ParamSpec("_P")
_SOON_S = 0.02
_LATE_S = 0.2
_RUNS = InteractiveShell.run_cell_async.__code__
_SCOPE = "nbckpt.llm.scope"
_missed: list[float] = []
"""When interrupts were swallowed."""


class Interrupted(KeyboardInterrupt):
    """The user's interrupt of what nbckpt did for a cell."""

    def _render_traceback_(self) -> list[str]:
        return [f"KeyboardInterrupt: {self}"]


Interrupted.__name__ = KeyboardInterrupt.__name__  # front ends know it by that


def callback(function: Callable[_P, object]) -> Callable[_P, None]:
    """`function`, for an event of IPython: an interrupt comes to the cell that it belongs to.

    If that has ended, and its answer is on its way, to one that follows at once: who stops a cell
    stops those that wait behind it.

    See Also
    --------
    is_missed : where the cell asks for it.
    """

    @wraps(function)
    def guarded(*args: _P.args, **named: _P.kwargs) -> None:
        try:
            with held():
                function(*args, **named)
        except KeyboardInterrupt:
            _missed.append(time.monotonic())
            if not any(isinstance(arg, ExecutionResult) for arg in args):
                _come_soon()

    return guarded


def _come_soon() -> None:
    """Have what was missed come where it is not swallowed: what runs may be no cell."""
    timer = threading.Timer(_SOON_S, lambda: interrupt_main() if is_missed() else None)
    timer.daemon = True
    timer.start()


def is_missed() -> bool:
    """True if an interrupt was swallowed just now, and has not come again; it does not any more."""
    try:
        return time.monotonic() - _missed.pop() < _LATE_S
    except IndexError:
        return False


def is_of_cell(result: Any, info: Any) -> bool:
    """True if a result is that of a running cell, and not of one inside it."""
    if result is None or result.info is info:
        return True
    # Where IPython cannot show an error, it tells of the cell anew.
    is_same = result.info.raw_cell == info.raw_cell
    return is_same and result.error_in_exec is not None


def is_outermost() -> bool:
    """True if the cell that runs is known not to do so inside another of this thread."""
    return _count_running() == 1


def is_inside() -> bool:
    """True if this is called by code of a cell, and not before one runs."""
    return _count_running() > 0


def _count_running() -> int:
    frame, n_running = sys._getframe(), 0  # noqa: SLF001  # nothing else tells
    while (above := frame.f_back) is not None:
        frame = above
        n_running += frame.f_code is _RUNS
    return n_running


class Blocks:
    """Ends the `nbckpt.recording` blocks of an interrupted cell.

    An interrupt that comes as a `with` statement is entered or left leaves it entered, and what
    later cells ask would go as if they stood in it.
    """

    def __init__(self) -> None:
        self._info: Any = None
        self._before: Entered | None = None

    @callback
    def before(self, info: Any) -> None:
        """Remember what is entered as a cell begins; within it others may run."""
        if self._info is None or is_outermost():
            scope = sys.modules.get(_SCOPE)  # nothing is entered where nobody asked for it
            self._info, self._before = info, scope.entered_here() if scope else None

    @callback
    def after(self, result: Any) -> None:
        """End what it has entered, if it was interrupted."""
        if self._info is None or not is_of_cell(result, self._info):
            return
        info, before, self._info, self._before = self._info, self._before, None, None
        error = result and (result.error_in_exec or result.error_before_exec)
        is_interrupted = result is None or isinstance(error, KeyboardInterrupt)
        if info is not None and is_interrupted and (scope := sys.modules.get(_SCOPE)):
            scope.back_to(before or scope.Entered(None, ()))


def end_cell(shell: InteractiveShell, result: Any, told: str) -> None:
    """Have a cell that has run well count as interrupted: the cells after it are not run.

    Parameters
    ----------
    result
        IPython's; None if it has none, and then shows an error already.
    """
    if result is None or result.error_in_exec or result.error_before_exec:
        return
    error = Interrupted(told)
    result.error_in_exec = error
    shell.showtraceback((Interrupted, error, None))
