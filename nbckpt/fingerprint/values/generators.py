"""Parts that decide a generator's next step: its code, its variables, and its current place."""

from __future__ import annotations

import gc
import types
from typing import Any

_PREFIXES = {"generator": "gi", "coroutine": "cr", "async_generator": "ag"}


def parts_of_generator(generator: Any) -> list[object] | None:
    """Parts of a generator or coroutine that count; None if they are not all to be had.

    A coroutine that has begun waits for something of its loop, which nobody can tell.
    """
    prefix = _PREFIXES[type(generator).__name__]
    frame: Any = getattr(generator, f"{prefix}_frame")
    if frame is None:
        return ["ended"]
    if getattr(generator, f"{prefix}_running"):
        return None
    if getattr(generator, f"{prefix}_suspended", True):
        return _parts_of_suspended(generator, frame) if prefix == "gi" else None
    return ["new", generator.__qualname__, code_of(frame), dict(frame.f_locals)]


def _parts_of_suspended(generator: types.GeneratorType[Any, Any, Any], frame: Any) -> list[object]:
    """The place, the variables, and what lies on the stack: iterators of loops, open managers.

    Variables that other code shares lie in cells, which are met among what the frame refers to.
    """
    behind = gc.get_referents(generator)
    values = frame.f_locals
    own = [
        frame, frame.f_code, frame.f_globals, frame.f_builtins, values,
        generator.__name__, generator.__qualname__,
    ]  # fmt: skip
    held = []
    for found in behind:
        place = next((n for n, part in enumerate(own) if part is found), None)
        if place is not None:
            del own[place]
        elif not _is_function_of(found, frame):
            held.append(found)
    code = code_of(frame)
    return ["at", generator.__qualname__, code, frame.f_lasti, dict(values), held]


def _is_function_of(found: object, frame: Any) -> bool:
    return type(found) is types.FunctionType and found.__code__ is frame.f_code


def code_of(frame: types.FrameType) -> types.FunctionType:
    """A function with the code of a frame, and copies of what it closes over."""
    code = frame.f_code
    values = frame.f_locals
    cells = tuple(
        types.CellType(values[n]) if n in values else types.CellType() for n in code.co_freevars
    )
    return types.FunctionType(code, frame.f_globals, code.co_name, None, cells)
