"""Many cells run in one go on a fork's branch: what was given by hand stays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kernels import Kernel, Ran

CELLS = (
    "%%checkpoint load\nrows = [1, 2]",
    "n_trees = 30",
    "%%checkpoint train\nmodel = rows * n_trees",
)


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        for cell in CELLS:
            kernel.run(cell)
        yield kernel


def run_all(kernel: Kernel, *cells: str) -> list[Ran]:
    """As a front end does: all are sent before the first has ended."""
    sent = [kernel.send(cell) for cell in ("pass", *cells)]
    return [kernel.collect(request) for request in sent][1:]


def test_a_cell_that_only_binds_what_was_given_is_left_out(kernel: Kernel) -> None:
    kernel.run("%fork load try n_trees=3")

    ran = run_all(kernel, *CELLS)

    assert kernel.value("(n_trees, len(model))") == "(3, 6)"
    (told,) = [notice for notice in ran[1].notices if "left out" in notice]
    assert told.startswith("nbckpt: left out, as n_trees was given by hand at 'load' (")
    again = run_all(kernel, *CELLS)
    assert kernel.value("(n_trees, len(model))") == "(3, 6)"
    assert any("restored" in notice for notice in again[2].notices)


def test_who_runs_it_by_itself_wants_it(kernel: Kernel) -> None:
    kernel.run("%fork load try n_trees=3")
    kernel.run("rows")
    kernel.run("import time; time.sleep(0.3)")

    import time

    time.sleep(0.5)
    kernel.run(CELLS[1])

    assert kernel.value("n_trees") == "30"
    run_all(kernel, *CELLS)
    assert kernel.value("(n_trees, len(model))") == "(30, 60)", "it is not given any more"


def test_an_edited_cell_is_meant(kernel: Kernel) -> None:
    kernel.run("%fork load try n_trees=3")

    run_all(kernel, CELLS[0], "n_trees = 4", CELLS[2])

    assert kernel.value("(n_trees, len(model))") == "(4, 8)"


def test_a_cell_that_does_more_runs_and_says_so(kernel: Kernel) -> None:
    cells = (CELLS[0], "n_trees = 30\nseed = 1", CELLS[2])
    for cell in cells:
        kernel.run(cell)
    kernel.run("%fork load try n_trees=3")

    ran = run_all(kernel, *cells)

    assert kernel.value("(n_trees, seed)") == "(30, 1)"
    assert "nbckpt: this cell overwrites n_trees, given by hand" in ran[1].notices


def test_in_a_new_kernel_the_value_comes_from_where_it_was_given(tmp_path: Path) -> None:
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        for cell in CELLS:
            kernel.run(cell)
        kernel.run("%fork load try n_trees=3")
        run_all(kernel, *CELLS)
        kernel.kill()
    with Kernel(tmp_path) as kernel:
        run_all(kernel, "%load_ext nbckpt", *CELLS)

        assert kernel.value("(n_trees, len(model))") == "(3, 6)"
        assert "try" in kernel.value("__import__('nbckpt').get('train').branch")


def test_on_another_branch_it_runs(kernel: Kernel) -> None:
    kernel.run("%fork load try n_trees=3")
    kernel.run("%switch main")

    run_all(kernel, *CELLS)

    assert kernel.value("(n_trees, len(model))") == "(30, 60)"


def test_what_a_cell_bound_since_is_not_given_any_more(kernel: Kernel) -> None:
    kernel.run("%fork load try n_trees=3")
    kernel.run("n_trees = 50")

    ran = run_all(kernel, *CELLS)

    assert not any("left out" in notice for notice in ran[1].notices)
    assert kernel.value("(n_trees, len(model))") == "(30, 60)"


@pytest.mark.parametrize("marker", ["", "%%checkpoint added\n"])
def test_what_was_changed_in_place_is_as_it_was_given(kernel: Kernel, marker: str) -> None:
    cells = (CELLS[0], "opts = ['a']", f"{marker}opts.append('b')")
    for cell in cells:
        kernel.run(cell)
    kernel.run("%fork load try opts=['z']")

    for _ in range(2):
        run_all(kernel, *cells)

    assert kernel.value("opts") == "['z', 'b']"


def test_what_cells_make_of_it_still_is_the_given_one(kernel: Kernel) -> None:
    cells = (*CELLS[:2], "n_trees = n_trees * 10", CELLS[2])
    run_all(kernel, *cells)
    kernel.run("%fork load try n_trees=3")

    for _ in range(2):
        run_all(kernel, *cells)

        assert kernel.value("(n_trees, len(model))") == "(30, 60)"


def test_a_given_value_that_could_not_be_kept_stays(kernel: Kernel) -> None:
    cells = (CELLS[0], "n = None", "%%checkpoint train\nmodel = str(type(n))")
    run_all(kernel, *cells)
    kernel.run("%fork load try n=(i for i in rows)")

    for _ in range(2):
        run_all(kernel, *cells)

        assert (
            kernel.value("(type(n).__name__, model)") == """('generator', "<class 'generator'>")"""
        )
