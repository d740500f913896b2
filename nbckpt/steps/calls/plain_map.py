"""`nbckpt.map` where no step runs: in an ordinary cell, or in a script outside of blocks.

The map is a step of its own, named after its function: results, model calls and kept calls are
found again, and nothing else of it is kept.
"""

from __future__ import annotations

import functools
from typing import Any

from nbckpt.session.session import Session
from nbckpt.steps.calls.mapping import Asked, is_async, mapped
from nbckpt.steps.execution import plain_step


def plainly_mapped(session: Session, asked: Asked) -> Any:
    """The results; of an asynchronous function something to await for them."""
    if is_async(asked.function):
        return _awaited(session, asked)
    step = plain_step.begin(session, _name_of(asked.function))
    try:
        return mapped(step, asked)
    finally:
        step.left()


async def _awaited(session: Session, asked: Asked) -> Any:
    step = plain_step.begin(session, _name_of(asked.function))
    try:
        return await mapped(step, asked)
    finally:
        step.left()


def _name_of(function: object) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return f"map {getattr(function, '__qualname__', None) or type(function).__qualname__}"
