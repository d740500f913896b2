"""The variables that code of the notebook can change outside of cells: callbacks and tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import CodeType, FunctionType, MethodType
from typing import Any

from nbckpt.meanwhile import AtWork

AROUND = ("pre_execute", "pre_run_cell", "post_run_cell", "post_execute")


def touched_by_callbacks(events: Any, namespace: Mapping[str, object]) -> frozenset[str] | None:
    """The names that callbacks of a shell's events can change; None: any.

    Parameters
    ----------
    events
        The shell's, where they are registered.
    """
    return _touched_by([f.__code__ for f in _users(events, namespace)], namespace)


def touched_at_work(
    works: Iterable[AtWork], namespace: Mapping[str, object]
) -> frozenset[str] | None:
    """The names that what goes on beside the cells can change; None: any."""
    works = list(works)
    if any(work.is_untold for work in works):
        return None
    held = frozenset(name for work in works for name in work.holds)
    touched = _touched_by([code for work in works for code in work.code], namespace)
    return None if touched is None else touched | held


def _touched_by(code: list[CodeType], namespace: Mapping[str, object]) -> frozenset[str] | None:
    if not code:
        return frozenset()
    from nbckpt import keys
    from nbckpt.analysis import names_of_code
    from nbckpt.analysis.bytecode import union

    try:
        return keys.touched(union(map(names_of_code, code)), namespace)
    except Exception:  # whatever a value's own code raises when it is looked at
        return None


def _users(events: Any, namespace: Mapping[str, object]) -> Iterator[FunctionType]:
    for event in AROUND:
        for callback in events.callbacks.get(event, ()):
            function = callback.__func__ if type(callback) is MethodType else callback
            if type(function) is FunctionType and function.__globals__ is namespace:
                yield function
