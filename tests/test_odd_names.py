"""A name that nobody can write, a clock that tells no time, a class that compares with nothing."""

from __future__ import annotations

import time
from typing import Any

import pytest

from nbckpt.session.session import Session
from nbckpt.steps import current_session
from tests.notebooks import resumed, run

ODD = {
    "a number": ("globals()[1] = 2", "1"),
    "nothing": ("globals().update({'': 3})", "''"),
    "a tuple": ("globals()[('x', 1)] = 2", "('x', 1)"),
    "half a character": (r"globals()['a\ud800'] = 2", r"'a\ud800'"),
}
HARMLESS = {
    "a clock that says NaN": "import time\nown = time.time\ntime.time = lambda: float('nan')",
    "a clock that raises": "import time\nown = time.time\ndef broken(): 1 / 0\ntime.time = broken",
    "a metaclass whose == raises": (
        "class M(type):\n    def __eq__(cls, other): raise ValueError('no')\n"
        "    __hash__ = type.__hash__\nclass C(metaclass=M): pass\nv = C()"
    ),
    "a list that never ends": (
        "class L(list):\n    def __iter__(self):\n        while True: yield 1\nv = L([1])"
    ),
}


@pytest.mark.parametrize("what", ODD)
def test_an_odd_name_is_refused_and_costs_nothing_else(what: str, shell: Any) -> None:
    source, name = ODD[what]
    run(shell, "%nbckpt auto on")
    try:
        run(shell, f"{source}\nkept = [1]")
        run(shell, "after = 2")
        refused = {r.variable: r.reason for r in current_session.session().capturer.refusals()}
    finally:
        for key in [k for k in shell.user_ns if type(k) is not str or not k.isidentifier()]:
            del shell.user_ns[key]

    assert set(refused) == {name}
    assert "no name that code can use" in refused[name] or "no code can use" in refused[name]
    namespace = resumed(shell)
    assert (namespace["kept"], namespace["after"]) == ([1], 2)
    run(shell, "%nbckpt log")
    run(shell, "%nbckpt check")


@pytest.mark.parametrize("what", HARMLESS)
def test_one_odd_thing_costs_itself_alone(
    what: str, shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    own = time.time
    run(shell, "%nbckpt auto on")
    try:
        run(shell, f"{HARMLESS[what]}\nkept = [1]")
        run(shell, "after = 2")
    finally:
        time.time = own

    assert "defect" not in capsys.readouterr().out
    namespace = resumed(shell)
    assert (namespace["kept"], namespace["after"]) == ([1], 2)


def test_a_variable_with_a_name_of_pythons_own_comes_back(session: Session) -> None:
    session.namespace["print"] = [1]
    session.checkpoint("own", sync=True)
    session.namespace["print"] = 2

    session.rewind("own")

    assert session.namespace["print"] == [1]
