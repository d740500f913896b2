"""What is not looked at again while its name holds the same object."""

from __future__ import annotations

import json
import types
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from nbckpt.fixed import identity_of, is_fixed


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

    before = identity_of(one), identity_of(Two)
    one.__code__ = bare.__code__.replace(co_argcount=0)
    Two.count = 1

    assert identity_of(one) != before[0]
    assert identity_of(Two) != before[1]
    one.note = "x"  # type: ignore[attr-defined]
    assert not is_fixed(one)
