"""What a cell changes through IPython's tables of results is kept of the variable that has it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.notebooks import resumed, run


@pytest.mark.slow
def test_what_is_changed_through_another_name_of_the_results_is_kept(auto: Any) -> None:
    run(auto, "class P:\n    def __init__(self, n): self.n = n\nresults = Out")
    run(auto, "objects = [P(n) for n in range(3000)]")
    run(auto, "objects[0]")

    run(auto, "results[3].n = 1000")

    assert resumed(auto)["objects"][0].n == 1000


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        "Out[2].n = 1000",
        "_oh[2].n = 1000",
        "list(Out.values())[0].n = 1000",
        "def g(): Out[2].n = 1000\ng()",
        "_2.n = 1000",
        "o = Out\n---\no[2].n = 1000",
        "import collections; Out = collections.UserDict(Out)\n---\nOut[2].n = 1000",
        "class D(dict): pass\nOut = D(Out)\n---\nOut[2].n = 1000",
    ],
)
def test_what_a_cell_changes_through_the_results_is_kept(auto: Any, change: str) -> None:
    run(
        auto,
        "class P:\n    def __init__(self, n): self.n = n\nobjects = [P(n) for n in range(3000)]",
    )
    run(auto, "objects[0]")
    assert auto.user_ns["Out"][2] is auto.user_ns["objects"][0]

    for cell in change.split("\n---\n"):
        run(auto, cell)

    assert resumed(auto)["objects"][0].n == 1000
