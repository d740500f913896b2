"""Objects that exist once in a process: random generators, sentinels, streams, named constants.

A value that uses the generator of `numpy.random` itself uses it after a restore as well.
"""

from __future__ import annotations

import importlib
import random
import sys
from collections.abc import Callable, Iterator
from operator import attrgetter
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from nbckpt.fingerprint.values.homes import is_users_module
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.fingerprint.values.reducing import past_getattr, reduction_of

if TYPE_CHECKING:
    from nbckpt.codecs.pickler import NamespacePickler

_GENERATORS = {
    "random": ("random", "_inst"),
    "numpy": ("numpy.random.mtrand", "_rand"),
    "torch": ("torch.random", "default_generator"),
}
"""Package → the module that has its hidden generator, and the name there."""

_HEAP_TYPE = 1 << 9
"""Flag of a type that Python code made (`Py_TPFLAGS_HEAPTYPE`)."""


_NAMED_IN = frozenset({"sympy"})
"""Packages whose own objects are told apart by identity, and do not all come back from pickles."""

_known_names: dict[str, tuple[int, dict[int, str]]] = {}


def reducer_for(kind: type) -> Callable[[NamespacePickler, Any], Any] | None:
    """The reducer for singletons of type `kind`; None for anything else."""
    if kind is object:
        return _reduce_marker
    if kind is random.Random or any(kind is type(hidden_generator(p)) for p in _GENERATORS):
        return _reduce_generator
    if str(kind.__module__).partition(".")[0] in _NAMED_IN:
        return _reduce_named
    if str(kind.__module__).partition(".")[0] == "ipykernel" and kind.__name__ == "OutStream":
        return _reduce_stream
    if (kind.__module__, kind.__name__) == ("werkzeug.local", "LocalProxy"):
        return _reduce_proxy
    if kind is getattr(sys.modules.get("dataclasses"), "_FIELD_BASE", None):
        return _reduce_kind_of_field
    return _reduce_sentinel if _sentinels_of(kind) else None


def _sentinels_of(kind: type) -> dict[int, str]:
    """Objects of a type that its own module, or a class there, holds: id → the name there.

    `dataclasses.MISSING` is one: it says what it is by being that object and no other. Its type
    says nothing of how it is pickled or compared.
    """
    module = sys.modules.get(kind.__module__)
    is_library = module is not None and kind.__module__ not in ("__main__", "builtins")
    if not is_library or not _is_without_state(kind):
        return {}
    members = dict(vars(module))
    found = {id(v): n for n, v in members.items() if type(v) is kind}
    for name, holder in members.items():
        # Not `isinstance`, which asks a library's lazy proxy for what it stands for.
        if issubclass(type(holder), type) and holder.__module__ == kind.__module__:
            own = list(vars(holder).items())
            found |= {id(v): f"{name}.{n}" for n, v in own if type(v) is kind}
    return found


_SAYS = (
    "__reduce__", "__reduce_ex__", "__getstate__", "__getnewargs__", "__getnewargs_ex__", "__eq__",
    "__setstate__", "__getattr__",
)  # fmt: skip


def _is_without_state(kind: type) -> bool:
    """True if instances can hold nothing, and say nothing of how they are pickled."""
    bases = kind.__mro__[:-1]
    return (
        not kind.__itemsize__
        and all(base.__flags__ & _HEAP_TYPE for base in bases)
        and not any(name in vars(base) for base in bases for name in _SAYS)
        and not any(_slots(base) for base in bases)
    )


def _slots(kind: type) -> bool:
    slots = vars(kind).get("__slots__", ())
    return bool([slots] if isinstance(slots, str) else list(slots))


def _reduce_kind_of_field(pickler: NamespacePickler, kind: Any) -> Any:
    """All fields of data classes refer to one of three, which are written by name."""
    pickler.private.add(id(kind))
    return NotImplemented


def _reduce_sentinel(pickler: NamespacePickler, value: Any) -> Any:
    name = _sentinels_of(type(value)).get(id(value))
    members = getattr(value, "__dict__", None) or {}
    if name is None or not all(type(member) in ATOMS for member in members.values()):
        return NotImplemented
    pickler.private.add(id(value))  # who holds one shares nothing that can change
    return sentinel_in, (type(value).__module__, name, dict(members))


def sentinel_in(module: str, name: str, members: dict[str, object]) -> object:
    """An object that a module holds, with the attributes that it had."""
    found: object = attrgetter(name)(importlib.import_module(module))
    if members and vars(found) != members:
        vars(found).update(members)
    return found


def hidden_generator(package: str) -> Any:
    """The generator behind the functions of a package; None if nobody has imported it."""
    module, name = _GENERATORS[package]
    return getattr(sys.modules.get(module), name, None)


def _reduce_generator(pickler: NamespacePickler, generator: Any) -> Any:
    for package in _GENERATORS:
        if generator is hidden_generator(package):
            pickler.private.add(id(generator))
            return hidden_generator, (package,)
    return NotImplemented


def _reduce_marker(pickler: NamespacePickler, value: object) -> Any:
    """An `object()` says what it is by being the one that a module holds, and no other."""
    place = _markers().get(id(value), ("", ""))
    module = sys.modules.get(place[0])
    # The places are remembered by address alone: another object may lie there by now.
    if module is None or vars(module).get(place[1]) is not value:
        return NotImplemented
    pickler.private.add(id(value))
    return named_in, place


def _markers() -> dict[int, tuple[str, str]]:
    """The `object()` of libraries' modules: id → module and name."""
    global _known_markers  # noqa: PLW0603  # replaced as a whole
    if _known_markers[0] != len(sys.modules):
        found: dict[int, tuple[str, str]] = {}
        for place, members in modules_of_libraries():
            for name, value in list(members.items()):
                if type(value) is object:
                    found.setdefault(id(value), (place, name))
        _known_markers = len(sys.modules), found
    return _known_markers[1]


def modules_of_libraries() -> Iterator[tuple[str, dict[str, object]]]:
    """The names of the modules that are not the user's, and what these hold."""
    for name, module in list(sys.modules.items()):
        if type(module) is ModuleType and not is_users_module(name):
            yield name, vars(module)


_known_markers: tuple[int, dict[int, tuple[str, str]]] = (0, {})


def _reduce_named(pickler: NamespacePickler, value: Any) -> Any:
    """Reduce an object to its package's name for it; NotImplemented if it has none."""
    package = str(type(value).__module__).partition(".")[0]
    name = _names_in(package).get(id(value))
    # The names are remembered by address alone: another object may lie there by now.
    if name is None or vars(sys.modules[package]).get(name) is not value:
        return NotImplemented
    pickler.private.add(id(value))
    return named_in, (package, name)


def _reduce_proxy(pickler: NamespacePickler, proxy: Any) -> Any:
    """A proxy of the request that is being answered is the one that a library has."""
    for place, members in modules_of_libraries():
        for name, value in list(members.items()):
            if value is proxy:
                pickler.private.add(id(proxy))
                return named_in, (place, name)
    return past_getattr(reduction_of(proxy, 5))


def _reduce_stream(pickler: NamespacePickler, stream: Any) -> Any:
    """Reduce an output stream of the process to its name; NotImplemented for other streams."""
    for name in ("stdout", "stderr"):
        if stream is getattr(sys, name):
            pickler.private.add(id(stream))
            return stream_of, (name,)
    return NotImplemented


def stream_of(name: str) -> object:
    """The output stream that the process has under a name by now."""
    return getattr(sys, name)


def _names_in(package: str) -> dict[int, str]:
    """The names of a package's objects that are neither functions, classes nor plain."""
    members = vars(sys.modules[package])
    known = _known_names.get(package)
    if known is None or known[0] != len(members):
        skipped = (FunctionType, BuiltinFunctionType, type, ModuleType, *ATOMS)
        own = ((n, v) for n, v in members.items() if type(n) is str and n[:2] != "__")
        names = {id(v): n for n, v in own if not isinstance(v, skipped)}
        known = _known_names[package] = len(members), names
    return known[1]


def named_in(package: str, name: str) -> object:
    """An object that a package has a name for."""
    return getattr(importlib.import_module(package), name)
