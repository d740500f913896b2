"""Objects of Python's library that pickle leaves out although it is known what makes them."""

from __future__ import annotations

import random
import re
import struct
import warnings
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from typing import Any

from nbckpt.types.adapter import RefusalError

_HASHES = ("_blake2", "_hashlib", "_md5", "_sha", "blake3")

Reducer = Callable[[object, Any], Any]


def reducer_for(kind: type) -> Reducer | None:
    """The reducer for hash objects and iterators of type `kind`; None for anything else."""
    if str(kind.__module__).startswith(_HASHES) and hasattr(kind, "digest"):
        return _refuse_hash
    if kind.__module__ == "itertools":
        return _reduce_iterator
    return None


def _reduce_iterator(_: object, iterator: Any) -> Any:
    with warnings.catch_warnings():  # from Python 3.12 to 3.13 it warns that it will not answer
        warnings.simplefilter("ignore", DeprecationWarning)
        make, arguments, *state = iterator.__reduce__()
    return (make, arguments, *state, None, None, set_iterator) if state else (make, arguments)


def set_iterator(iterator: Any, state: object) -> None:
    """Let an iterator stand where it stood."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        iterator.__setstate__(state)


def _refuse_hash(_: object, __: object) -> Any:
    message = "what it was fed cannot be read back: keep its digest() instead"
    raise RefusalError(message)


def _reduce_struct(_: object, packer: struct.Struct) -> Any:
    return struct.Struct, (packer.format,)


def _reduce_system_random(_: object, __: object) -> Any:
    return random.SystemRandom, ()


def _reduce_match(_: object, match: re.Match[Any]) -> Any:
    what = (match.re, match.string, match.pos, match.endpos)
    for how in ("search", "match", "fullmatch", "finditer"):
        again = make_match(*what, how, match.start())
        if again is not None and again.regs == match.regs:
            return make_match, (*what, how, match.start())
    message = "it cannot be found again in its text"
    raise RefusalError(message)


def make_match(
    pattern: re.Pattern[Any], text: Any, first: int, last: int, how: str, start: int
) -> re.Match[Any] | None:
    """The match that `how` finds; of several, the one that begins at `start`."""
    if how == "finditer":
        found = pattern.finditer(text, first, last)
        return next((match for match in found if match.start() == start), None)
    match: re.Match[Any] | None = getattr(pattern, how)(text, first, last)
    return match


def _reduce_variable(_: object, variable: ContextVar[object]) -> Any:
    try:
        default = [Context().run(variable.get)]
    except LookupError:
        default = []
    context = copy_context()
    value = [context[variable]] if variable in context else []
    return make_variable, (variable.name, default), value or None, None, None, set_variable


def make_variable(name: str, default: list[object]) -> ContextVar[object]:
    """A context variable; `default` holds one value or none."""
    return ContextVar(name, default=default[0]) if default else ContextVar(name)


def set_variable(variable: ContextVar[object], values: list[object]) -> None:
    """Set a context variable, if there is a value, in the context that runs now."""
    for value in values:
        variable.set(value)


REDUCERS: dict[type, Reducer] = {
    struct.Struct: _reduce_struct,
    random.SystemRandom: _reduce_system_random,
    re.Match: _reduce_match,
    ContextVar: _reduce_variable,
}
