"""The standard library: queues, locks of event loops, shared memory, calls of mocks, CSV."""

from __future__ import annotations

import copyreg
import gc
import itertools
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from nbckpt.types.adapter import RefusalError, TypeAdapter
from nbckpt.types.setters import set_members, set_state


def _reduce_simple_queue(queue: Any) -> Any:
    """Nothing shows what such a queue holds but the collector, which visits it."""
    size = queue.qsize()
    found = [item for item in gc.get_referents(queue) if item is not type(queue)]
    if sys.version_info < (3, 13):  # a list, in which what was taken out left its place
        lists = [item for item in found if type(item) is list]
        found = lists[0] if len(found) == len(lists) == 1 else []
    items = found[len(found) - size :] if size else []
    if len(items) != size:
        message = "what it holds cannot be told"
        raise RefusalError(message)
    return make_simple_queue, (), items, None, None, put_all


def make_simple_queue() -> Any:
    """An empty queue."""
    import queue

    return queue.SimpleQueue()


def put_all(queue: Any, items: list[object]) -> None:
    """Fill a queue."""
    for item in items:
        queue.put(item)


_WAITING = ("_waiters", "_getters", "_putters")
"""Members of locks, events and queues of asyncio in which the tasks are that wait for them."""


def _state_at_rest(primitive: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Members and slots of a lock, event or queue of asyncio; no event loop: a use finds one.

    Raises
    ------
    RefusalError
        If a task waits for it.
    """
    state = object.__getstate__(primitive)
    members, slots = state if isinstance(state, tuple) else (state, {})
    members = dict(members or {})
    members.pop("_loop", None)
    for name in _WAITING:
        if members.get(name):
            message = "tasks wait for it"
            raise RefusalError(message)
    return members, slots


def _reduces_itself(primitive: Any) -> bool:
    """True of a class of the user's that says itself what is to be kept."""
    names = ("__getstate__", "__reduce__", "__reduce_ex__")
    return any(getattr(type(primitive), name) is not getattr(object, name) for name in names)


def _reduce_asyncio(primitive: Any) -> Any:
    if _reduces_itself(primitive):
        return NotImplemented
    state = _state_at_rest(primitive)
    return copyreg.__newobj__, (type(primitive),), state, None, None, set_state  # type: ignore[attr-defined]


def _digest_asyncio(primitive: Any) -> list[object]:
    if _reduces_itself(primitive):
        reduced = primitive.__reduce_ex__(4)
        parts = (reduced,) if isinstance(reduced, str) else reduced
        return [list(part) if isinstance(part, Iterator) else part for part in parts]
    members, slots = _state_at_rest(primitive)
    for name in _WAITING:  # that nobody waits may be said by None or by nobody
        members.pop(name, None)
    return [*sorted(members), *sorted(slots), *_sorted(members), *_sorted(slots)]


def _sorted(members: Mapping[str, object]) -> list[object]:
    return [members[name] for name in sorted(members)]


def _reduce_shared(shared: Any) -> Any:
    """A value or an array that processes share; those that run would go on with the old one."""
    import multiprocessing

    if multiprocessing.active_children():
        message = "processes that run share it"
        raise RefusalError(message)
    raw = shared.get_obj()
    lock = type(shared.get_lock()).__name__
    if hasattr(type(raw), "_length_"):
        return make_shared, (type(raw)._type_, list(raw), lock)
    return make_shared, (type(raw), raw.value, lock)


def make_shared(kind: type, content: Any, lock: str) -> Any:
    """A shared value, or an array where the content is a list."""
    import multiprocessing

    locks: Any = {"Lock": multiprocessing.Lock, "RLock": multiprocessing.RLock}
    make: Any = multiprocessing.Array if isinstance(content, list) else multiprocessing.Value
    return make(kind, content, lock=locks[lock]())


def _reduce_mock_call(call: Any) -> Any:
    """A call that a mock remembers; its class would take two or three items for other ones."""
    items = tuple(tuple.__iter__(call))
    return tuple.__new__, (type(call), items), dict(vars(call)), None, None, set_members


class _Lines:
    """The lines that a reader of CSV is given, of which some were read before."""

    def __init__(self, before: int, lines: Iterator[str]) -> None:
        self.lines = lines
        self._all = itertools.chain(itertools.repeat("\n", before), lines)

    def __iter__(self) -> Iterator[str]:
        return self._all


_DIALECT = (
    "delimiter", "doublequote", "escapechar", "lineterminator", "quotechar", "quoting",
    "skipinitialspace", "strict",
)  # fmt: skip


def _reduce_csv_reader(reader: Any) -> Any:
    known = (type(reader), type(reader.dialect))
    found = [item for item in gc.get_referents(reader) if not isinstance(item, known)]
    sources = [item for item in found if item not in known and hasattr(item, "__next__")]
    if len(sources) != 1:
        message = "it has begun a row, or what it reads cannot be told"
        raise RefusalError(message)
    settings = {name: getattr(reader.dialect, name) for name in _DIALECT}
    return make_csv_reader, (sources[0], reader.line_num, settings)


def make_csv_reader(lines: Iterator[str], line_num: int, settings: dict[str, Any]) -> Any:
    """A reader that stands behind so many lines."""
    import csv

    reader = csv.reader(iter(_Lines(line_num, lines)), **settings)
    for _ in range(line_num):
        next(reader)
    return reader


ADAPTERS = (
    TypeAdapter(("_queue:SimpleQueue",), reduce=_reduce_simple_queue),
    TypeAdapter(
        ("asyncio.mixins:_LoopBoundMixin",), reduce=_reduce_asyncio, digest=_digest_asyncio
    ),
    TypeAdapter(("multiprocessing.sharedctypes:SynchronizedBase",), reduce=_reduce_shared),
    TypeAdapter(("unittest.mock:_Call",), reduce=_reduce_mock_call),
    TypeAdapter(("_csv:reader",), reduce=_reduce_csv_reader),
)
