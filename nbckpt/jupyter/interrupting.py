"""Interrupts around a cell: what IPython calls is not left half done, and none of them is lost.

IPython shows what a callback of its events raises, an interrupt also, and goes on as if nothing had
come: the cell would run to its end, and *Run All* to the last one.
"""

from __future__ import annotations

import threading
from _thread import interrupt_main
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

from IPython.core.interactiveshell import InteractiveShell

from nbckpt.interrupts import held
from nbckpt.llm import scope

_P = ParamSpec("_P")
_SOON_S = 0.02


class Interrupted(KeyboardInterrupt):
    """The user's interrupt of what nbckpt did for a cell."""

    def _render_traceback_(self) -> list[str]:
        return [f"KeyboardInterrupt: {self}"]


Interrupted.__name__ = KeyboardInterrupt.__name__  # front ends know it by that


def callback(function: Callable[_P, object]) -> Callable[_P, None]:
    """`function`, for an event of IPython: an interrupt comes to what IPython does after it."""

    @wraps(function)
    def guarded(*args: _P.args, **named: _P.kwargs) -> None:
        try:
            with held():
                function(*args, **named)
        except KeyboardInterrupt:
            again_soon()

    return guarded


def again_soon() -> None:
    """Have an interrupt come once more, where it is not swallowed; between cells it is nothing."""
    timer = threading.Timer(_SOON_S, interrupt_main)
    timer.daemon = True
    timer.start()


class Blocks:
    """Ends the `nbckpt.recording` blocks of an interrupted cell.

    An interrupt that comes as a `with` statement is entered or left leaves it entered, and what
    later cells ask would go as if they stood in it.
    """

    def __init__(self) -> None:
        self._info: Any = None
        self._before: scope.Entered | None = None

    def before(self, info: Any) -> None:
        """Remember what is entered as a cell begins; within it others may run."""
        if self._info is None:
            self._info, self._before = info, scope.entered_here()

    def after(self, result: Any) -> None:
        """End what it has entered, if it was interrupted."""
        if result is not None and result.info is not self._info:
            return
        before, self._info, self._before = self._before, None, None
        error = result and (result.error_in_exec or result.error_before_exec)
        if before is not None and (result is None or isinstance(error, KeyboardInterrupt)):
            scope.back_to(before)


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
