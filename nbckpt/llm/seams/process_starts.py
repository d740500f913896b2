"""Starts of processes: one that a step starts is told where it finds the recorder of this one.

One variable more is in the environment that the new process is given. Where none can be given, it
is in that of this process for as long as the start takes, but never in `os.environ`, which other
threads may read meanwhile. A start outside of steps is left as it is.
"""

from __future__ import annotations

import ctypes
import inspect
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from itertools import count, takewhile
from types import ModuleType
from typing import Any

from nbckpt.llm import current
from nbckpt.runtime.interrupts import allowed, held

VARIABLE = "NBCKPT_PARENT"
"""Of the environment: says where a process finds its parent."""

_STARTS = {
    "os": ("", "system"),
    "subprocess": ("Popen", "__init__"),
    "multiprocessing.process": ("BaseProcess", "start"),
    "ptyprocess.ptyprocess": ("PtyProcess", "spawn"),
}
"""Library → its class, or nothing, and the function by which it starts a process."""
_LONGEST_START_S = 10.0
"""Seconds that another thread's start may hold up one; then it is started as without nbckpt."""
_changing = threading.Condition()
_shown: list[str] = []
"""The variable's value, for each start that needs it in the environment of this process."""


def patch(module: ModuleType) -> None:
    """Have processes told of their step as they are started; once.

    Raises
    ------
    AttributeError
        If the library is not as it is known here: nothing was changed.
    """
    owner, method = _place_in(module)
    original = owner.__dict__.get(method)
    if original is None:
        message = f"{owner.__name__} has no {method}"
        raise AttributeError(message)
    is_of_class = isinstance(original, classmethod)
    function = original.__func__ if is_of_class else original
    if hasattr(function, "original"):
        return
    starting = _starting if method == "start" else _starting_command
    replaced: Any = wraps(function)(starting(function))
    replaced.original = original
    if owner is module:  # a variable that holds it is kept by name
        replaced.__module__ = module.__name__
    setattr(owner, method, classmethod(replaced) if is_of_class else replaced)


def unpatch(module: ModuleType) -> None:
    """Have the library be as it was, unless somebody else has patched it since."""
    owner, method = _place_in(module)
    if original := getattr(getattr(owner, method, None), "original", None):
        setattr(owner, method, original)


def _place_in(module: ModuleType) -> tuple[Any, str]:
    name, method = _STARTS[module.__name__]
    return (getattr(module, name) if name else module), method


def _starting(original: Any) -> Any:
    """A process of `multiprocessing` or loky, which has the environment of this one."""

    def start(self: Any) -> Any:
        value = _value("of_process", self) if current.has_session() else None
        if value is None:
            return original(self)
        if type(env := vars(self).get("env")) is dict:  # loky's, which adds it to `os.environ`
            self.env = {**env, VARIABLE: value}
            try:
                answer = original(self)
            finally:
                self.env = env
        else:
            answer = _with_variable(value, original, self)
        _value("note_process", self)
        return answer

    return start


def _starting_command(original: Any) -> Any:
    """A command, which has the environment that it is given, or else that of this process."""
    signature = inspect.signature(original)

    def start(*given: Any, **options: Any) -> Any:
        bound = _bound(signature, *given, **options) if current.has_session() else None
        if bound is None or _is_wrong(bound.arguments):
            return original(*given, **options)
        words, env = bound.arguments.get("args"), bound.arguments.get("env")
        if isinstance(words, Iterator):  # it can be looked at only once
            bound.arguments["args"] = list(words)
        value = _value("of_command", bound.arguments)
        if value is None:
            return original(*bound.args, **bound.kwargs)
        if "env" not in signature.parameters:
            return _with_variable(value, original, *bound.args, **bound.kwargs)
        bound.arguments["env"] = {**(_environment() if env is None else env), VARIABLE: value}
        return original(*bound.args, **bound.kwargs)

    return start


def _bound(signature: inspect.Signature, *given: Any, **options: Any) -> Any:
    """The arguments of a call; None if they are wrong, as the call itself will say."""
    try:
        return signature.bind(*given, **options)
    except TypeError:
        return None


def _is_wrong(arguments: Mapping[str, Any]) -> bool:
    """True of a command that is none, or an environment that is none: the call itself says so."""
    words, env = arguments.get("args", ()), arguments.get("env")
    is_command = isinstance(words, Iterable | os.PathLike)
    return not is_command or not (env is None or isinstance(env, Mapping))


def _value(what: str, asked: Any) -> str | None:
    """What the new process is to be told; None if nothing is, outside of steps."""
    from nbckpt.llm.child_processes import start_variable

    try:
        value: str | None = getattr(start_variable, what)(asked)
    except Exception as problem:  # whatever it is, the user's process has to start
        current.notify_defect(problem)
        return None
    return value


def _environment() -> dict[str, str]:
    """The environment that a process gets which is given none.

    `os.environ` is not it: it knows nothing of `os.putenv`, nor of libraries written in C.
    """
    entries = _native_entries()
    if entries is None:
        return _told_environment()
    pairs = [os.fsdecode(entry).partition("=") for entry in entries]
    return {name: value for name, equals, value in reversed(pairs) if name and equals}


def _native_entries() -> list[bytes] | None:
    """Lines of the C library's `environ`, of which the first counts; None where none is found."""
    try:
        entries = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.PyDLL(None), "environ")
    except (OSError, TypeError, ValueError):  # Windows has none
        return None
    if not bool(entries):
        return []
    return list(takewhile(lambda entry: entry is not None, map(entries.__getitem__, count())))


def _told_environment() -> dict[str, str]:
    while True:
        try:
            return dict(os.environ)
        except (KeyError, RuntimeError):  # another thread has just changed it
            continue


def _with_variable(value: str, function: Callable[..., Any], /, *given: Any, **options: Any) -> Any:
    """Call a function while the variable is in the environment, with one value at once."""
    with held():
        with _changing:
            with allowed():
                is_free = _changing.wait_for(
                    lambda: not _shown or _shown[0] == value, _LONGEST_START_S
                )
            if is_free:
                _shown.append(value)
                os.putenv(VARIABLE, value)
        try:
            with allowed():
                return function(*given, **options)
        finally:
            if is_free:
                _end_showing()


def _end_showing() -> None:
    with _changing:
        _shown.pop()
        if _shown:
            return
        before = os.environ.get(VARIABLE)
        if before is None:
            os.unsetenv(VARIABLE)
        else:
            os.putenv(VARIABLE, before)
        _changing.notify_all()


def _begin_again_in_child() -> None:
    global _changing  # noqa: PLW0603  # another thread may have held it as this process was forked
    _changing = threading.Condition()
    _shown.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_again_in_child)
