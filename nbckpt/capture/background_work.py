"""Work of a notebook that runs beside its cells: tasks, and callbacks of the loop."""

from __future__ import annotations

import ast
import gc
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from types import (
    BuiltinMethodType,
    CellType,
    CodeType,
    FrameType,
    FunctionType,
    MethodType,
    MethodWrapperType,
)
from typing import Any, NamedTuple

from nbckpt.fingerprint.values.homes import (
    is_user_file,
    module_of_class,
)
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.fingerprint.values.raw_members import member_of_class
from nbckpt.runtime.user_code_errors import user_code_errors

_WAITS = (ast.Await, ast.AsyncFor, ast.AsyncWith)

_FRAMES = (("cr_frame", "cr_await"), ("gi_frame", "gi_yieldfrom"), ("ag_frame", "ag_await"))
"""Where what can be suspended stands, and what it waits for."""

_WRAPPERS = frozenset(
    {"coroutine_wrapper", "async_generator_asend", "async_generator_athrow", "anext_awaitable"}
)
"""Types of CPython that step through something else, which they hold."""

_HARMLESS = frozenset({"Future", "FutureIter", "Task", "TimerHandle", "Handle"})
"""Types of asyncio that hold nothing of the notebook's but what their own task has."""


class AtWork(NamedTuple):
    """Something that goes on.

    Attributes
    ----------
    name
        Of its function.
    code
        Of the notebook, that it is in.
    holds
        Names of variables whose objects it was given.
    is_untold
        Whether it can change variables that are not told by these two.
    source
        The task, the future, or what the loop is going to call.
    given
        What a thread was given: it can change that, and call it.
    """

    name: str
    code: tuple[CodeType, ...]
    holds: frozenset[str] = frozenset()
    is_untold: bool = False
    source: object = None
    given: tuple[object, ...] = ()


def left_at_work(before: Iterable[AtWork], after: Iterable[AtWork]) -> tuple[str, ...]:
    """Why a cell cannot be restored that began what goes on after it."""
    known = {id(work.source) for work in before}  # which `before` holds
    names = sorted({work.name for work in after if id(work.source) not in known})
    return (f"{names[0]!r}, which it began, goes on after it",) if names else ()


def awaits(tree: ast.Module) -> bool:
    """True for code that awaits something itself, not in a function that it defines."""
    from nbckpt.fingerprint.code.nodes import run_nodes  # not what a resume needs

    return any(
        isinstance(node, _WAITS) or (isinstance(node, ast.comprehension) and bool(node.is_async))
        for node in run_nodes(tree)
    )


def tasks_met(tree: ast.Module, namespace: Mapping[str, object]) -> tuple[str, ...]:
    """Why a cell that awaits cannot be restored: tasks of the notebook go on meanwhile.

    Which cell started them is no part of what the cell reads.
    """
    from nbckpt.fingerprint.code.nodes import nodes_of  # not what a resume needs

    if not any(isinstance(node, _WAITS) for node in nodes_of(tree)):
        return ()
    names = sorted(work.name for work in at_work(namespace))
    return (f"the task {names[0]!r} goes on while it waits",) if names else ()


def at_work(namespace: Mapping[str, object]) -> list[AtWork]:
    """The notebook's own tasks, and callbacks, with which the running loop is going to go on."""
    try:
        return _at_work(namespace)
    except user_code_errors() as problem:  # whatever a loop of another kind says
        return [AtWork(type(problem).__name__, (), is_untold=True)]


def _at_work(namespace: Mapping[str, object]) -> list[AtWork]:
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return []
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return []
    found = []
    for task in asyncio.all_tasks(loop) - {asyncio.current_task(loop)}:
        works = _work_of_coroutine(task.get_coro(), namespace)
        works += _work_of_callbacks(task, namespace)
        found += [work._replace(source=task) for work in works]
    for handle in _handles(loop):
        if not handle.cancelled():
            works = _work_of_call(handle._callback, handle._args, namespace)  # noqa: SLF001
            found += [work._replace(source=handle) for work in works]
    if found:  # who sets the result of a future goes on: its callbacks will be called
        for value in tuple(namespace.values()):
            if issubclass(type(value), asyncio.Future):
                works = _work_of_callbacks(value, namespace)
                found += [work._replace(source=value) for work in works]
    return found


def _handles(loop: Any) -> Iterator[Any]:
    """Pending handles of a loop of the standard library; of other loops nothing is known."""
    yield from tuple(getattr(loop, "_scheduled", ()))
    yield from tuple(getattr(loop, "_ready", ()))
    yield from tuple(getattr(loop, "_signal_handlers", {}).values())
    selector = getattr(loop, "_selector", None)
    for key in tuple((selector.get_map() or {}).values()) if selector is not None else ():
        yield from (handle for handle in key.data or () if handle is not None)


def names_of(values: Iterable[object], namespace: Mapping[str, object]) -> list[str]:
    """The variables that hold one of these very objects."""
    ids = {id(value) for value in values if type(value) not in ATOMS}
    return [name for name, value in tuple(namespace.items()) if id(value) in ids] if ids else []


# -- tasks ----------------------------------------------------------------------------------


def _work_of_coroutine(coroutine: object, namespace: Mapping[str, object]) -> list[AtWork]:
    """Work in a coroutine and in the awaitables it waits for, if any of it is the notebook's."""
    name = str(getattr(coroutine, "__name__", type(coroutine).__name__))
    code, is_untold, is_ours = [], False, False
    chain = list(_suspended(coroutine))
    parts = {id(part) for part, _ in chain}
    elsewhere: list[object] = []
    for part, frame in chain:
        if frame is None:
            is_untold = is_untold or not is_harmless(part)
            continue
        held = [value for value in _held_by(part, frame) if id(value) not in parts]
        if frame.f_globals is namespace:
            code.append(frame.f_code)
            # Which variables what is local there belongs to is not known.
            is_ours, is_untold = True, is_untold or not all(map(is_harmless, held))
        elif is_user_file(frame.f_code.co_filename):
            is_ours = is_untold = True  # the state of a module may be what a variable holds
        else:
            elsewhere += held
            is_untold = is_untold or any(type(v).__name__.endswith("Queue") for v in held)
    if not is_ours:
        return []
    # A library that waits changes what it was given, perhaps; parts of variables rarely.
    holds = frozenset(names_of(elsewhere, namespace))
    return [AtWork(name, tuple(code), holds, is_untold=is_untold)]


def _suspended(coroutine: object) -> Iterator[tuple[object, FrameType | None]]:
    """Each of what waits for the next, and where it stands; of what has no frame, None."""
    part: object = coroutine
    while part is not None:
        frame, awaited = _attributes_of(part)
        if frame:
            if (stands := getattr(part, frame)) is not None:
                yield part, stands
            part = getattr(part, awaited)
        elif type(part).__name__ in _WRAPPERS:
            part = next((r for r in gc.get_referents(part) if _attributes_of(r)[0]), None)
        else:
            yield part, None
            return


def _attributes_of(part: object) -> tuple[str, str]:
    """Those of `_FRAMES` that it has, by its type: no code of its own is asked."""
    return next((names for names in _FRAMES if hasattr(type(part), names[0])), ("", ""))


def _held_by(part: object, frame: FrameType) -> Iterator[object]:
    """Locals of a suspended part, and the values on its stack.

    Not read from `f_locals`: that makes the frame hold a copy of them.
    """
    for held in gc.get_referents(part):
        if held is frame or type(held) is CodeType or type(held).__name__ in _WRAPPERS:
            continue
        if type(held) is FunctionType and held.__code__ is frame.f_code:
            continue
        yield _content(held) if type(held) is CellType else held


# -- callbacks ------------------------------------------------------------------------------


def _work_of_callbacks(future: object, namespace: Mapping[str, object]) -> list[AtWork]:
    called = [call for call, _ in getattr(future, "_callbacks", None) or ()]
    return [
        work
        for call in called
        if not _forgets(call, namespace)
        for work in _work_of_call(call, (), namespace)
    ]


def _forgets(callback: Any, namespace: Mapping[str, object]) -> bool:
    """True if a callback takes a task out of a library's set of its tasks.

    So a library holds its tasks as long as they run. An object with tasks is not kept anyway.
    """
    if type(callback) is not BuiltinMethodType or type(callback.__self__) is not set:
        return False
    tasks: set[Any] = callback.__self__
    return all(map(is_harmless, tuple(tasks))) and not names_of([tasks], namespace)


def _work_of_call(
    callback: object, args: Iterable[object] | None, namespace: Mapping[str, object], depth: int = 3
) -> list[AtWork]:
    """Work that a call held by the loop will do, if any of it is the notebook's; else empty."""
    function, given = _unwrapped(callback)
    holder = function.__self__ if type(function) in METHODS else None
    given += [holder, *(args or ())]
    name = function.__qualname__ if type(function) in _NAMED else type(function).__name__
    if type(function) is FunctionType:
        if function.__globals__ is namespace:
            given += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
            given += map(_content, function.__closure__ or ())
            is_untold = not all(map(is_harmless, given))
            return [AtWork(name, (function.__code__,), is_untold=is_untold)]
        if is_user_file(function.__code__.co_filename):
            return [AtWork(name, (), is_untold=True)]
    elif isinstance(holder, list | dict | set | bytearray):  # perhaps a part of a variable
        return [AtWork(name, (), is_untold=True)]
    found: list[AtWork] = []
    for value in given if depth else ():  # a library's function calls what it was given
        if _attributes_of(value)[0]:
            found += _work_of_coroutine(value, namespace)
        elif type(value) in _CALLED or issubclass(type(value), partial):
            found += _work_of_call(value, (), namespace, depth - 1)
    if names_of([value for value in given if not is_harmless(value)], namespace):
        found.append(AtWork(name, (), is_untold=True))
    return found


METHODS = frozenset({BuiltinMethodType, MethodWrapperType})
_NAMED = METHODS | {FunctionType}
_CALLED = _NAMED | {MethodType}


def _unwrapped(callback: object) -> tuple[Any, list[object]]:
    """The function that a call comes to, and what it is given. No code of a value is asked."""
    function: Any = callback
    given: list[object] = []
    while type(function) is not FunctionType:
        if issubclass(type(function), partial):
            given += [*function.args, *function.keywords.values()]
            function = function.func
        elif type(function) is MethodType:
            given.append(function.__self__)
            function = function.__func__
        else:  # an instance, perhaps of a class of the notebook
            called = member_of_class(type(function), "__call__")
            if type(called) is not FunctionType:
                break
            given.append(function)
            function = called
    return function, given


def _content(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty
        return None


def is_harmless(value: object) -> bool:
    """True if nothing of the notebook's is changed through it."""
    kind = type(value)
    if kind in ATOMS:
        return True
    if kind is MethodType:  # a hook of the loop in each generator
        return is_harmless(value.__self__)  # type: ignore[attr-defined]  # a method
    asyncio: Any = sys.modules.get("asyncio")
    if asyncio is not None and issubclass(kind, asyncio.AbstractEventLoop):
        return True
    return (
        kind.__name__ in _HARMLESS
        and module_of_class(kind).partition(".")[0].lstrip("_") == "asyncio"
    )
