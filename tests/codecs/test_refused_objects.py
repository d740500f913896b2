"""Where the object lies that cannot be pickled: found through whatever it lies in."""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from nbckpt.codecs.refused_objects import dilled, path_to
from nbckpt.session.session import Session


class Unbuilt(Mapping[str, object]):
    """As the schema of pydantic's BaseModel: it says what it is once somebody asks, and raises."""

    def __init__(self, lock: object) -> None:
        self.lock = lock

    def __getitem__(self, key: str) -> object:
        raise RuntimeError("not built yet")

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("not built yet")

    def __len__(self) -> int:
        raise RuntimeError("not built yet")


class HalfWay(list[Any]):
    def __iter__(self) -> Iterator[Any]:
        yield from super().__iter__()
        raise SystemExit


class Endless(dict[str, object]):
    def items(self) -> Any:
        return (("x", number) for number in iter(int, 1))


class NoMembers:
    def __init__(self, lock: object) -> None:
        self.lock = lock

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        raise RuntimeError("no members")


class LyingKey(str):
    __slots__ = ()

    def __repr__(self) -> str:
        raise RuntimeError("no text")


IN = {
    "a mapping that raises": (lambda lock: [Unbuilt(None), lock], "v[1]"),
    "a mapping that raises, by its members": (Unbuilt, "v.lock"),
    "a list that ends half-way": (lambda lock: HalfWay([1, lock]), "v[1]"),
    "beside one that ends half-way": (lambda lock: [HalfWay([1]), {"a": lock}], "v[1]['a']"),
    "beside what has no members": (lambda lock: [NoMembers(None), lock], "v[1]"),
    "beside a key without a text": (lambda lock: [{LyingKey("k"): 1}, lock], "v[1]"),
    "beside what never ends": (lambda lock: [Endless(), lock], "v[1]"),
}


@pytest.mark.parametrize("name", IN)
def test_what_cannot_be_kept_is_found_beside_a_value_whose_own_code_raises(name: str) -> None:
    made: tuple[Callable[[object], object], str] = IN[name]
    lock = threading.Lock()

    path = path_to(lock, {"v": made[0](lock)})

    assert [text for text, _ in path][-1:] == [made[1]]


def test_memory_behind_a_capsule_is_freed_once() -> None:
    freed: list[int] = []
    end = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(freed.append)
    memory, name = ctypes.create_string_buffer(8), ctypes.create_string_buffer(b"dltensor")
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3
    capsule = make(
        ctypes.addressof(memory), ctypes.addressof(name), ctypes.cast(end, ctypes.c_void_p)
    )

    assert dilled(capsule) is None
    assert dilled(functools.lru_cache(capsule.__eq__)) is None
    assert dilled(functools.lru_cache(len)) is not None
    assert freed == []


def test_a_capsule_of_dlpack_is_named_with_its_reason(session: Session) -> None:
    session.namespace["x"] = {"of": np.arange(9.0).__dlpack__()}

    (refusal,) = session.checkpoint("made").refused

    assert "x['of'] cannot be pickled" in str(refusal)
