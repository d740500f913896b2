"""The state of random generators of no variable: `random`, NumPy's legacy one, torch, SymPy.

They are part of the namespace under names that no variable can have, so that a rerun from a
checkpoint draws the same numbers.
"""

from __future__ import annotations

import ast
import ctypes
import functools
import struct
import sys
from collections.abc import Callable, Container, Iterator, Mapping
from random import Random
from types import FunctionType, ModuleType
from typing import Any, NamedTuple


class _Generator(NamedTuple):
    name: str
    module: str
    get: Callable[[Any], object]
    put: Callable[[Any, Any], object]
    read: Callable[[Any], bytes | None] | None = None


_HEAD = object.__basicsize__
_TWISTER = 625 * 4
"""Bytes of a Mersenne Twister's state: 624 words and a position, in CPython and in NumPy."""


def _python_memory(module: Any) -> bytes | None:
    return _twister_memory(getattr(module.getstate, "__self__", None))


def _twister_memory(generator: Any) -> bytes | None:
    if type(generator) is not Random or not _has_words_after_head():
        return None
    left: Any = generator.gauss_next  # type: ignore[attr-defined]  # of the pair that `gauss` makes
    return ctypes.string_at(id(generator) + _HEAD, _TWISTER) + repr(left).encode()


def _numpy_memory(module: Any) -> bytes | None:
    generator: Any = getattr(module.get_state, "__self__", None)
    bits: Any = getattr(generator, "_bit_generator", None)
    if type(bits) is not module.MT19937 or type(generator) is not module.RandomState:
        return None
    # The object itself has a second number of each pair, and which object makes the bits.
    own = ctypes.string_at(id(generator) + _HEAD, object.__sizeof__(generator) - _HEAD)
    return own + ctypes.string_at(bits.ctypes.state_address, _TWISTER)


@functools.cache
def _has_words_after_head() -> bool:
    """True if CPython's generator is a position and 624 words behind the head of its object."""
    if sys.implementation.name != "cpython" or Random.__basicsize__ < _HEAD + _TWISTER:
        return False
    generator = Random(5)  # nothing is kept secret with it
    generator.random()
    found = struct.unpack("625I", ctypes.string_at(id(generator) + _HEAD, _TWISTER))
    return bool((*found[1:], found[0]) == generator.getstate()[1])


_GENERATORS = (
    _Generator(
        "random.state",
        "random",
        lambda m: m.getstate(),
        lambda m, s: m.setstate(s),
        _python_memory,
    ),
    _Generator(
        "numpy.random.state",
        "numpy.random",
        lambda m: m.get_state(legacy=False),
        lambda m, s: m.set_state(s),
        _numpy_memory,
    ),
    _Generator(
        "torch.random.state",
        "torch",
        lambda m: m.get_rng_state().numpy().tobytes(),
        lambda m, s: m.set_rng_state(m.frombuffer(bytearray(s), dtype=m.uint8)),
    ),
    _Generator(
        "sympy.core.random.state",
        "sympy.core.random",
        lambda m: m.rng.getstate(),
        lambda m, s: m.rng.setstate(s),
        lambda m: _twister_memory(m.rng),
    ),
)

NAMES = frozenset(g.name for g in _GENERATORS)
"""The names under which manifests hold the states; a dot keeps them apart from variables."""

_SEEDING = frozenset(
    {"seed", "manual_seed", "set_state", "setstate", "set_rng_state", "seed_all", "set_seed",
     "seed_everything", "set_random_seed"}
)  # fmt: skip
"""Names of functions after which a generator's numbers are the user's choice, not chance."""

UNREADABLE = "polars.random"
"""Stands for a generator whose state nothing tells, among those that were seeded."""

_READING = frozenset({"getstate", "get_state", "get_rng_state", "initial_seed"})
"""Names of functions that tell where a generator stands."""

_SEEDS_UNREADABLE = frozenset({"set_random_seed"})
_DRAWS_UNREADABLE = frozenset({"sample", "shuffle"})

_DEPTH = 4
"""Calls followed from a cell to find one of them."""


def states(without: Container[str] = ()) -> dict[str, object]:
    """The state of each generator whose module has been imported."""
    return {
        g.name: g.get(module)
        for g in _GENERATORS
        if g.name not in without and (module := _loaded(g.module))
    }


def memory() -> dict[str, bytes]:
    """The memory in which generators have their state, of those of which it is known.

    Where it is the same as before no number was drawn, which is seen in a microsecond; where it
    is not, the state itself tells.
    """
    return {
        g.name: found
        for g in _GENERATORS
        if g.read is not None
        and (module := _loaded(g.module))
        and (found := g.read(module)) is not None
    }


def is_same(state: object, other: object) -> bool:
    """True if two states of one generator are equal."""
    if isinstance(state, dict) and isinstance(other, dict):
        return state.keys() == other.keys() and all(is_same(v, other[k]) for k, v in state.items())
    if hasattr(state, "tobytes") and hasattr(other, "tobytes"):
        return bool(state.tobytes() == other.tobytes())
    return type(state) is type(other) and state == other


def put_states(states: Mapping[str, object]) -> None:
    """Set the generators of `states`; their modules are imported where they are not yet."""
    for generator in _GENERATORS:
        if generator.name in states:
            __import__(generator.module)
            generator.put(sys.modules[generator.module], states[generator.name])


def _loaded(name: str) -> Any:
    # torch is in sys.modules some time before its functions are.
    module = sys.modules.get(name)
    return (
        module
        if module is not None and (name != "torch" or hasattr(module, "get_rng_state"))
        else None
    )


def seeds(
    tree: ast.Module,
    namespace: Mapping[str, object],
    names_in: Callable[[str], frozenset[str]] = lambda _: frozenset(),
) -> bool:
    """True if a cell may seed a generator, itself or through what it names and imports.

    Parameters
    ----------
    names_in
        Gives the names in the user's modules that a module of some name loads.
    """
    return _calls(tree, namespace, _SEEDING) or any(
        not _SEEDING.isdisjoint(names_in(name)) for name in _imported(tree)
    )


def _imported(tree: ast.Module) -> Iterator[str]:
    """The modules that a cell imports, by full name."""
    from nbckpt.fingerprint.code import nodes_of

    for node in nodes_of(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def seeds_unreadable(tree: ast.Module, namespace: Mapping[str, object]) -> bool:
    """True if a cell may seed the generator of polars, which tells no state."""
    return "polars" in sys.modules and _calls(tree, namespace, _SEEDS_UNREADABLE)


def reads(tree: ast.Module, namespace: Mapping[str, object]) -> bool:
    """True if a cell may ask where a generator stands, and draw nothing."""
    return _calls(tree, namespace, _READING)


def draws_unreadable(tree: ast.Module, namespace: Mapping[str, object]) -> bool:
    """True if a cell may draw from the generator of polars."""
    return "polars" in sys.modules and _calls(tree, namespace, _DRAWS_UNREADABLE)


def _calls(tree: ast.Module, namespace: Mapping[str, object], names: frozenset[str]) -> bool:
    """True if a cell names one of some functions, itself or through the functions that it names."""
    from nbckpt.fingerprint.code import nodes_of

    named = [n for n in nodes_of(tree) if isinstance(n, ast.Attribute | ast.Name)]
    if any((n.attr if isinstance(n, ast.Attribute) else n.id) in names for n in named):
        return True
    return any(_leads_to(_resolve(node, namespace), names, _DEPTH) for node in named)


def _resolve(node: ast.expr, namespace: Mapping[str, object]) -> object:
    if isinstance(node, ast.Name):
        return namespace.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = _resolve(node.value, namespace)
        return getattr(owner, node.attr, None) if isinstance(owner, ModuleType) else None
    return None


def _leads_to(function: object, wanted: frozenset[str], depth: int) -> bool:
    if type(function) is not FunctionType or depth == 0:  # isinstance asks dead proxies too
        return False
    names = function.__code__.co_names
    if not wanted.isdisjoint(names):
        return True
    called = (function.__globals__.get(name) for name in names)
    return any(_leads_to(other, wanted, depth - 1) for other in called)
