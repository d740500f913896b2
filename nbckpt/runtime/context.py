"""Calls of the user's code during which a context variable has a given value, and no longer.

These are not context managers: an interrupt that comes as one is entered or left leaves it
entered, and the value would then hold for all that this thread does later.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, TypeVar

_T = TypeVar("_T")
_R = TypeVar("_R")


def called_with(
    variable: ContextVar[_T], value: _T, function: Callable[..., _R], /, *args: Any, **options: Any
) -> _R:
    """Call a function while `variable` is `value`."""
    before = variable.get()
    try:
        variable.set(value)
        answer = function(*args, **options)
    finally:
        variable.set(before)
    return answer


async def awaited_with(
    variable: ContextVar[_T],
    value: _T,
    function: Callable[..., Awaitable[_R]],
    /,
    *args: Any,
    **options: Any,
) -> _R:
    """As `called_with`, of one to wait for."""
    before = variable.get()
    try:
        variable.set(value)
        answer = await function(*args, **options)
    finally:
        variable.set(before)
    return answer
