"""`nbckpt.map` where no step runs: in an ordinary cell, or in a script outside of blocks.

The map is a step of its own, named after its function: results, model calls and kept calls are
found again, and nothing else of it is kept. As with kept calls, equal items of one cell, or in a
script of one session, are samples.
"""

from __future__ import annotations

import ast
import functools
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from nbckpt.model import Cell, Key
from nbckpt.session.session import Session
from nbckpt.steps.calls.mapping import Asked, is_async, mapped
from nbckpt.steps.execution.execution_state import Execution
from nbckpt.steps.execution.step_request import Request
from nbckpt.steps.execution.step_state import StepState

_NO_CODE = ast.Module(body=[], type_ignores=[])


@dataclass
class _Maps:
    """The maps of one function that one run of a cell has begun."""

    mapped: Counter[str] = field(default_factory=Counter)
    begun: dict[str, int] = field(default_factory=dict)


_maps: WeakKeyDictionary[Any, dict[str, _Maps]] = WeakKeyDictionary()


def plainly_mapped(session: Session, asked: Asked) -> Any:
    """The results; of an asynchronous function something to await for them."""
    if is_async(asked.function):
        return _awaited(session, asked)
    step, maps = _begun(session, asked)
    try:
        return mapped(step, asked)
    finally:
        _end(step, maps)


async def _awaited(session: Session, asked: Asked) -> Any:
    step, maps = _begun(session, asked)
    try:
        return await mapped(step, asked)
    finally:
        _end(step, maps)


def _begun(session: Session, asked: Asked) -> tuple[Execution, _Maps]:
    running = session.workspace.running
    name = f"map {_name_of(asked.function)}"
    source = "" if running is None else ast.unparse(running)
    step = Execution(session, Request(name), Cell(source, None, None), _NO_CODE, Key(""))
    token: object = session if running is None else running
    maps = _maps.setdefault(token, {}).setdefault(name, _Maps())
    steps = session.state(StepState)
    step.at.map_again(maps.mapped)
    step.enter_calls(steps.running, is_fresh=steps.pays_again)
    if step.at.scope is not None:
        step.at.scope.go_on(maps.begun)
    return step, maps


def _end(step: Execution, maps: _Maps) -> None:
    if step.at.scope is not None:
        maps.begun = step.at.scope.begun()
    maps.mapped = step.at.mapped
    step.left()


def _name_of(function: object) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__qualname__", None) or type(function).__qualname__)
