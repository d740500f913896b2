"""The variables that code of the notebook can change outside of cells: callbacks and tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType, MethodType
from typing import Any

from nbckpt.meanwhile import frames_of_tasks
from nbckpt.values.plain import ATOMS

AROUND = ("pre_execute", "pre_run_cell", "post_run_cell", "post_execute")


def touched_by_callbacks(events: Any, namespace: Mapping[str, object]) -> frozenset[str] | None:
    """The names that callbacks of a shell's events can change; None: any.

    Parameters
    ----------
    events
        The shell's, where they are registered.
    """
    return _touched_by([f.__code__ for f in _users(events, namespace)], namespace)


def touched_by_tasks(namespace: Mapping[str, object]) -> frozenset[str] | None:
    """The names that tasks of the running loop can change; None: any."""
    frames = frames_of_tasks(namespace)
    # Which variables what is local there belongs to is not known.
    if any(type(value) not in ATOMS for frame in frames for value in frame.f_locals.values()):
        return None
    return _touched_by([frame.f_code for frame in frames], namespace)


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
