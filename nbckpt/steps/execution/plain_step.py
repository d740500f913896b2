"""A step that is a loop or a map by itself: in an ordinary cell, or in a script outside of blocks.

Its model calls and kept calls are found again, and nothing else of it is kept. As with kept calls,
equal ones of one cell, or in a script of one session, are samples.
"""

from __future__ import annotations

import ast
from weakref import WeakKeyDictionary

from nbckpt.llm.occurrence import EqualCalls
from nbckpt.model import Cell, Key
from nbckpt.session.session import Session
from nbckpt.steps.execution.execution_state import Execution
from nbckpt.steps.execution.step_request import Request
from nbckpt.steps.execution.step_state import StepState

_NO_CODE = ast.Module(body=[], type_ignores=[])


class _Begun:
    """Calls that the steps of one name have begun in one run of a cell; several may be in work."""

    def __init__(self) -> None:
        self.calls = EqualCalls()
        self.mapped = EqualCalls()


_begun: WeakKeyDictionary[object, dict[str, _Begun]] = WeakKeyDictionary()


def begin(session: Session, name: str) -> Execution:
    """The step, when calls belong to it; `Execution.left` ends it."""
    running = session.workspace.running
    source = "" if running is None else ast.unparse(running)
    step = Execution(session, Request(name), Cell(source, None, None), _NO_CODE, Key(""))
    token: object = session if running is None else running
    begun = _begun.setdefault(token, {}).setdefault(name, _Begun())
    steps = session.state(StepState)
    step.at.map_with(begun.mapped)
    step.enter_calls(steps.running, is_fresh=steps.pays_again, is_plain=True)
    if step.at.scope is not None:
        step.at.scope.count_with(begun.calls)
    return step
