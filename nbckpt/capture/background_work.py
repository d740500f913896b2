"""Work of a notebook that runs beside its cells: tasks and callbacks of the loop, threads."""

from __future__ import annotations

import ast
import gc
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from operator import attrgetter
from queue import SimpleQueue
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

from nbckpt.fingerprint.values.homes import is_user_file
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.fingerprint.values.raw_members import member_of_class, members_of

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
    """

    name: str
    code: tuple[CodeType, ...]
    holds: frozenset[str] = frozenset()
    is_untold: bool = False
    source: object = None


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
    except Exception as problem:  # whatever a loop of another kind says: it may be anything
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


def threads_at_work(namespace: Mapping[str, object]) -> list[AtWork]:
    """The threads that are in code of the notebook just now, or will be, but this one."""
    found = []
    for ident, code in _code_of_threads(namespace).items():
        thread: Any = threading._active.get(ident)  # type: ignore[attr-defined]  # noqa: SLF001
        # Not the frames' locals: to read these of a frame that runs makes it hold them.
        given = [*getattr(thread, "_args", ()), *getattr(thread, "_kwargs", {}).values()]
        found.append(AtWork(code[-1].co_name, code, frozenset(_names_of(given, namespace))))
    for thread in list(threading._active.values()):  # type: ignore[attr-defined]  # noqa: SLF001
        if thread is not threading.current_thread():
            for function, given in _each_once(_waiting_in(thread)):
                found += _work_of_call(function, given, namespace)
    return found


def _waiting_in(thread: Any) -> Iterator[tuple[object, list[object]]]:
    """Calls that a thread of Python's will make: those of a timer, and of a pool's queue."""
    members = members_of(thread)  # a class of the notebook may say anything of them
    if issubclass(type(thread), threading.Timer):
        done = members.get("finished")  # cancelled, or run already
        if type(done) is not threading.Event or not done.is_set():
            given = [*_items(members.get("args")), *_items(members.get("kwargs"))]
            yield members.get("function"), given
        return
    pools = sys.modules.get("concurrent.futures.thread")
    queues = [part for part in _items(members.get("_args")) if type(part) is SimpleQueue]
    if pools is None or not queues:
        return
    # The items themselves since Python 3.13, before that a list of them.
    held = gc.get_referents(*queues)
    items = [*held, *chain.from_iterable(list(part) for part in held if type(part) is list)]
    for item in items:
        if type(item) is pools._WorkItem:  # noqa: SLF001  # others are no calls of a pool
            # One member since Python 3.14.
            function, args, named = getattr(item, "task", None) or _members_of_work(item)
            yield function, [*args, *named.values()]


_members_of_work = attrgetter("fn", "args", "kwargs")


def _items(given: object) -> list[object]:
    """The values of a tuple, list or dict of Python's; of anything else none."""
    if type(given) is dict:
        return [*given.values()]
    return [*given] if type(given) is tuple or type(given) is list else []


def _each_once(
    calls: Iterable[tuple[object, list[object]]],
) -> Iterator[tuple[object, list[object]]]:
    """Calls of one function, or of one method of an object, as a call with all that is given."""
    found: dict[object, tuple[object, list[object]]] = {}
    for function, given in calls:
        of_object = type(function) in _METHODS or type(function) is MethodType
        own: Any = function
        key = (id(own.__self__), own.__name__) if of_object else id(function)
        found.setdefault(key, (function, []))[1].extend(given)
    yield from found.values()


def _code_of_threads(namespace: Mapping[str, object]) -> dict[int, tuple[CodeType, ...]]:
    frames = sys._current_frames()  # noqa: SLF001  # no other way
    frames.pop(threading.get_ident(), None)  # this one, which holds these: a circle
    found = {
        ident: tuple(f.f_code for f in _stack(frame) if f.f_globals is namespace)
        for ident, frame in frames.items()
    }
    return {ident: code for ident, code in found.items() if code}


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _handles(loop: Any) -> Iterator[Any]:
    """Pending handles of a loop of the standard library; of other loops nothing is known."""
    yield from tuple(getattr(loop, "_scheduled", ()))
    yield from tuple(getattr(loop, "_ready", ()))
    yield from tuple(getattr(loop, "_signal_handlers", {}).values())
    selector = getattr(loop, "_selector", None)
    for key in tuple((selector.get_map() or {}).values()) if selector is not None else ():
        yield from (handle for handle in key.data or () if handle is not None)


def _names_of(values: Iterable[object], namespace: Mapping[str, object]) -> list[str]:
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
            is_untold = is_untold or not _is_harmless(part)
            continue
        held = [value for value in _held_by(part, frame) if id(value) not in parts]
        if frame.f_globals is namespace:
            code.append(frame.f_code)
            # Which variables what is local there belongs to is not known.
            is_ours, is_untold = True, is_untold or not all(map(_is_harmless, held))
        elif is_user_file(frame.f_code.co_filename):
            is_ours = is_untold = True  # the state of a module may be what a variable holds
        else:
            elsewhere += held
            is_untold = is_untold or any(type(v).__name__.endswith("Queue") for v in held)
    if not is_ours:
        return []
    # A library that waits changes what it was given, perhaps; parts of variables rarely.
    holds = frozenset(_names_of(elsewhere, namespace))
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
    called = getattr(future, "_callbacks", None) or ()
    return [work for call, _ in called for work in _work_of_call(call, (), namespace)]


def _work_of_call(
    callback: object, args: Iterable[object] | None, namespace: Mapping[str, object], depth: int = 3
) -> list[AtWork]:
    """Work that a call held by the loop will do, if any of it is the notebook's; else empty."""
    function, given = _unwrapped(callback)
    holder = function.__self__ if type(function) in _METHODS else None
    given += [holder, *(args or ())]
    name = function.__name__ if type(function) in _NAMED else type(function).__name__
    if type(function) is FunctionType:
        if function.__globals__ is namespace:
            given += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
            given += map(_content, function.__closure__ or ())
            is_untold = not all(map(_is_harmless, given))
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
    if _names_of([value for value in given if not _is_harmless(value)], namespace):
        found.append(AtWork(name, (), is_untold=True))
    return found


_METHODS = frozenset({BuiltinMethodType, MethodWrapperType})
_NAMED = _METHODS | {FunctionType}
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


def _is_harmless(value: object) -> bool:
    """True if nothing of the notebook's is changed through it."""
    kind = type(value)
    if kind in ATOMS:
        return True
    if kind is MethodType:  # a hook of the loop in each generator
        return _is_harmless(value.__self__)  # type: ignore[attr-defined]  # a method
    asyncio: Any = sys.modules.get("asyncio")
    if asyncio is not None and issubclass(kind, asyncio.AbstractEventLoop):
        return True
    return kind.__name__ in _HARMLESS and kind.__module__.partition(".")[0].lstrip("_") == "asyncio"
