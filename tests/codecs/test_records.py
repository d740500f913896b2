"""Elements of arrays with fields stay on the memory of their array."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture.observation.kernels import run

FIELDS = "dtype=[('x', 'f8'), ('n', 'i4')]"
MADE = {
    "rows": f"r = np.zeros(3, {FIELDS})\nrow = r[1]",
    "records": f"r = np.zeros(3, {FIELDS}).view(np.recarray)\nrow = r[2]",
    "backwards": f"r = np.zeros((2, 3), {FIELDS})[:, ::-1]\nrow = r[1, 2]",
    "objects": "r = np.zeros(2, [('x', object)])\nrow = r[1]",
    "no axes": f"r = np.zeros((), {FIELDS})\nrow = r[()]",
    "one field": f"q = np.zeros(4, {FIELDS}); r = q[['x']]\nrow = q[3]",
    "no array": f"row = np.zeros(2, {FIELDS})[1]\nr = row",
}


@pytest.mark.slow
@pytest.mark.parametrize("text", MADE.values(), ids=MADE)
def test_what_is_written_to_one_is_in_the_other(tmp_path: Path, text: str) -> None:
    reader = "y = [str(r.tolist()), str(row.tolist())]"
    cells = ["import numpy as np", *text.split("\n"), "row['x'] = 4", reader]
    edited = [*cells[:3], "row['x'] = 5", reader]
    plain = [run(tmp_path / "plain", some, "y", mode="plain").value for some in (cells, edited)]
    run(tmp_path, cells, "y", mode="skip")

    again = run(tmp_path, cells, "y", mode="skip")
    answer = run(tmp_path, edited, "y", mode="skip")

    assert [again.value, answer.value] == plain
    assert [again.restored, answer.restored] == [[0, 1, 2, 3, 4], [0, 1, 2]]


def test_a_class_of_a_module_that_nobody_imported_is_that_class(tmp_path: Path) -> None:
    cells = ["import numpy as np", f"r = np.zeros(3, {FIELDS}).view(np.recarray)"]
    run(tmp_path, cells, "1", mode="skip")

    answer = run(tmp_path, [*cells, "row = r[2]"], "type(r) is np.recarray", mode="skip")

    assert (answer.value, answer.errors, answer.restored) == (True, [], [0, 1])
