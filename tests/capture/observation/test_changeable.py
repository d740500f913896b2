"""References are counted: an object that nobody else holds is told from one that somebody does."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nbckpt.capture.observation.changeable import are_held_elsewhere, changeable

pytestmark = pytest.mark.sampled(7)


@dataclass(frozen=True)
class Frozen:
    rows: list[int]


@dataclass(frozen=True, slots=True)
class Slots:
    rows: list[int]


class Plain:
    def __init__(self) -> None:
        self.rows, self.by = [1], {"a": [2]}


def closed() -> Callable[[], list[int]]:
    held = [1]
    return lambda: held


def defaulted() -> Callable[..., Any]:
    def function(x: int, to: list[int] = [], *, by: dict[str, int] = {}) -> Any:  # noqa: B006
        return x, to, by

    return function


def given(value: Any, use: Callable[[Any], object]) -> object:
    return use(value)


def asked(make: Callable[[], object]) -> bool:
    """The answer for a value that one namespace holds, as the end of a cell asks."""
    namespace = {"value": make(), "other": 1}
    bound = {"value": namespace["value"]}
    holders = [namespace.values(), bound.values()]
    return are_held_elsewhere([*bound.values()], holders, namespace)


OWN: dict[str, Callable[[], object]] = {
    "list": lambda: [1, [2, [3]]],
    "dict": lambda: {"a": [1, (2, 3)], "b": {4}},
    "one twice": lambda: given([1], lambda part: [part, part]),
    "circle": lambda: given([1], lambda part: part.append(part) or part),
    "array": lambda: np.arange(5),
    "view": lambda: np.arange(9)[2:5],
    "two views": lambda: given(np.arange(9), lambda a: (a[1:], a[:3])),
    "table": lambda: pd.DataFrame({"a": [1.0], "b": ["x"], "c": pd.to_datetime(["2020"])}),
    "instance": Plain,
    "frozen": lambda: Frozen([1]),
    "frozen with slots": lambda: Slots([1]),
    "function": closed,
    "defaults": defaulted,
    "partial": lambda: functools.partial(print, [1]),
    "generator": lambda: np.random.default_rng(1),
}


@pytest.mark.parametrize("make", OWN.values(), ids=OWN)
def test_what_nobody_else_holds_is_told(make: Callable[[], object]) -> None:
    assert not asked(make)


KEPT: list[object] = []


def kept(value: Any) -> Any:
    """The value, which something else holds from now on."""
    KEPT.append(value)
    return value


def objects() -> Any:
    """An array of objects, of which something else holds one."""
    return np.array([kept({"n": 1}), {"n": 2}], dtype=object)


def same_state() -> Sequence[object]:
    """Two functions with one tuple of defaults, in which there is what something else holds."""

    def function(to: list[int]) -> None: ...

    function.__defaults__ = (kept([1]),)
    twin = types.FunctionType(function.__code__, {}, "twin", function.__defaults__)
    return function, twin


SHARED: dict[str, Callable[[], object]] = {
    "list": lambda: kept([1]),
    "inside": lambda: {"a": [kept([1])]},
    "held twice inside": lambda: given(kept([1]), lambda part: [part, part]),
    "tuple": lambda: kept(([1], 2)),
    "memory": lambda: kept(np.arange(9))[2:5],
    "two views": lambda: given(kept(np.arange(9)), lambda a: (a[1:], a[:3])),
    "objects in an array": objects,
    "in a view": lambda: objects()[:],
    "in two views": lambda: given(objects(), lambda a: (a[:1], a[:])),
    "in two tables": lambda: given(
        pd.DataFrame({"o": objects()}), lambda t: (t, t.copy(deep=False))
    ),
    "record of an array": lambda: kept(np.zeros(2, [("x", "i8")]))[0],
    "frozen": lambda: Frozen(kept([1])),
    "frozen with slots": lambda: Slots(kept([1])),
    "instance": lambda: kept(Plain()).by,
    "closure": lambda: given(kept([1]), lambda held: lambda: held),
    "one tuple of defaults": same_state,
    "method": lambda: kept([1]).append,
    "two views of bytes": lambda: given(memoryview(kept(bytearray(3))), lambda m: (m[1:], m[:1])),
}


@pytest.mark.parametrize("make", SHARED.values(), ids=SHARED)
def test_what_something_else_holds_too_is_told(make: Callable[[], object]) -> None:
    assert asked(make)


def test_what_raises_when_it_is_looked_at_is_looked_through_by_the_collector() -> None:
    odd = type("Odd", (), {"__module__": "numpy", "__dict__": property(lambda _: 1 / 0)})

    assert not asked(odd)
    assert asked(lambda: given([1], lambda part: [also.append(part), odd_with(odd, part)]))


also: list[object] = []


def odd_with(kind: type, part: object) -> object:
    value = object.__new__(kind)
    object.__setattr__(value, "rows", part)
    return value


@pytest.mark.parametrize(
    "name", ["exp", "sum", "float64", "poly1d", "vectorize", "dtype", "nditer"]
)
def test_what_numpy_has_that_is_no_array_is_looked_through(name: str) -> None:
    roots = [getattr(np, name), [1]]

    assert [*(changeable(roots, {}) or ())] == [id(roots[1])]


def test_objects_of_numpy_that_are_no_arrays_are_looked_through() -> None:
    roots = [np.poly1d([1, 2]), np.vectorize(abs), np.nditer(np.ones(2)), np.broadcast(1, [1])]

    assert {*map(id, roots[:2])} <= (changeable(roots, {}) or {}).keys()
