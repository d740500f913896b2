"""What is not looked at again while its name holds the same object."""

from __future__ import annotations

import json
import types
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from nbckpt.capture.change_tracking.identity import Identity, Place, is_fixed


def plain(x: Any):
    return x


def bare(x):
    return x


def with_default(x=[]):  # noqa: B006
    return x


def made(n: int) -> Callable[[], int]:
    return lambda: n


class Named:
    kept: ClassVar[list[int]] = []


@pytest.mark.parametrize("value", [1, "a", None, json, bare])
def test_what_nobody_can_change_is_fixed(value: object) -> None:
    assert is_fixed(value)


@pytest.mark.parametrize(
    "value", [[1], (1, [2]), plain, with_default, made(1), Named, Named(), types.ModuleType("own")]
)
def test_what_may_change_is_not(value: object) -> None:
    assert not is_fixed(value)


def test_a_definition_that_is_changed_is_another_one() -> None:
    def one():
        return 1

    class Two:
        count = 0

    before = Identity(one), Identity(Two)
    assert before[0].is_of(one)
    assert before[1].is_of(Two)
    one.__code__ = bare.__code__.replace(co_argcount=0)
    Two.count = 1

    assert not before[0].is_of(one)
    assert not before[1].is_of(Two)
    one.note = "x"  # type: ignore[attr-defined]
    assert not is_fixed(one)


MAKERS: list[tuple[Callable[[], object], Callable[[], object]]] = [
    (lambda: float("3000"), lambda: float("6000")),
    (lambda: int("3000"), lambda: int("6000")),
    (lambda: "".join(["a", "b"]), lambda: "".join(["c", "d"])),
    (lambda: bytes([1, 2, 3]), lambda: bytes([4, 5, 6])),
    (lambda: complex("1j"), lambda: complex("2j")),
    (lambda: (object(),), lambda: (object(),)),
    (lambda: [1], lambda: [2]),
    (lambda: {"a": 1}, lambda: {"a": 2}),
    (lambda: {1}, lambda: {2}),
    (lambda: Named(), lambda: Named()),
    (lambda: made(1), lambda: made(2)),
]


@pytest.mark.parametrize(("first", "second"), MAKERS)
def test_another_object_at_an_address_is_never_taken_for_the_first(
    first: Callable[[], object], second: Callable[[], object]
) -> None:
    space: dict[str, object] = {"x": first()}
    known = Identity(space["x"])

    for _ in range(1000):
        space["x"] = second()
        assert not known.is_of(space["x"])
        space.clear()


@pytest.mark.parametrize("make", [lambda: Named(), lambda: {1}, lambda: made(1)])
def test_an_identity_keeps_nothing_alive_that_can_be_referred_to_weakly(
    make: Callable[[], object],
) -> None:
    value = make()
    known = Identity(value)
    gone = weakref.ref(value)
    assert not known.keeps_alive

    del value

    assert gone() is None
    assert not known.is_of(None)


@pytest.mark.parametrize("value", [5, "a", 2.5, None, (1).__class__(7)])
def test_a_value_that_nothing_changes_is_never_changed_in_place(value: object) -> None:
    assert not Place(value).may_be(value)


def test_a_place_is_of_the_object_that_stood_there() -> None:
    xs, cell = [1], Named()

    assert Place(xs).may_be(xs)
    assert Place(cell).may_be(cell)
    assert not Place(cell).may_be(Named())


class Part:
    """What a class may hold, and lose."""


@pytest.mark.parametrize("new", [None, 5, Part()])
def test_a_class_that_loses_a_part_is_another_and_does_not_keep_it(new: object) -> None:
    class Whole:
        part: Any = Part()

    seen, going = Identity(Whole), weakref.ref(Whole.part)
    assert seen.is_of(Whole)

    Whole.part = new

    assert going() is None
    assert not seen.is_of(Whole)
