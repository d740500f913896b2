"""Handling of the one object that the C pickler refuses: find where it lies, try dill.

dill keeps some things that cloudpickle does not (weak references, caches of functions), but takes
twenty times as long, so it is asked for the single object only.
"""

from __future__ import annotations

import io
import itertools
import sys
import threading
import types
import warnings
import weakref
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from nbckpt.codecs.running_objects import reason_against
from nbckpt.fingerprint.values.raw_members import elements_of, pairs_of
from nbckpt.runtime.user_code_errors import user_code_errors, user_code_errors_ignored

MAX_VISITED = 200_000
"""Objects looked at to find a path; past that only the variable is named."""

MAX_PATH_CHARACTERS = 120
"""A path that is longer is told by its ends."""

_ATOMS = frozenset({str, bytes, int, float, complex, bool, type(None)})

_NEVER_BY_DILL = (
    io.IOBase, threading.Thread,
    types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType,
    types.ModuleType, types.FrameType, types.TracebackType,
)  # fmt: skip
"""dill gives a dead or dangerous twin of these: a file reopened for writing is an empty file."""

_NOR_THESE = (
    ("socket", "socket"), ("sqlite3", "Connection"), ("sqlite3", "Cursor"),
    ("subprocess", "Popen"), ("concurrent.futures", "Future"),
    ("asyncio", "Future"), ("asyncio", "AbstractEventLoop"),
)  # fmt: skip
"""The same, of modules that are not imported to ask: without them there is no such object."""

Step = tuple[str, object]


@dataclass(frozen=True, slots=True)
class _Place:
    """An object, and the place that it was reached from; a whole path each would be too much."""

    label: str
    obj: object
    before: _Place | None


def path_to(target: object, values: Mapping[str, object]) -> list[Step]:
    """The way from a variable to `target`: each a text to read (``cfg['con']``) and the object.

    Empty when it is not found among the first `MAX_VISITED` objects.
    """
    queue = deque(_Place(name, value, None) for name, value in values.items())
    visited = dict[int, object]()  # held: another may lie at its address
    while queue and len(visited) < MAX_VISITED:
        place = queue.popleft()
        obj = place.obj
        if obj is target:
            return _steps_to(place)
        if id(obj) in visited or type(obj) in _ATOMS:
            continue
        visited[id(obj)] = obj
        queue.extend(_Place(label, child, place) for label, child in children_of(obj))
    return []


def _steps_to(place: _Place | None) -> list[Step]:
    places: list[_Place] = []
    while place is not None:
        places.append(place)
        place = place.before
    text, steps = "", []
    for step in reversed(places):
        text = f"{text}{step.label}"
        if len(text) > MAX_PATH_CHARACTERS:
            text = f"{text[: MAX_PATH_CHARACTERS // 2]}…{step.label[-MAX_PATH_CHARACTERS // 2 :]}"
        steps.append((text, step.obj))
    return steps


def children_of(obj: Any) -> Iterator[Step]:
    """Objects that an object holds, each with a text that leads to it (``['con']``, ``.rows``).

    Where the object's own code raises, what it would have given is left out.
    """
    yield from _until_it_raises(itertools.islice(_items(obj), MAX_VISITED))
    yield from _until_it_raises(_members(obj))


def _until_it_raises(steps: Iterator[Step]) -> Iterator[Step]:
    with user_code_errors_ignored():
        yield from steps


def _items(obj: Any) -> Iterator[Step]:
    if issubclass(type(obj), dict):
        yield from (
            (f"[{key!r}]" if type(key) in {str, int} else "[…]", v) for key, v in pairs_of(obj)
        )
    elif issubclass(type(obj), Mapping):
        yield from (
            (f"[{key!r}]" if isinstance(key, str | int) else "[…]", v) for key, v in obj.items()
        )
    elif issubclass(type(obj), list | tuple | deque):
        yield from ((f"[{index}]", v) for index, v in enumerate(elements_of(obj)))
    elif issubclass(type(obj), set | frozenset):
        yield from (("{…}", v) for v in elements_of(obj))


def _members(obj: Any) -> Iterator[Step]:
    if issubclass(type(obj), types.ModuleType):
        return
    if issubclass(type(obj), types.FunctionType):
        yield from _function_members(obj)
    elif issubclass(type(obj), types.MethodType):
        yield "", obj.__self__
    elif issubclass(type(obj), partial):
        yield from (("(…)", v) for v in (obj.func, *obj.args, *obj.keywords.values()))
    members = getattr(obj, "__dict__", None)
    if isinstance(members, Mapping):
        yield from ((f".{name}", v) for name, v in list(members.items()))
    for name in _slots(type(obj)):
        try:
            yield f".{name}", object.__getattribute__(obj, name)
        except AttributeError:
            continue


def _function_members(function: types.FunctionType) -> Iterator[Step]:
    names = function.__code__.co_freevars
    for name, cell in zip(names, function.__closure__ or (), strict=False):
        try:
            yield f".<{name}>", cell.cell_contents
        except ValueError:
            continue
    yield from ((".<default>", value) for value in function.__defaults__ or ())


def _slots(kind: type) -> Iterable[str]:
    for cls in kind.__mro__:
        slots = cls.__dict__.get("__slots__", ())
        yield from (slots,) if isinstance(slots, str) else slots


def dilled(obj: object) -> Any:
    """The reduction of `obj` by dill, tried by loading it once; None if dill cannot either."""
    if any(type(obj) is kind for kind in weakref.ProxyTypes) or issubclass(
        type(obj), _never_by_dill()
    ):
        return None
    if reason_against(type(obj)) is not None:
        return None
    import dill

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            data = _dumped(obj)
            dill.loads(data)
        except user_code_errors():  # whatever it raises: dill cannot keep it
            return None
    return from_dill, (data,)


def _dumped(obj: object) -> bytes:
    import dill

    written = io.BytesIO()
    pickler = dill.Pickler(written, 5, recurse=True)
    pickler.persistent_id = _no_capsule
    pickler.dump(obj)
    return written.getvalue()


def _no_capsule(obj: object) -> None:
    """Raise for what dill writes as an address, whose twin frees the memory behind it once more."""
    kind = type(obj)
    if (kind.__module__, kind.__name__) == ("builtins", "PyCapsule"):
        message = "cannot pickle 'PyCapsule' object"
        raise TypeError(message)


def _never_by_dill() -> tuple[type, ...]:
    loaded = ((sys.modules[module], name) for module, name in _NOR_THESE if module in sys.modules)
    return (*_NEVER_BY_DILL, *(getattr(module, name) for module, name in loaded))


def from_dill(data: bytes) -> object:
    """The object that dill kept."""
    import dill

    return dill.loads(data)


def reason_of(error: BaseException) -> str:
    """Why it was refused, as the end of a sentence."""
    text = str(error).strip().split("\n")[0]
    if isinstance(error, RecursionError) or "recursion" in text:
        return "is nested too deeply"
    return f"cannot be pickled ({text or type(error).__name__})"
