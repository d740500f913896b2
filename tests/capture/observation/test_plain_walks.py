"""Walks through plain data a level at a time find what the walks object by object find."""

from __future__ import annotations

import ast
import random
from typing import Any

import pytest

from nbckpt.capture.observation import changeable as walks
from nbckpt.capture.observation import named_files, words_of_code
from nbckpt.capture.observation.changeable import changeable
from nbckpt.capture.observation.named_files import Named
from nbckpt.capture.observation.words_of_code import codes_of_all
from nbckpt.fingerprint import referents
from nbckpt.fingerprint.referents import names_reached
from nbckpt.fingerprint.values.plain import remembered_looks


class Odd:
    """What is no plain data."""

    def __init__(self, held: object) -> None:
        self.held = held


def made(chance: random.Random, depth: int = 0, *, odd: float = 0.0) -> Any:
    """Data as notebooks hold it: nested, with texts, now and then with something else in it."""
    what = chance.random()
    if what < odd:
        return chance.choice([Odd([1]), {1, "a.txt"}, len, lambda: "b.csv", Odd])
    if depth > 4 or what < 0.35:
        text = f"{chance.randrange(400)}.csv"
        return chance.choice([1, 2.5, None, text, text.encode(), "x", "long " * 50])
    n = chance.choice([0, 1, 3, 20, 40]) if depth < 2 else chance.randrange(4)
    items = [made(chance, depth + 1, odd=odd) for _ in range(n)]
    kind = chance.choice([list, tuple, dict])
    if kind is dict:
        return {f"k{i}": item for i, item in enumerate(items)}
    found = kind(items)
    return [found, found] if chance.random() < 0.1 else found  # one that is held twice


@pytest.fixture(params=[0.0, 0.02])
def values(request: pytest.FixtureRequest) -> list[Any]:
    chance = random.Random(f"plain walks {request.param}")
    return [made(chance, odd=request.param) for _ in range(300)]


def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have nothing count as plain data."""
    for module in (walks, named_files, referents):
        monkeypatch.setattr(module, "levels_of", lambda _: None)
    monkeypatch.setattr(words_of_code, "is_plain", lambda _: False)


def test_the_same_objects_can_change(values: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    namespace: dict[str, object] = {}
    with remembered_looks():
        quick = [changeable([value], namespace) for value in values]
    together = changeable(values, namespace)
    slowly(monkeypatch)

    assert [set(found or ()) for found in quick] == [
        set(changeable([value], namespace) or ()) for value in values
    ]
    assert set(together or ()) == set(changeable(values, namespace) or ())
    assert any(len(found or ()) > 20 for found in quick)


@pytest.mark.parametrize("code", ["open(x)", "glob(x)", "f(x)", "x"])
def test_the_same_files_are_named(
    values: list[Any], code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(value: Any) -> tuple[Any, ...]:
        found = Named(ast.parse(code), ["x"], {"x": value})
        return set(found.texts), found.is_full, found.calls, found.asks

    many = [values, {"many": values}, [[f"{i}.txt" for i in range(900)]] * 20]
    many += [
        values * 5,
        {f"k{i}": v for i, v in enumerate(values * 5)},
        [{"a": [v]} for v in values * 5],
    ]
    many += [["x.csv"] * 1_000 + last for last in ([], ["y.csv"], [Odd([1])])]
    quick = [told(value) for value in [*values, *many]]
    slowly(monkeypatch)

    assert quick == [told(value) for value in [*values, *many]]
    assert code == "x" or max(len(texts) for texts, *_ in quick) > 100


def test_the_same_code_is_found(values: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    namespace = {f"v{i}": value for i, value in enumerate(values)}
    namespace["__name__"] = "__main__"
    exec("def f(): return 1\nfs = [f] * 20\nds = [{'f': f}] * 20", namespace)
    quick = list(codes_of_all(namespace))
    slowly(monkeypatch)

    assert quick == list(codes_of_all(namespace))
    assert len(quick) >= 1


def test_the_same_variables_are_reached(values: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"v{i}" for i in range(len(values))]
    namespace = dict(zip(names, values, strict=True))
    inner = [v for v in values if isinstance(v, list | dict) and v]
    roots = [inner[0], Odd(inner[3]), Odd([])]
    quick = [names_reached([root], names, namespace) for root in roots]
    slowly(monkeypatch)

    assert quick == [names_reached([root], names, namespace) for root in roots]
    assert any(quick)


def test_the_globals_of_a_module_are_not_looked_into() -> None:
    own = {"__builtins__": {}, "x": [1] * 30}
    assert changeable([[own] * 20], {}) is not None
    assert id(own["x"]) not in (changeable([[own] * 20], {}) or ())
