"""A value whose code raises what is no `Exception`, such as a panic, costs itself alone."""

from __future__ import annotations

from typing import Any

import pandas  # noqa: F401  # with it more is looked at
import pytest

from nbckpt.runtime.user_code_errors import user_code_errors, user_code_errors_ignored
from tests.notebooks import refusals, resumed, run

PLACES = {
    "to be pickled": "def __reduce_ex__(self, protocol): panic()",
    "to tell its state": "def __getstate__(self): panic()",
    "to be loaded": "def __setstate__(self, state): panic()",
    "its class": "__class__ = property(panic)",
    "its dict": "__dict__ = property(panic)",
    "an attribute that it has not": "def __getattr__(self, name): panic()",
    "any attribute": "def __getattribute__(self, name): panic()",
    "its text": "def __repr__(self): panic()",
    "its hash": "def __hash__(self): panic()",
    "its truth": "def __bool__(self): panic()",
    "its length": "def __len__(self): panic()",
    "its elements": "def __iter__(self): panic()",
    "equality": "def __eq__(self, other): panic()\n    __hash__ = object.__hash__",
    "its copy": "def __deepcopy__(self, memo): panic()",
    "as an array": "def __array__(self, *a, **k): panic()",
    "its class's instances": "@classmethod\n    def __instancecheck__(cls, x): panic()",
    "its metaclass": "pass\nclass M(type):\n    def __getattr__(cls, name): panic()\n"
    "class V(V, metaclass=M): pass",
}


@pytest.mark.parametrize("what", PLACES)
def test_a_value_that_panics_costs_itself_alone(
    what: str, shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, "%nbckpt auto on")
    source = (
        "class Panic(BaseException): pass\ndef panic(*a): raise Panic('lost')\n"
        f"class V:\n    {PLACES[what]}\nv = V()\nkept = [1]"
    )

    run(shell, source)
    run(shell, "after = 2")
    run(shell, "inside = [v]\nkept.append(3)")
    run(shell, "%nbckpt log")
    run(shell, "%nbckpt check")

    told = capsys.readouterr()
    assert "defect" not in told.out + told.err
    assert "Traceback" not in told.out + told.err
    namespace = resumed(shell)
    assert (namespace["kept"], namespace["after"]) == ([1, 3], 2)


def test_a_frame_at_which_polars_panics_is_refused_by_name(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("polars")
    run(shell, "%nbckpt auto on")
    run(shell, "import polars as pl\nv = pl.DataFrame({'x': [1, 2], 't': ['a', 'b']})\nkept = [1]")
    run(shell, "v.insert_column(0, v['x'].alias('y')); v.replace_column(0, v['x'] * 2)")
    run(shell, "after = 2")

    assert "duplicate" in refusals()["v"]
    assert "defect" not in capsys.readouterr().out
    namespace = resumed(shell)
    assert (namespace["kept"], namespace["after"]) == ([1], 2)


ODD_CLASSES = {
    "no module": "class E(BaseException): __module__ = None",
    "a module that is a number": "class E(BaseException): __module__ = 5",
    "a metaclass that compares with nothing": (
        "class M(type):\n    def __eq__(cls, other): 1 / 0\n    __hash__ = type.__hash__\n"
        "class E(BaseException, metaclass=M): pass"
    ),
    "a metaclass that tells nothing": (
        "class M(type):\n    def __getattribute__(cls, name):\n"
        "        if name == '__module__': 1 / 0\n        return type.__getattribute__(cls, name)\n"
        "class E(BaseException, metaclass=M): pass"
    ),
}


@pytest.mark.parametrize("what", ODD_CLASSES)
def test_an_odd_class_of_errors_is_no_reason_to_keep_nothing(
    what: str, shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, "%nbckpt auto on")
    run(shell, f"{ODD_CLASSES[what]}\nkept = [1]")
    run(shell, "class V:\n    def __reduce__(self): raise ValueError('no')\nv = V()")
    run(shell, "kept.append(2)")

    told = capsys.readouterr()
    assert "Traceback" not in told.out + told.err
    assert user_code_errors()
    assert resumed(shell)["kept"] == [1, 2]


def test_what_is_about_the_process_goes_through() -> None:
    class Own(BaseException):
        pass

    for kind in (KeyboardInterrupt, __import__("asyncio").CancelledError):
        assert not issubclass(kind, user_code_errors())
        with pytest.raises(kind), user_code_errors_ignored():
            raise kind
    for kind in (Own, SystemExit, GeneratorExit, ValueError):
        assert issubclass(kind, user_code_errors())
        with user_code_errors_ignored():
            raise kind
