"""What the notebook's `__init_subclass__` and metaclasses write is written once, as in plain."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbckpt.codecs import class_making
from tests.capture.observation.kernels import run

LISTING = """\
class Plugin:
    subs = []
    def __init_subclass__(cls, **k):
        super().__init_subclass__(**k)
        Plugin.subs.append(cls.__name__)"""
REGISTERING = """\
registry = {}
class Plugin:
    def __init_subclass__(cls, **k):
        super().__init_subclass__(**k)
        registry[cls.__name__] = cls"""
HOLDING = """\
class Plugin:
    subs = []
    def __init_subclass__(cls, **k): Plugin.subs.append(cls)"""
META = """\
registry, made, begun = {}, [], []
class Meta(type):
    @classmethod
    def __prepare__(meta, name, bases):
        begun.append(name)
        return {}
    def __new__(meta, name, bases, body):
        registry[name] = cls = super().__new__(meta, name, bases, body)
        return cls
    def __init__(cls, name, bases, body):
        made.append(name)
    def __setattr__(cls, name, value):
        made.append(name)
        super().__setattr__(name, value)
class Plugin(metaclass=Meta): pass"""
COUNTING = """\
class Meta(type):
    made = []
    def __init__(cls, name, bases, body):
        Meta.made.append(name)
class Plugin(metaclass=Meta): pass"""
ABSTRACT = """\
import abc
registry = {}
class Meta(abc.ABCMeta):
    def __new__(meta, *given):
        registry[given[0]] = cls = super().__new__(meta, *given)
        return cls
class Plugin(metaclass=Meta):
    @abc.abstractmethod
    def m(self): pass"""
GENERIC = """\
import typing
T = typing.TypeVar('T')
registry = {}
class Plugin(typing.Generic[T]):
    def __init_subclass__(cls, **k):
        super().__init_subclass__(**k)
        registry[cls.__name__] = cls"""
ENUM = """\
import enum
registry = {}
class Plugin(enum.Enum):
    def __init_subclass__(cls, **k):
        super().__init_subclass__(**k)
        registry[cls.__name__] = cls"""
SLOTTED = REGISTERING.replace("class Plugin:", "class Plugin:\n    __slots__ = ('p',)")
NAMED = """\
registry = []
class Field:
    def __set_name__(self, owner, name): registry.append((owner.__name__, name))
class Plugin: pass"""
COUNTED = "[Meta.made, type(A) is type(Plugin) is Meta, B.__mro__[1:-1] == (A, Plugin)]"
IN_C = """\
import ctypes
registry = {}
class Meta(type(ctypes.Structure)):
    def __new__(meta, *given):
        registry[given[0]] = cls = super().__new__(meta, *given)
        return cls
class Plugin(ctypes.Structure, metaclass=Meta): pass"""
SAME = "registry['A'] is A and registry['B'] is B and list(registry)"

NOTEBOOKS = {
    "list": (
        LISTING,
        "class A(Plugin): pass",
        "class B(A): pass",
        "[Plugin.subs, B.__mro__[1:-1] == (A, Plugin)]",
    ),
    "metaclass that counts": (COUNTING, "class A(Plugin): pass", "class B(A): pass", COUNTED),
    "list of classes": (
        HOLDING,
        "class A(Plugin): pass",
        "class B(A): pass",
        "[Plugin.subs == [A, B], Plugin.__subclasses__() == [A], A.__subclasses__() == [B]]",
    ),
    "registry": (REGISTERING, "class A(Plugin): pass", "class B(A): pass", SAME),
    "metaclass": (
        META,
        "class A(Plugin): pass",
        "class B(A): pass",
        f"[{SAME}, made, begun, type(B) is Meta]",
    ),
    "abstract": (
        ABSTRACT,
        "class A(Plugin): pass",
        "class B(A):\n    def m(self): pass",
        f"[{SAME}, A.__abstractmethods__ == {{'m'}}, isinstance(B(), Plugin)]",
    ),
    "generic": (
        GENERIC,
        "class A(Plugin[T]): pass",
        "class B(A[int]): pass",
        f"[{SAME}, str(B.__orig_bases__), A.__parameters__ == (T,)]",
    ),
    "metaclass in C": (
        IN_C,
        "class A(Plugin):\n    _fields_ = [('x', ctypes.c_int)]",
        "class B(A):\n    _fields_ = [('y', ctypes.c_byte)]",
        f"[{SAME}, ctypes.sizeof(B), B(1, 2).y]",
    ),
    "enum": (
        ENUM,
        "class A(Plugin):\n    x = 1\n    y = 1",
        "class B(Plugin):\n    z = A.x.value",
        f"[{SAME}, list(A.__members__), B(1).name]",
    ),
    "slots": (
        SLOTTED,
        "class A(Plugin):\n    __slots__ = ('a',)",
        "class B(A):\n    __slots__ = ()\n    def f(self): return super().__slots__",
        f"[{SAME}, hasattr(B(), '__dict__'), B().f()]",
    ),
    "set_name": (
        NAMED,
        "class A(Plugin):\n    x = Field()",
        "class B(A):\n    y = Field()",
        "registry",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS.values(), ids=NOTEBOOKS)
def test_what_classes_write_elsewhere_is_written_once(
    notebook: tuple[str, ...], tmp_path: Path
) -> None:
    *cells, ask = notebook
    plain = run(tmp_path / "plain", cells, ask, mode="plain").value
    kept = tmp_path / "kept"
    for _ in range(3):
        again = run(kept, cells, ask, mode="skip")
        assert again.errors == []
        assert again.value == plain
        assert "other than a cell" not in again.said
    # A class that is changed in place has others hold it, which may make a step run.
    assert again.restored == [0, 1, 2] or notebook == NOTEBOOKS["metaclass that counts"]
    resumed = run(kept, ["%resume"], ask, mode="skip")
    assert resumed.value == plain
    assert "did not come back" not in resumed.said


@pytest.mark.parametrize("name", ["list", "registry", "metaclass", "metaclass that counts"])
def test_going_back_writes_nothing_twice(name: str, tmp_path: Path) -> None:
    *cells, ask = NOTEBOOKS[name]
    plain = run(tmp_path / "plain", cells, ask, mode="plain").value
    moved = [*cells, "%rewind cell-c1", "%rewind -"]
    done = run(tmp_path / "kept", moved, ask, mode="skip")
    assert done.errors == []
    assert done.value == plain


def test_an_edited_subclass_is_told_to_the_hook_once(tmp_path: Path) -> None:
    *cells, ask = NOTEBOOKS["registry"]
    run(tmp_path, cells, ask, mode="skip")
    edited = [*cells[:2], "class B(A): more = 1\nclass C(B): pass"]
    done = run(tmp_path, edited, f"{SAME}, registry['C'] is C, B.more", mode="skip")
    assert done.errors == []
    assert done.value == [["A", "B", "C"], True, 1]
    assert done.restored == [0, 1]


def test_hooks_stand_again_after_a_class_was_made() -> None:
    seen = []

    class Base:
        def __init_subclass__(cls, **kwargs: object) -> None:
            seen.append(cls.__name__)

    hook = vars(Base)["__init_subclass__"]
    order = list(vars(Base))
    made = class_making.make_class(type, "Made", (Base,), {"__module__": "__main__"})
    assert seen == []
    assert made.__mro__ == (made, Base, object)
    with pytest.raises(TypeError, match=r"lay-out|layout"):
        class_making.make_class(type, "Made", (Base, int, str), {})
    assert vars(Base)["__init_subclass__"] is hook
    assert list(vars(Base)) == order
    type("Other", (Base,), {})
    assert seen == ["Other"]


COUNTING = """\
class T:
    live = []
    def __new__(cls):
        T.live.append(1)
        return super().__new__(cls)"""
ONE = """\
class S:
    one = None
    def __new__(cls):
        if cls.one is None:
            cls.one = super().__new__(cls)
        return cls.one"""
WITH_NEW = {
    "a count": ([COUNTING, "x = T()", "n = len(T.live)"], "n, len(T.live)"),
    "a count of a base": ([COUNTING, "class X(T): pass", "x = X()", "n = len(T.live)"], "n, T.live"),
    "a singleton": ([ONE, "x = S()", "y = S()"], "x is y is S.one is S()"),
    "a list": (
        ["class L(list):\n    made = []\n    def __new__(cls, *a):\n        L.made.append(1)\n"
         "        return super().__new__(cls)", "x = L([1, 2])", "n = len(L.made)"],
        "n, L.made, x",
    ),
    "attributes": (
        ["class A:\n    def __new__(cls, *a):\n        self = super().__new__(cls)\n"
         "        self.made = True\n        return self", "x = A(); x.k = 1"],
        "vars(x)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("again", [False, True], ids=["new kernel", "same kernel"])
@pytest.mark.parametrize(("cells", "ask"), WITH_NEW.values(), ids=WITH_NEW)
def test_instances_come_back_without_new(
    cells: list[str], ask: str, again: bool, tmp_path: Path
) -> None:
    twice = cells * 2 if again else cells
    plain = run(tmp_path / "plain", twice, f"repr([{ask}])", mode="plain")
    run(tmp_path / "kept", cells, ask, mode="skip")

    answer = run(tmp_path / "kept", twice, f"repr([{ask}])", mode="skip")

    assert answer.errors == []
    assert answer.value == plain.value
