"""A cell that changes a part of a value changes another part after an edit: with an equal value."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture.observation.kernels import run

PARTS = {
    "a row of a list": ("M = [[0, 0], [0, 0], [0, 0]]", "r = M[{}]", "r[0] = 5", "M", "12"),
    "a slice of an array": (
        "import numpy as np\nM = np.zeros(6)", "r = M[{}:{}+2]", "r[:] = 5", "M.tolist()", "02",
    ),
    "a row of an array": (
        "import numpy as np\nM = np.zeros((3, 2))", "r = M[{}]", "r[0] = 5", "M.tolist()", "12",
    ),
    "an object in a list": (
        "class C: n = 0\nM = [C(), C()]", "r = M[{}]", "r.n = 5", "[c.n for c in M]", "01",
    ),
    "a part that an attribute holds": (
        "class C: pass\nM = [[0], [0]]\nc = C()", "c.r = M[{}]", "c.r[0] = 5", "M", "01",
    ),
    "a key of a dict": ("M = {{'a': [0], 'b': [0]}}", "r = M['{}']", "r.append(1)", "M", "ab"),
    "a column": (
        "import pandas as pd\nM = {{'a': pd.Series([0, 0]), 'b': pd.Series([0, 0])}}",
        "r = M['{}']", "r[0] = 5", "{k: s.tolist() for k, s in M.items()}", "ab",
    ),
}  # fmt: skip
"""A whole, a part of it, a change of the part, a question, and two places of the part."""


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", PARTS)
@pytest.mark.parametrize("cells_of_change", [1, 2])
def test_the_part_that_is_meant_now_is_changed(
    tmp_path: Path, kind: str, cells_of_change: int
) -> None:
    whole, part, change, ask, (one, other) = PARTS[kind]
    begin = [whole.replace("{{", "{").replace("}}", "}")]
    end = [f"{change}\ny = {ask}"] if cells_of_change == 1 else [change, f"y = {ask}"]
    first = [*begin, part.replace("{}", one), *end]
    edited = [*begin, part.replace("{}", other), *end]
    run(tmp_path, first, "y", mode="skip")

    answer = run(tmp_path, edited, "y", mode="skip")
    again = run(tmp_path, edited, "y", mode="skip")

    assert answer.value == run(tmp_path / "plain", edited, "y", mode="plain").value
    assert again.value == answer.value
    assert again.restored == list(range(len(edited))), again.said


def test_which_part_it_is_is_seen_by_a_question(tmp_path: Path) -> None:
    cells = ["M = [[0], [0]]", "r = M[{}]", "y = [r is one for one in M]"]
    run(tmp_path, [c.format(0) for c in cells], "y", mode="skip")

    answer = run(tmp_path, [c.format(1) for c in cells], "y", mode="skip")

    assert answer.value == [False, True]
