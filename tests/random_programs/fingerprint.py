"""All that can be told of the variables of a namespace, as plain data that can be compared.

Two namespaces have the same fingerprint if each variable has the same value and type in both, if
the same names and elements are one object (`is`), and if the same arrays lie on one memory.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np
import pandas as pd

_ATOMS = frozenset({int, str, bool, type(None), bytes, float, complex, range, slice, type(...)})
_TOOLS = frozenset({"In", "Out", "exit", "quit", "get_ipython", "open", "display"})
_BOOKKEEPING = frozenset(
    {
        "__dict__", "__weakref__", "__module__", "__doc__", "__abstractmethods__", "_abc_impl",
        "__firstlineno__", "__static_attributes__", "__annotations_cache__", "__qualname__",
        "__slotnames__",
    }
)  # fmt: skip
_SENTINELS = frozenset(
    {type(dataclasses.MISSING), type(dataclasses._FIELD), type(dataclasses._HAS_DEFAULT_FACTORY)}
)  # type: ignore[attr-defined]
_ITERATORS = frozenset(
    map(type, (iter([]), iter(set()), iter({}), iter({}.items()), iter({}.values())))
)
"""Python itself pickles an iterator of a dict or a set as one of a list."""

Told = object


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What can be told of a namespace.

    Attributes
    ----------
    told
        Of each variable, by name; under ``(memory)`` which arrays share memory.
    same
        Path of each function and class → the first path on which it was met.
    """

    told: dict[str, Told]
    same: dict[str, str]


def fingerprint(namespace: Mapping[str, Any], but: Container[str] = ()) -> Fingerprint:
    """The fingerprint of a namespace, without some names."""
    teller = _Teller(namespace)
    names = sorted(n for n in namespace if _is_users(n) and n not in but)
    told = {name: teller.told(namespace[name], name) for name in names}
    told["(memory)"] = teller.memory()
    return Fingerprint(told, teller.same)


def _is_users(name: str) -> bool:
    return not name.startswith("_") and name not in _TOOLS


def differences(got: Fingerprint, wanted: Fingerprint) -> dict[str, str]:
    """Name of each variable that differs → what is there, and what should be."""
    found = {}
    if got.told != wanted.told:
        one, other = got.told, wanted.told
        names = sorted(n for n in {*one, *other} if one.get(n) != other.get(n))
        found = {n: _difference(one.get(n, "(absent)"), other.get(n, "(absent)")) for n in names}
    if got.same != wanted.same:
        for path, first in wanted.same.items():
            if got.same.get(path) != got.same.get(first) and path in got.same:
                found[path] = f"is not the same definition as {first}"
    return found


def _difference(got: Told, wanted: Told) -> str:
    """The innermost place where they differ."""
    if isinstance(got, tuple) and isinstance(wanted, tuple) and got[:1] == wanted[:1]:
        for one, other in zip(got, wanted, strict=False):
            if one != other:
                return _difference(one, other)
        length = min(len(got), len(wanted))
        got, wanted = got[length:], wanted[length:]
    return f"{_short(got)} instead of {_short(wanted)}"


def _short(told: Told) -> str:
    text = repr(told).replace("<class '", "").replace("'>", "")
    return text if len(text) < 300 else f"{text[:300]}…"


class _Teller:
    """Tells values, each object once: later it is where it was met first."""

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self._namespace = namespace
        self._seen: dict[int, str] = {}
        self._kept: list[object] = []  # an id is one object's as long as that lives
        self._arrays: list[tuple[str, Any]] = []
        self._definitions: dict[int, tuple[Told, str]] = {}
        self.same: dict[str, str] = {}

    def told(self, value: Any, path: str) -> Told:
        kind = type(value)
        if kind in _ATOMS or issubclass(kind, np.generic):  # of a number no change tells which
            return (kind, repr(value))
        if kind in _SENTINELS:  # each of them is one object in a process
            known = vars(dataclasses).values()
            return (kind, any(value is v for v in known), getattr(value, "name", ""))
        if kind is MappingProxyType:
            return (kind, self.told(dict(value), path))
        if kind is tuple:
            return (kind, *(self.told(v, f"{path}[{i}]") for i, v in enumerate(value)))
        if kind is frozenset:
            return (kind, *sorted(map(repr, value)))
        if kind is FunctionType or issubclass(kind, type):
            return self._definition(value, kind, path)
        known = self._seen.get(id(value))
        if known is not None:
            return ("again", known)
        self._seen[id(value)] = path
        self._kept.append(value)
        return (_name_of(kind), *self._inside(value, kind, path))

    def _inside(self, value: Any, kind: type, path: str) -> Iterator[Told]:
        if kind is list or kind is collections.deque:
            if set(map(type, value)) <= _ATOMS:
                yield repr(value)
            else:
                yield from (self.told(v, f"{path}[{i}]") for i, v in enumerate(value))
        elif issubclass(kind, dict):
            for index, (key, item) in enumerate(value.items()):
                yield self.told(key, f"{path}.key{index}")
                yield self.told(item, f"{path}[{key!r}]")
            if kind is not dict:
                yield from self._instance(value, kind, path)
        elif kind is set:
            yield from sorted(map(repr, value))
        elif kind is ModuleType:
            yield value.__name__
        elif issubclass(kind, np.ndarray):
            yield from self._array(value, path)
        elif kind.__module__.partition(".")[0] == "pandas":
            yield from self._table(value, path)
        else:
            yield from self._other(value, kind, path)

    def _other(self, value: Any, kind: type, path: str) -> Iterator[Told]:
        if kind is MethodType:
            yield value.__func__.__qualname__
            yield self.told(value.__self__, f"{path}.__self__")
        elif kind is BuiltinFunctionType:
            yield value.__qualname__
            if not isinstance(value.__self__, ModuleType | type):
                yield self.told(value.__self__, f"{path}.__self__")
        elif kind is GeneratorType:
            yield value.__qualname__
            yield value.gi_frame is not None and value.gi_frame.f_lasti
            if value.gi_frame is not None:
                for name, local in value.gi_frame.f_locals.items():
                    yield name
                    yield self.told(local, f"{path}.{name}")
        elif kind is CodeType:
            yield from _code(value)
        elif kind is CellType:
            yield self.told(value.cell_contents, f"{path}.cell")
        elif kind in (property, staticmethod, classmethod):
            for part in ("fget", "fset", "fdel", "__func__"):
                if hasattr(value, part):
                    yield self.told(getattr(value, part), f"{path}.{part}")
        elif kind in (GetSetDescriptorType, MemberDescriptorType):
            yield value.__name__
        elif isinstance(value, BaseException):
            yield self.told(kind, f"{path}.__class__")
            yield self.told(value.args, f"{path}.args")
            yield self.told(vars(value), f"{path}.__dict__")
        elif kind is bytearray:
            yield bytes(value)
        elif kind is memoryview:
            yield (bytes(value), value.readonly)
            yield self.told(value.obj, f"{path}.obj")
        elif hasattr(value, "cache_info"):
            yield self.told(value.__wrapped__, f"{path}.__wrapped__")
        elif kind in _ITERATORS:
            yield from self._iterator(value, path)
        elif kind is functools.partial:
            yield self.told(value.func, f"{path}.func")
            yield self.told(value.args, f"{path}.args")
            yield self.told(value.keywords, f"{path}.keywords")
        else:
            yield from self._instance(value, kind, path)

    def _iterator(self, value: Any, path: str) -> Iterator[Told]:
        """The list that an iterator goes through, and how far it is; an ended one has none."""
        try:
            _, (items, *_), *state = value.__reduce__()
        except RuntimeError:  # its dict has grown: it raises whatever is asked of it
            yield "cannot be told"
            return
        if len(items) > (state[0] if state and state[0] is not None else 0):
            yield state or [0]
            yield self.told(items, f"{path}.items")

    def _instance(self, value: Any, kind: type, path: str) -> Iterator[Told]:
        yield self.told(kind, f"{path}.__class__")
        try:
            reduced = value.__reduce_ex__(2)
        except TypeError:
            yield "cannot be told"
            return
        self._kept.append(reduced)
        if isinstance(reduced, str):
            yield reduced
            return
        state = reduced[2] if len(reduced) > 2 else None
        if kind is itertools.chain and state is not None and not _is_left(state):
            state = None  # one that has ended says nothing of what it went through
        arguments = tuple(a for a in reduced[1] if a is not kind)
        yield self.told(arguments, f"{path}.args")
        if isinstance(state, dict) and state is getattr(value, "__dict__", None):
            for name, attribute in state.items():
                yield name
                yield self.told(attribute, f"{path}.{name}")
        else:
            yield self.told(state, f"{path}.state")
        for part in reduced[3:4]:
            items = [] if part is None else list(part)
            yield self.told(items, f"{path}.items")

    def _definition(self, value: Any, kind: type, path: str) -> Told:
        """A function or class: told whole each time, and noted which it is.

        A cell that is run again defines it anew. A restored one may leave an equal one in place.
        """
        name = f"{value.__module__}.{value.__qualname__}"
        if value.__module__ != "__main__":
            return (kind, name)
        if id(value) not in self._definitions:
            self._kept.append(value)
            self._definitions[id(value)] = ("recursive", name), path
            inside = self._function if kind is FunctionType else self._class
            self._definitions[id(value)] = (kind, name, *inside(value, path)), path
        told, first = self._definitions[id(value)]
        self.same[path] = first
        return told

    def _function(self, value: FunctionType, path: str) -> Iterator[Told]:
        yield from _code(value.__code__)
        if value.__globals__.get("__name__") == "__main__":
            yield value.__globals__ is self._namespace
        yield self.told(value.__defaults__, f"{path}.defaults")
        yield self.told(value.__kwdefaults__, f"{path}.kwdefaults")
        for index, cell in enumerate(value.__closure__ or ()):
            yield self.told(cell, f"{path}.closure{index}")
        if vars(value):
            yield self.told(vars(value), f"{path}.__dict__")

    def _class(self, value: type, path: str) -> Iterator[Told]:
        yield from (self.told(base, f"{path}.base") for base in value.__bases__)
        for name, member in sorted(vars(value).items()):
            if name not in _BOOKKEEPING:
                yield name
                yield self.told(member, f"{path}.{name}")

    def _array(self, value: Any, path: str) -> Iterator[Told]:
        yield (value.shape, str(value.dtype), value.flags.writeable)
        if value.dtype.hasobject:
            for index, element in enumerate(value.reshape(-1).tolist()):
                yield self.told(element, f"{path}[{index}]")
        else:
            yield repr(value.tolist())
        if value.size:
            self._arrays.append((path, value))

    def _table(self, value: Any, path: str) -> Iterator[Told]:
        if isinstance(value, pd.DataFrame):
            yield repr(value.columns)
            yield repr(value.index)
            yield repr([str(kind) for kind in value.dtypes])
            yield repr([value.iloc[:, i].tolist() for i in range(value.shape[1])])
            yield repr(value.attrs)
        elif isinstance(value, pd.Series):
            yield (repr(value.name), str(value.dtype), repr(value.index), repr(value.tolist()))
        elif isinstance(value, pd.Index):
            yield repr(value)
        else:
            yield str(type(value))
            if hasattr(value, "obj"):
                yield self.told(value.obj, f"{path}.obj")

    def memory(self) -> Told:
        """Which arrays overlap: path of each → path of the first it overlaps with, and how far."""
        spans = [(path, *np.lib.array_utils.byte_bounds(a)) for path, a in self._arrays]
        found = []
        for index, (path, low, high) in enumerate(spans):
            for other, start, end in spans[:index]:
                if low < end and start < high:
                    found.append((path, other, low - start))
                    break
        return tuple(found)


def _is_left(state: tuple[Any, ...]) -> bool:
    """Whether a chain that is in this state goes on: its iterables are not behind it."""
    return any(it.__length_hint__() for it in state if type(it) is type(iter(()))) or len(state) > 1


def _name_of(kind: type) -> Told:
    """A type; pickled iterators of dicts and sets come back as iterators of lists, in any Python."""
    if kind in _ITERATORS:
        return "iterator"
    return kind if kind.__module__ != "__main__" else "user's"


def _code(code: CodeType) -> Iterator[Told]:
    yield code.co_code
    yield (code.co_names, code.co_varnames, code.co_freevars, code.co_argcount)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield tuple(_code(constant))
        else:
            yield repr(constant)
