"""What is told of two figures: what one sees of them, not what they are made of."""

from __future__ import annotations

import pickle
import weakref
from typing import Any

import pytest

from nbckpt.reports.diff.details import Detail, Limits
from nbckpt.reports.diff.families import detail

pytest.importorskip("matplotlib")


def told(before: object, after: object) -> Detail:
    return detail(before, after, Limits())


def drawn() -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4, 3))
    axes = figure.subplots()
    axes.plot([1, 2, 3])
    axes.set_title("loss")
    return figure


def test_of_figures_titles_limits_and_lines_are_told() -> None:
    before, after = drawn(), drawn()
    after.axes[0].plot([2, 3, 9])
    after.axes[0].set_title("accuracy")

    rows = {row.path: row[1:] for row in told(before, after).rows}

    assert rows[".axes[0].title"] == ("'loss'", "'accuracy'")
    assert rows[".axes[0].lines[1]"] == ("", "matplotlib.Line2D: 3 points")
    assert set(rows) == {
        *(f".axes[0].ylim[{i}]" for i in (0, 1)),
        *list(rows)[:1],
        *list(rows)[-1:],
    }
    assert not told(before.axes, after.axes).is_same


def test_data_of_a_line_is_compared() -> None:
    before, after = drawn(), drawn()
    after.axes[0].lines[0].set_ydata([1, 2, 2.5])

    found = told(before.axes[0], after.axes[0])

    assert [row.path for row in found.rows] == [".lines[0].ydata"]


def test_a_figure_that_came_back_is_not_said_to_be_compared_as_a_whole() -> None:
    before = drawn()

    found = told(before, pickle.loads(pickle.dumps(before)))

    assert (found.rows, found.is_same) == ((), False)
    assert found.summary == "no difference found in titles, labels, limits, colors and data"


def test_no_address_of_a_weak_reference_is_told() -> None:
    class Held:
        pass

    one, other = Held(), Held()

    found = told(
        [weakref.ref(one), weakref.WeakSet({one}), 1],
        [weakref.ref(other), weakref.WeakSet({one}), 2],
    )

    assert [row.path for row in found.rows] == ["[2]"]
