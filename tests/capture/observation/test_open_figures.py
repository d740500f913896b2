"""Figures that pyplot alone holds, after moves."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture.observation.kernels import run_passes

BEGIN = "import matplotlib; matplotlib.use('agg')\nimport matplotlib.pyplot as plt"
FIGURE = "_ = plt.figure(7); _ = plt.plot([1, 2])"
NAMED = "figure 7 of pyplot, which no variable holds: run the cell that draws it"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cells", "is_named"),
    [
        ([FIGURE], True),
        ([FIGURE, "_ = plt.plot([3, 4])"], True),
        ([f"fig = plt.figure(7); {FIGURE}"], False),
        ([f"{FIGURE}; axes = {{'a': [plt.gca()]}}"], False),
        ([f"{FIGURE}; rows = [*({{'n': n}} for n in range(900)), [plt.gca()]]"], False),
        ([f"{FIGURE}; rows = [{{'n': n, 'of': [n]}} for n in range(5000)]"], True),
        ([FIGURE, "plt.close(7)"], False),
        ([f"fig = []; fig.append(fig); {FIGURE}"], True),
    ],
)
def test_a_resume_names_figures_that_no_variable_holds(
    cells: list[str], is_named: bool, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    run_passes(tmp_path, [BEGIN, *cells, "z = 1"], probe="1")

    got = run_passes(tmp_path, ["%resume"], probe="1")

    assert (NAMED in got.said) == is_named


@pytest.mark.parametrize(
    ("then", "is_named"),
    [("_ = plt.plot([3, 4])", True), ("plt.gca().lines[0].set_ydata([5, 9])", False),
     ("plt.close('all')", True), ("x = 5", False)],
)  # fmt: skip
def test_a_rewind_names_a_figure_that_was_drawn_on_since(
    then: str, is_named: bool, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    cells = [BEGIN, FIGURE, "%checkpoint here", then, "%rewind here"]

    got = run_passes(tmp_path, cells, probe="1")

    assert (NAMED in got.said) == is_named
