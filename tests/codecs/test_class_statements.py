"""Classes that are made by their statements, and what such a statement must not hide."""

from __future__ import annotations

from typing import Any

import pytest

from tests.notebooks import refusals, resumed, run

pytest.importorskip("msgspec")


def test_what_the_statement_read_is_as_it_was(auto: Any) -> None:
    run(auto, "import msgspec\nD = 5")
    run(
        auto,
        "class P(msgspec.Struct):\n    x: int = D\n    def twice(self): return k * self.x\nk = 2",
    )
    run(auto, "p = P()")

    p = resumed(auto)["p"]

    assert (p.x, p.twice(), type(p) is auto.user_ns["P"]) == (5, 10, True)
    assert p.twice.__func__.__globals__ is auto.user_ns
    run(auto, "%nbckpt auto on")
    run(auto, "q = P(x=7)")  # it is kept again, of a process that never ran its cell
    assert resumed(auto)["q"].x == 7


@pytest.mark.parametrize("change", ["D = 7", "P.extra = 3", "setattr(P, 'extra', 3)"])
def test_a_class_that_was_changed_since_is_refused(change: str, auto: Any) -> None:
    run(auto, "import msgspec\nD = 5\nclass P(msgspec.Struct):\n    x: int = D\nother = [1]")
    before = refusals()
    try:
        run(auto, change)
    except Exception:  # msgspec may refuse it
        return
    run(auto, "P")

    assert before == {}
    assert "since its class statement" in refusals()["P"]
    assert resumed(auto)["other"] == [1]


@pytest.mark.slow
def test_annotations_that_are_texts_stay_texts(auto: Any) -> None:
    run(auto, "from __future__ import annotations\nimport msgspec")
    run(auto, "class N(msgspec.Struct):\n    v: int\n    next: N | None = None\nn = N(1, N(2))")

    assert refusals() == {}
    assert resumed(auto)["n"].next.v == 2
