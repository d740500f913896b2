"""Instances that are written in one go have the digests that they have when they are taken apart."""

from __future__ import annotations

import random
from argparse import Namespace
from types import SimpleNamespace
from typing import Any

import pytest

from nbckpt.fingerprint.values import Examined, ValueDigester, instances

CLASSES = """
import dataclasses
class A: pass
class B(A):
    x = 3
    def f(self): return self
class Slots: __slots__ = ("a", "b")
class SlotsToo(A): __slots__ = ("q",)
@dataclasses.dataclass
class D:
    a: int = 1
    b: str = "x"
@dataclasses.dataclass(frozen=True)
class Frozen: a: int = 1
class OwnState:
    def __getstate__(self): return {"z": 1}
class Reduces:
    def __reduce__(self): return Reduces, ()
class Error(Exception): pass
class OwnList(list): pass
class OwnDict(dict): pass
class Asks:
    def __getattr__(self, name): raise AttributeError(name)
"""
NAMES = ("a", "b", "cc", "__reduce_ex__", "q")


@pytest.fixture
def namespace() -> dict[str, Any]:
    found: dict[str, Any] = {"__name__": "__main__"}
    exec(CLASSES, found)
    return found


class Made:
    """Values at random: objects of all classes, that hold each other, and each other's dicts."""

    def __init__(self, seed: int, namespace: dict[str, Any]) -> None:
        self.numbers = random.Random(seed)
        own = [value for value in namespace.values() if isinstance(value, type)]
        self.classes: list[Any] = [*own, SimpleNamespace, Namespace]
        self.made: list[Any] = []

    def value(self, depth: int = 0) -> Any:
        kind = self.numbers.randrange(11)
        if kind < 5 or depth > 3:
            atoms = [1, 2.5, "s", "t" * 300, None, True, b"x", -0.0, 1j, ..., 10**30]
            return self.numbers.choice(atoms)
        if kind == 5:
            return [self.value(depth + 1) for _ in range(self.numbers.randrange(25))]
        if kind == 6:
            return {self.numbers.choice("abcdef"): self.value(depth + 1) for _ in range(3)}
        if kind == 7 and self.made:
            found = self.numbers.choice(self.made)
            return self.numbers.choice([found, getattr(found, "__dict__", found)])
        if kind == 8:
            return self.numbers.choice(self.classes)
        return self.instance(depth)

    def instance(self, depth: int) -> Any:
        made = self.numbers.choice(self.classes)()
        for name in self.numbers.sample(NAMES, self.numbers.randrange(3)):
            members = getattr(made, "__dict__", None)
            if members is not None:
                members[name] = self.value(depth + 1)
            elif hasattr(type(made), name) and not name.startswith("_"):
                setattr(made, name, self.value(depth + 1))
        self.made.append(made)
        return made


def examined(value: object, namespace: dict[str, Any]) -> Examined:
    return ValueDigester(namespace).examine(value)


@pytest.mark.parametrize("seed", range(4))
def test_both_ways_give_the_same(
    seed: int, namespace: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    written = 0
    put_attributes = instances.put_attributes

    def counted(walk: Any, value: object) -> bool:
        nonlocal written
        is_written = put_attributes(walk, value)
        written += is_written
        return is_written

    for number in range(100):
        made = Made(1000 * seed + number, namespace)
        value = [made.value() for _ in range(1 + made.numbers.randrange(60))]
        monkeypatch.setattr(instances, "put_attributes", counted)
        at_once = examined(value, namespace)
        monkeypatch.setattr(instances, "put_attributes", lambda _walk, _value: False)
        apart = examined(value, namespace)
        assert at_once.unknown == apart.unknown
        if not apart.unknown:  # else no two are equal
            assert at_once == apart
    assert written > 60


def test_what_a_class_becomes_counts_at_the_next_look(namespace: dict[str, Any]) -> None:
    exec("many = [B() for _ in range(5)]\nfor n, one in enumerate(many): one.n = n", namespace)
    before = examined(namespace["many"], namespace).digest
    exec("B.__getstate__ = lambda self: {'n': 0}", namespace)
    own_state = examined(namespace["many"], namespace).digest
    exec("many[3].n = 17", namespace)

    assert before != own_state
    assert examined(namespace["many"], namespace).digest == own_state


def test_keys_and_dicts_of_classes_of_the_notebook_are_no_usual_ones(
    namespace: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    exec(
        """
class K(str): pass
def three(key):
    found = [A(), A(), A()]
    for one, name in zip(found, ("a", "a", key)): vars(one)[name] = 1
    return found
class Hides:
    @property
    def __dict__(self): return {}
hiding = [Hides() for _ in range(3)]
for n, one in enumerate(hiding): object.__setattr__(one, "n", n)
""",
        namespace,
    )
    usual, other = (examined(namespace["three"](k), namespace) for k in ("a", namespace["K"]("a")))

    assert usual.digest != other.digest
    assert namespace["K"] in other.reached
    at_once = examined(namespace["hiding"], namespace)
    monkeypatch.setattr(instances, "put_attributes", lambda _walk, _value: False)
    assert examined(namespace["hiding"], namespace) == at_once
