"""Values that are given by hand: understood, evaluated, joined to old ones, told as code."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from nbckpt.config.validate import require_mapping, require_text
from nbckpt.errors import UsageError
from nbckpt.fingerprint.user_names import is_user_name
from nbckpt.model import Checkpoint
from nbckpt.runtime.source_trees import parse
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.session import reducers

if TYPE_CHECKING:
    from nbckpt.session.session_parts import SessionParts

_LONG = 200
"""Characters of a value that are still code to read."""


def understood(
    values: Mapping[str, object], expressions: Mapping[str, str]
) -> dict[str, ast.Expression]:
    """The expressions, parsed; raises if one is none, or a name cannot be given."""
    require_mapping(values)
    for variable in (*values, *expressions):
        _require_variable(variable)
    if twice := next((n for n in expressions if n in values), None):
        message = f"{twice!r} is given twice: as a value and as {twice}={expressions[twice]}"
        raise UsageError(message)
    return {n: _parsed(n, text) for n, text in expressions.items()}


def _require_variable(name: str) -> None:
    require_text(name, "the name of a variable")
    if not name.isidentifier() or keyword.iskeyword(name):
        message = f"{name!r} is no name of a variable: write name=value"
        raise UsageError(message)
    if not is_user_name(name):
        message = f"{name!r} is not a variable of yours, and is not kept: choose another name"
        raise UsageError(message)


def _parsed(variable: str, text: str) -> ast.Expression:
    try:
        return parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError) as problem:
        why = problem.msg if isinstance(problem, SyntaxError) else str(problem)
        message = f"{variable}={text}: this is no expression ({why}); nothing was changed"
        raise UsageError(message) from None


def evaluated(session: SessionParts, variable: str, tree: ast.Expression) -> object:
    """The value of an expression in the live namespace."""
    code = compile(tree, f"<{variable}>", "eval")
    had_builtins = "__builtins__" in session.namespace
    try:
        return eval(code, session.namespace)  # the user's own expression, in the user's namespace
    except user_code_errors() as problem:  # whatever the user's code raises
        written = f"{variable}={ast.unparse(tree)}"
        message = f"{written} failed: {type(problem).__name__}: {problem}; nothing was changed"
        raise UsageError(message) from problem
    finally:
        if not had_builtins:  # eval has put them there
            session.namespace.pop("__builtins__", None)


def reduce(
    session: SessionParts, target: Checkpoint, variable: str, value: object, text: str
) -> str:
    """Bind what the variable's reducer makes of the old value and a new one; the line for it."""
    namespace = session.namespace
    reducer = session.reducers.get(variable) or reducers.annotated(
        variable, namespace, session.timeline.ancestry(target.id)
    )
    if reducer is None or variable not in namespace:
        namespace[variable] = value
        return line(variable, text, value)
    called = getattr(reducer, "__name__", "")
    try:
        namespace[variable] = reducer(namespace[variable], value)
    except user_code_errors() as problem:  # whatever the user's code raises
        failed = f"the reducer {called or reducer!r} of {variable!r} failed"
        message = f"{failed}: {type(problem).__name__}: {problem}; nothing was changed"
        raise UsageError(message) from problem
    shown = called if called.isidentifier() else "reducer"
    return line(variable, f"{shown}({variable}, {text})", value)


def line(variable: str, text: str, value: object) -> str:
    """The statement that a value is told as; behind an ellipsis stands its type."""
    told = f"  # {type(value).__name__}" if "..." in text else ""
    return f"{variable} = {text}{told}"


def text_of(value: object) -> str:
    """A value as code: its text if that is short and means the value, else an ellipsis."""
    try:
        text = repr(value)
        ast.literal_eval(text)
    except user_code_errors():  # whatever a value's own code raises; or its text is no literal
        return "..."
    return text if len(text) <= _LONG and "\n" not in text else "..."


def bound_by_hand(names: Iterable[str]) -> ast.Module:
    """Code that binds names to what no statement makes again: no recipe is to come of it."""
    return parse("\n".join(f"for {name} in (): pass" for name in names))
