"""Exceptions whole: with their cause, their notes and the way they came.

pickle calls the class again with the arguments, which fails when it takes others than
`Exception` was told, and forgets causes and tracebacks. The frames of a restored traceback have
names and lines, and none of the variables.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from nbckpt.codecs.sources import know_source, source_of
from nbckpt.fingerprint.values.exceptions import members_of, steps_of
from nbckpt.runtime.source_trees import parse

if TYPE_CHECKING:
    from nbckpt.codecs.pickler import NamespacePickler

_CHAIN = ("__cause__", "__context__", "__suppress_context__")  # a cause sets the last


class Step(NamedTuple):
    """One entry of a traceback."""

    filename: str
    text: str
    name: str
    line: int
    module: str
    place: tuple[int, int, int, int]
    """Of what ran there: first and last line, first column and the one behind the last."""


def reducer_for(kind: type) -> Callable[[NamespacePickler, Any], Any] | None:
    """The reducer for exceptions of type `kind`; None for anything else."""
    return _reduce_exception if issubclass(kind, BaseException) else None


def _reduce_exception(pickler: NamespacePickler, error: BaseException) -> Any:
    way = [tuple(_step(pickler, entry)) for entry in steps_of(error.__traceback__)]
    around = {name: getattr(error, name) for name in _CHAIN}
    kind = type(error)
    is_as_built_in = isinstance(kind.__reduce__, types.MethodDescriptorType)
    if not is_as_built_in or kind.__reduce_ex__ is not object.__reduce_ex__:
        reduced: Any = error.__reduce_ex__(4)
        make, arguments, *rest = reduced
        own = rest[0] if rest else None
        return make, arguments, (own, {}, {}, around, way), None, None, set_exception
    members = {"args": error.args, **members_of(error)}
    state = (None, getattr(error, "__dict__", {}), members, around, way)
    arguments = error.args
    if isinstance(error, BaseExceptionGroup):  # whose class may have been given more
        arguments = error.message, error.exceptions
    return make_exception, (kind, arguments), state, None, None, set_exception


def make_exception(kind: type[BaseException], arguments: tuple[Any, ...]) -> BaseException:
    """An exception that was not initialised."""
    base = next(b for b in kind.__mro__ if b.__module__ == "builtins")
    error: BaseException = base.__new__(kind, *arguments)
    return error


def set_exception(error: BaseException, state: tuple[Any, ...]) -> None:
    """Give an exception its members, what caused it, and the way it came."""
    own, attributes, members, around, way = state
    if own is not None:
        error.__setstate__(own)
    vars(error).update(attributes)
    for name, value in (*members.items(), *around.items()):
        with contextlib.suppress(AttributeError, TypeError):  # of a group, its own cannot be set
            setattr(error, name, value)
    error.__traceback__ = make_traceback(way)


def _step(pickler: NamespacePickler, entry: types.TracebackType) -> Step:
    frame = entry.tb_frame
    code = frame.f_code
    source = source_of(pickler, code.co_filename)
    module = str(frame.f_globals.get("__name__", ""))
    place = _place_of(entry)
    return Step(source.filename, source.text, code.co_name, entry.tb_lineno, module, place)


def _place_of(entry: types.TracebackType) -> tuple[int, int, int, int]:
    """Lines and columns of an entry; if not known the whole line, so that no part is underlined."""
    positions = entry.tb_frame.f_code.co_positions()
    match next(itertools.islice(positions, entry.tb_lasti // 2, None), None):
        case (int(first), int(last), int(start), int(end)):
            return first, last, start, end
    return entry.tb_lineno, entry.tb_lineno, 0, 10_000


def make_traceback(way: list[tuple[Any, ...]]) -> types.TracebackType | None:
    """A traceback that came this way.

    Parameters
    ----------
    way
        Members of a `Step` for each entry.
    """
    trace = None
    for step in map(Step._make, reversed(way)):
        know_source(step.filename, step.text)
        place = _placed(step)
        trace = types.TracebackType(trace, place.tb_frame, place.tb_lasti, step.line)
    return trace


def _placed(step: Step) -> types.TracebackType:
    """An entry of a traceback whose frame has this name and place, and runs nothing."""
    statement = parse("raise StopIteration")
    for node in ast.walk(statement):
        if isinstance(node, ast.stmt | ast.expr):
            node.lineno, node.end_lineno, node.col_offset, node.end_col_offset = step.place
    code = compile(statement, step.filename, "exec").replace(co_name=step.name)
    trace = None
    try:
        exec(code, {"__name__": step.module, "__file__": step.filename})
    except StopIteration as stop:
        trace = stop.__traceback__
    *_, place = steps_of(trace)
    return place
