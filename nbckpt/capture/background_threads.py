"""Threads of a notebook that run beside its cells, or will: their own code, timers, and pools."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from operator import attrgetter
from queue import SimpleQueue
from types import CodeType, FrameType, MethodType
from typing import Any, TypeAlias
from weakref import ref

from nbckpt.capture.background_work import METHODS, AtWork, is_harmless, names_of
from nbckpt.fingerprint.values.homes import is_named, is_users_module, module_of
from nbckpt.fingerprint.values.raw_members import members_of

_Call: TypeAlias = tuple[object, list[object]]
"""A function, and what it is given."""


def threads_at_work(namespace: Mapping[str, object]) -> list[AtWork]:
    """The threads that are in code of the notebook just now, or will be, but this one."""
    found = []
    threads: Any = threading._active  # type: ignore[attr-defined]  # noqa: SLF001
    waiting: list[_Call] = []
    for ident, frames in _frames_of_threads().items():
        thread, code = threads.get(ident), _code_of(frames, namespace)
        if code:
            # Not the frames' locals: to read these of a frame that runs makes it hold them.
            given = _given_to(thread)
            holds = frozenset(names_of(given, namespace))
            parts = _given_of_users(given, namespace)
            found.append(AtWork(code[-1].co_name, code, holds, given=parts))
        waiting += _waiting_at(frames)
    for thread in list(threads.values()):
        if thread is not threading.current_thread():
            waiting += _waiting_in(thread)
    for function, given in _each_once(waiting):
        if parts := _given_of_users([function, *given], namespace):
            found.append(AtWork(type(function).__name__, (), given=parts))
    return found


def _given_to(thread: object) -> list[object]:
    """The arguments of a thread, and what one of a class of its own holds.

    Not the queue of a pool, whose calls are looked at one by one.
    """
    members = members_of(thread)
    given = [*_items(members.get("_args")), *_items(members.get("_kwargs"))]
    if _is_of_pool(members):
        given = [part for part in given if type(part) not in (SimpleQueue, ref)]
    if type(thread) is not threading.Thread:
        known = members_of(threading.main_thread()).keys()
        given += [value for name, value in members.items() if name not in known]
    return given


def _given_of_users(given: Iterable[object], namespace: Mapping[str, object]) -> tuple[object, ...]:
    """What was given to a call that may be changed, or call something of the notebook's."""
    return tuple(v for v in given if not is_harmless(v) and not _is_of_library(v, namespace))


def _is_of_library(value: object, namespace: Mapping[str, object]) -> bool:
    return is_named(value, namespace) and not is_users_module(module_of(value))


def _waiting_at(frames: Iterable[FrameType]) -> Iterator[_Call]:
    """Calls of the task of a pool that a thread is in, and when that has ended."""
    pools = sys.modules.get("concurrent.futures.thread")
    run = None if pools is None else pools._WorkItem.run.__code__  # noqa: SLF001
    for frame in frames:
        if frame.f_code is run:  # it holds its own item until it ends, as its locals do then
            yield from _calls_of_item(frame.f_locals.get("self"))


def _is_of_pool(members: Mapping[str, object]) -> bool:
    pools: Any = sys.modules.get("concurrent.futures.thread")
    return pools is not None and members.get("_target") is pools._worker  # noqa: SLF001


def _waiting_in(thread: Any) -> Iterator[_Call]:
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
        yield from _calls_of_item(item)


def _calls_of_item(item: Any) -> Iterator[_Call]:
    """The call of a work item of a pool, and those when it is done; others are none of a pool's."""
    pools: Any = sys.modules["concurrent.futures.thread"]
    if type(item) is pools._WorkItem:  # noqa: SLF001
        # One member since Python 3.14.
        function, args, named = getattr(item, "task", None) or _members_of_work(item)
        yield function, [*args, *named.values()]
        for callback in _items(members_of(item.future).get("_done_callbacks")):
            yield callback, []


_members_of_work = attrgetter("fn", "args", "kwargs")


def _items(given: object) -> list[object]:
    """The values of a tuple, list or dict of Python's; of anything else none."""
    if type(given) is dict:
        return [*given.values()]
    return [*given] if type(given) is tuple or type(given) is list else []


def _each_once(calls: Iterable[_Call]) -> Iterator[_Call]:
    """Calls of one function, or of one method of an object, as a call with all that is given."""
    found: dict[object, _Call] = {}
    for function, given in calls:
        of_object = type(function) in METHODS or type(function) is MethodType
        own: Any = function
        key = (id(own.__self__), own.__name__) if of_object else id(function)
        found.setdefault(key, (function, []))[1].extend(given)
    yield from found.values()


def _frames_of_threads() -> dict[int, list[FrameType]]:
    frames = sys._current_frames()  # noqa: SLF001  # no other way
    frames.pop(threading.get_ident(), None)  # this one, which holds these: a circle
    return {ident: [*_stack(frame)] for ident, frame in frames.items()}


def _code_of(frames: Iterable[FrameType], namespace: Mapping[str, object]) -> tuple[CodeType, ...]:
    return tuple(frame.f_code for frame in frames if frame.f_globals is namespace)


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back
