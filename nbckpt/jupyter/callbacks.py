"""What the notebook's own functions can change that IPython calls around each cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import FunctionType, MethodType
from typing import Any

AROUND = ("pre_execute", "pre_run_cell", "post_run_cell", "post_execute")


def touched_by_callbacks(events: Any, namespace: Mapping[str, object]) -> frozenset[str] | None:
    """The names that callbacks of a shell's events can change; None: any.

    Parameters
    ----------
    events
        The shell's, where they are registered.
    """
    own = list(_users(events, namespace))
    if not own:
        return frozenset()
    from nbckpt import keys
    from nbckpt.analysis import names_of_code
    from nbckpt.analysis.bytecode import union

    try:
        return keys.touched(union(names_of_code(f.__code__) for f in own), namespace)
    except Exception:  # whatever a value's own code raises when it is looked at
        return None


def _users(events: Any, namespace: Mapping[str, object]) -> Iterator[FunctionType]:
    for event in AROUND:
        for callback in events.callbacks.get(event, ()):
            function = callback.__func__ if type(callback) is MethodType else callback
            if type(function) is FunctionType and function.__globals__ is namespace:
                yield function
