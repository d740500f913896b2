"""What derives from a class of Python, with another `__new__` or `__init__`, comes back by that."""

from __future__ import annotations

from typing import Any

import pytest

from nbckpt.codecs.bare_instances import reducer_for
from tests.notebooks import refusals, resumed, run

MADE = {
    "float": (
        "class K(float):\n def __new__(cls, v, unit):",
        "super().__new__(cls, v)",
        "1.5, 'C'",
    ),
    "str": ("class K(str):\n def __new__(cls, a, b):", "super().__new__(cls, a + b)", "'a', 'b'"),
    "int": ("class K(int):\n def __new__(cls, *, v):", "super().__new__(cls, v)", "v=4"),
    "bytes": (
        "class K(bytes):\n def __new__(cls, a, b):",
        "super().__new__(cls, a + b)",
        "b'a', b'b'",
    ),
    "tuple": ("class K(tuple):\n def __new__(cls, a, b):", "super().__new__(cls, (a, b))", "1, 2"),
    "frozenset": (
        "class K(frozenset):\n def __new__(cls, a, b):",
        "super().__new__(cls, [a, b])",
        "1, 2",
    ),
    "complex": (
        "class K(complex):\n def __new__(cls, a, b, c):",
        "super().__new__(cls, a, b)",
        "1, 2, 3",
    ),
    "date": (
        "class K(datetime.date):\n def __new__(cls, a, b, c, d):",
        "super().__new__(cls, a, b, c)",
        "2020, 1, 2, 3",
    ),
    "datetime": (
        "class K(datetime.datetime):\n def __new__(cls, *, day):",
        "super().__new__(cls, 2020, 1, day)",
        "day=3",
    ),
    "timedelta": (
        "class K(datetime.timedelta):\n def __new__(cls, *, n):",
        "super().__new__(cls, days=n)",
        "n=3",
    ),
    "Decimal": (
        "class K(decimal.Decimal):\n def __new__(cls, a, b):",
        "super().__new__(cls, a)",
        "'1.10', 2",
    ),
    "Fraction": (
        "class K(fractions.Fraction):\n def __new__(cls, a):",
        "super().__new__(cls, a, 7)",
        "3",
    ),
    "namedtuple": (
        "class K(collections.namedtuple('P', 'x y')):\n def __new__(cls, x):",
        "super().__new__(cls, x, x)",
        "3",
    ),
    "list": ("class K(list):\n def __new__(cls, *given):", "super().__new__(cls)", "[1, 2]"),
    "dict": ("class K(dict):\n def __new__(cls, *given):", "super().__new__(cls)", "{1: 2}"),
}
"""The statement and the first line of `__new__`, what it makes, what it is given."""

FILLED = {
    "OrderedDict": ("collections.OrderedDict", "", ""),
    "defaultdict": ("collections.defaultdict", "list", "v['a'].append(1)"),
    "Counter": ("collections.Counter", "'aab'", ""),
    "deque": ("collections.deque", "[1, 2], 5", ""),
    "set": ("set", "[1, 2]", ""),
    "list": ("list", "[1, 2]", ""),
    "dict": ("dict", "[(1, 2)]", ""),
    "bytearray": ("bytearray", "b'ab'", ""),
    "a bunch": ("dict", "", "v.__dict__ = v; v['a'] = v; v['more'] = [5]"),
}
"""What a class derives from, what its `__init__` gives that, and what is done to the object."""


@pytest.mark.slow
@pytest.mark.parametrize("base", MADE)
def test_no_new_of_the_notebook_is_called(auto: Any, base: str) -> None:
    first, made, given = MADE[base]
    run(
        auto,
        "import collections, datetime, decimal, fractions\n"
        f"{first}\n  cls.made.append(1); self = {made}\n  self.more = [5]; return self\n"
        f"K.made = []\nv = K({given}); w = [v]",
    )
    text = repr(auto.user_ns["v"])

    assert refusals() == {}
    back = resumed(auto)
    assert (repr(back["v"]), back["v"].more) == (text, [5])
    assert type(back["v"]) is back["K"]
    assert back["w"][0] is back["v"]
    assert back["K"].made == [1]


@pytest.mark.parametrize("base", FILLED)
def test_no_init_of_the_notebook_is_called(auto: Any, base: str) -> None:
    kind, given, after = FILLED[base]
    run(
        auto,
        f"import collections\nclass K({kind}):\n made = []\n"
        f" def __init__(self, a, b):\n  self.made.append(1); super().__init__({given})\n"
        f"  self.more = [b]\nv = K(1, 5)\n{after}",
    )
    text = repr(auto.user_ns["v"])

    assert refusals() == {}
    back = resumed(auto)
    assert repr(back["v"]) == text
    assert back["v"].more == [5]
    assert getattr(back["v"], "maxlen", None) == (5 if base == "deque" else None)
    assert back["K"].made == [1]


@pytest.mark.slow
def test_the_order_of_an_ordered_dict_with_its_own_ways_comes_back(auto: Any) -> None:
    run(
        auto,
        """
        from collections import OrderedDict
        class K(OrderedDict):
            def __setitem__(self, key, value):
                taken.append(key)
                super().__setitem__(key, value)
        taken = []
        v = K(a=1, b=2, c=3); v.move_to_end("a")
        """,
    )

    assert refusals() == {}
    back = resumed(auto)
    assert (list(back["v"]), back["taken"]) == (["b", "c", "a"], ["a", "b", "c"])
    assert back["v"].popitem(last=False) == ("b", 2)


@pytest.mark.slow
def test_a_class_that_says_how_it_is_pickled_is_called(auto: Any) -> None:
    run(
        auto,
        """
        class K(float):
            made = 0
            def __new__(cls, v, unit):
                K.made += 1
                self = super().__new__(cls, v); self.unit = unit; return self
            def __getnewargs__(self): return float(self), self.unit
        v = [K(1.5, "C")]
        """,
    )

    back = resumed(auto)
    assert (back["v"][0].unit, back["K"].made) == ("C", 2)


@pytest.mark.slow
def test_generic_models_are_those_that_pydantic_makes_of_the_same_parameters(auto: Any) -> None:
    run(
        auto,
        """
        from typing import Generic, TypeVar
        from pydantic import BaseModel
        A = TypeVar("A"); B = TypeVar("B")
        class Pair(BaseModel, Generic[A, B]):
            a: A
            b: B
        class Holder(BaseModel):
            pairs: list[Pair[int, str]]
        p = Pair[int, str](a=1, b="x"); h = Holder(pairs=[p]); kind = Pair[int, str]
        class Half(Pair[int, B], Generic[B]): pass
        half = Half[float](a=1, b=2.0)
        """,
    )

    assert refusals() == {}
    back = resumed(auto)
    pair, half = back["Pair"], back["Half"]
    assert type(back["p"]) is back["kind"] is pair[int, str] is type(back["h"].pairs[0])
    assert type(back["half"]) is half[float]
    assert issubclass(half, pair)
    assert back["Holder"](pairs=[back["p"]]) == back["h"]


@pytest.mark.slow
def test_what_is_made_so_and_answers_for_every_attribute_is_asked_for_none(auto: Any) -> None:
    run(
        auto,
        """
        class Wrapper:
            def __new__(cls, it): return super().__new__(cls)
            def __init__(self, it): self.it = it
            def __getattr__(self, name): return getattr(self.it, name)
        class Own(float):
            def __new__(cls, it, unit): self = super().__new__(cls, it); self.unit = unit; return self
            def __getattr__(self, name): return getattr(self.unit, name)
        v = [Wrapper([1]), Own(2, "m")]
        """,
    )

    assert refusals() == {}
    back = resumed(auto)["v"]
    assert (back[0].index(1), back[1], back[1].upper()) == (0, 2.0, "M")


def test_an_instance_of_a_plain_class_is_left_to_c() -> None:
    kind = type("Plain", (), {"__init__": lambda self: None, "__module__": "__main__"})

    assert reducer_for(kind) is None


@pytest.mark.slow
def test_slots_that_nobody_is_to_set_come_back(auto: Any) -> None:
    run(
        auto,
        """
        class Point:
            __slots__ = ("x", "__y", "own")
            def __init__(self, x, y):
                for name, value in zip(("x", "_Point__y"), (x, y)):
                    object.__setattr__(self, name, value)
                object.__setattr__(self, "own", self)
            def __setattr__(self, name, value): raise AttributeError(name)
            y = property(lambda self: self.__y)
        class Named(Point):
            def __init__(self, x, y): super().__init__(x, y); self.__dict__["name"] = [x]
        p, n = Point(1, [2]), Named(3, 4)
        """,
    )

    assert refusals() == {}
    back = resumed(auto)
    p, n = back["p"], back["n"]
    assert (p.x, p.y, p.own is p) == (1, [2], True)
    assert (n.x, n.y, n.own is n, n.name) == (3, 4, True, [3])
    with pytest.raises(AttributeError):
        p.x = 2


def test_groups_of_exceptions_that_are_made_of_more_come_back(auto: Any) -> None:
    run(
        auto,
        """
        class Several(ExceptionGroup):
            def __new__(cls, message, found, code):
                self = super().__new__(cls, message, found)
                self.code = code
                return self
            def derive(self, found): return Several(self.message, found, self.code)
        several = Several("two", [ValueError(1), Several("one", [TypeError(2)], [4])], [3])
        """,
    )

    assert refusals() == {}
    back = resumed(auto)["several"]
    assert (back.message, back.code, back.exceptions[1].code) == ("two", [3], [4])
    assert back.split(TypeError)[0].code == [3]
