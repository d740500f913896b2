"""How a variable came to be what it is: the steps that changed it, in numbers, and why."""

from __future__ import annotations

import io
import json
import math
import random
from collections.abc import Callable
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from nbckpt.errors import VariableNotFoundError
from nbckpt.reports.diff.details import Limits
from nbckpt.reports.diff.facts import Facts, facts_of
from nbckpt.reports.variable_history import history_of
from nbckpt.reports.variable_history.as_html import html_of
from nbckpt.reports.variable_history.history import statements_of
from nbckpt.reports.variable_history.points import Points
from nbckpt.session.checkpoint_view import Look
from nbckpt.session.session import Session

FRAME = {"x": [1.0, None, 3.0], "word": ["a", "b", None], "n": [1, 2, 6]}
TABLES: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame(FRAME),
    "polars": lambda: pl.DataFrame(FRAME),
    "pyarrow": lambda: pa.table(FRAME),
}
COLUMNS: dict[str, Callable[[list[Any]], Any]] = {
    "pandas": lambda values: pd.Series(values, dtype=float),
    "pandas that may be null": lambda values: pd.Series(values, dtype="Float64"),
    "polars": lambda values: pl.Series("x", values, dtype=pl.Float64),
    "pyarrow": lambda values: pa.array(values, pa.float64()),
    "numpy": lambda values: np.array([math.nan if v is None else v for v in values]),
    "list": lambda values: [math.nan if v is None else v for v in values],
}


@pytest.mark.parametrize("library", TABLES)
def test_a_table_is_told_by_rows_gaps_means_and_its_head(library: str) -> None:
    facts = facts_of(TABLES[library]())

    assert (facts.rows, facts.columns, facts.nulls) == (3, 3, 2)
    assert (facts.measure, facts.number) == ("rows", 3.0)
    assert facts.means == {"x": 2.0, "n": 3.0}
    assert facts.head[0] == ("x", "word", "n")
    assert facts.head[1][1:] == ("a", "1")
    assert len(facts.head) == 4


@pytest.mark.parametrize("library", COLUMNS)
def test_a_column_is_told_as_its_numbers_are(library: str) -> None:
    """Against the standard library's, on random numbers with gaps."""
    generator = random.Random(library)
    for _ in range(20):
        n = generator.randrange(1, 300)
        numbers = [generator.uniform(-5, 5) for _ in range(n)]
        gaps = set(generator.sample(range(n), n // 4))
        values = [None if i in gaps else v for i, v in enumerate(numbers)]
        known = [v for v in values if v is not None]

        facts = facts_of(COLUMNS[library](values))

        assert facts.rows == n
        assert (facts.nulls or 0) == len(gaps)
        assert facts.number == pytest.approx(fmean(known))
        assert (facts.low, facts.high) == (min(known), max(known))
        assert len(facts.series) == min(n, 64)
        assert (facts.series[0], facts.series[-1]) == (values[0], values[-1])
        if len(known) > 16:
            assert sum(facts.histogram) == len(known)


ODD: dict[str, Any] = {
    "nothing": None,
    "no rows": pd.DataFrame(),
    "a frame without columns": pd.DataFrame(index=[1, 2]),
    "two columns of one name": pd.DataFrame([[1, 2]], columns=["x", "x"]),
    "columns of any kind": pd.DataFrame([[1, 2]], columns=[("a", 1), None]),
    "categories": pd.Series(["a", "b"], dtype="category"),
    "times": pd.Series(pd.to_datetime(["2020-01-01", None])),
    "only gaps": pd.Series([math.nan, math.nan]),
    "infinity": np.array([math.inf, 1.0]),
    "huge": np.array([-1.7e308, 1.7e308] * 20),
    "a huge integer": 10**400,
    "complex": np.array([1j]),
    "no dimension": np.array(5.0),
    "objects": np.array([object()], dtype=object),
    "masked": np.ma.array([1.0, 2.0], mask=[True, False]),
    "no numbers": [[], "a"],
    "an empty list": [],
    "bytes": b"abc",
    "nested polars": pl.DataFrame({"x": [[1], [2]]}),
    "a struct of arrow": pa.array([{"a": 1}]),
    "a decimal of arrow": pa.array([1, 2], pa.decimal128(5, 2)),
    "no values of polars": pl.Series("x", [], dtype=pl.Float64),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_values_are_told_without_an_error_and_as_json(name: str) -> None:
    facts = facts_of(ODD[name])

    json.dumps(facts.as_record(), allow_nan=False)
    if name == "masked":
        assert facts.number == 2.0
    if name == "a decimal of arrow":
        assert facts.number == 1.5


class Loud(list):  # type: ignore[type-arg]
    def __len__(self) -> int:
        raise AssertionError("the user's code ran")

    __iter__ = __getitem__ = __len__  # type: ignore[assignment]


def test_no_code_of_the_users_runs() -> None:
    assert facts_of(Loud([1, 2])) == Facts()


def test_a_large_array_is_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    from nbckpt.reports.diff import facts

    monkeypatch.setattr(facts, "MOST_ELEMENTS", 1000)
    monkeypatch.setattr(facts, "SAMPLE", 100)

    found = facts_of(np.arange(5000.0))

    assert found.is_sample
    assert found.rows == 5000
    assert found.nulls is None
    assert found.number == pytest.approx(2499.5, rel=0.05)


@pytest.fixture
def steps(session: Session) -> Session:
    """Four steps: df made, losses appended to, df changed, df deleted."""
    space = session.namespace
    space.update(df=pd.DataFrame({"x": range(10)}), losses=[0.9], k=1)
    session.checkpoint("load")
    space["losses"].append(0.5)  # type: ignore[attr-defined]
    session.checkpoint("first")
    space["df"] = space["df"].iloc[:7]  # type: ignore[attr-defined]
    space["losses"].append(0.2)  # type: ignore[attr-defined]
    session.checkpoint("second")
    del space["df"]
    session.checkpoint("third")
    return session


def test_each_step_that_changed_it_is_told_newest_first(steps: Session) -> None:
    found = history_of(steps, "df")

    assert [(p.step, p.change) for p in found] == [
        ("third", "gone"), ("second", "changed"), ("load", "new"),
    ]  # fmt: skip
    assert found.measure == "rows"
    assert found.numbers == [10, 7, None]
    assert found[1].difference == "3 rows removed (10 → 7)"
    assert found[1].variable is not None
    assert found[1].variable.shape == "7 x 1"
    assert [p.facts.number for p in history_of(steps, "losses")] == [
        pytest.approx(1.6 / 3), pytest.approx(0.7), pytest.approx(0.9),
    ]  # fmt: skip


def test_the_text_and_the_page_tell_all_of_it(steps: Session) -> None:
    found = history_of(steps, "losses")

    head, titles, *rows = found.text().splitlines()
    assert head.startswith("losses: 3 steps changed it · mean 0.9 █")
    assert head.endswith("▁ 0.5333")
    assert titles.split()[:2] == ["step", "id"]
    assert [row.split()[0] for row in rows] == ["second", "first", "load"]
    html = found._repr_html_()
    assert html.count("<details>") == 3
    assert html.count("<circle") == 3
    assert "<script" not in html


def test_names_and_values_are_text_in_the_page() -> None:
    from nbckpt.reports.variable_history.points import Point

    facts = Facts("rows", 1.0, head=(("<b>",), ("<script>",)))
    point = Point(
        "i" * 20, "<img>", "main", 0.0, None, "gone", ("<why>",), ("a < b",), "<d>", facts
    )

    html = html_of(Points("<x>", [point]))

    for tag in ("<script>", "<img>", "<why>", "<d>", "<x>"):
        assert tag not in html
        assert tag.replace("<", "&lt;").replace(">", "&gt;") in html
    assert "<th>&lt;b&gt;</th>" in html


def test_a_name_that_no_step_changed_is_told_with_those_that_are_like_it(steps: Session) -> None:
    with pytest.raises(VariableNotFoundError, match="did you mean 'losses'"):
        history_of(steps, "loses")


def test_a_fork_has_its_own_history_and_what_came_before(steps: Session) -> None:
    steps.fork("first", "try", values={"losses": [7.0]})

    found = history_of(steps, "losses")

    assert [p.step for p in found] == ["first", "first", "load"]
    assert found[0].why == ("given by hand",)
    assert found.numbers[-1] == 7.0


def test_a_look_back_shows_what_came_after_it_too(steps: Session) -> None:
    steps.rewind("load")

    assert [p.step for p in history_of(steps, "losses")] == ["second", "first", "load"]


def test_only_so_many_are_looked_into(steps: Session) -> None:
    found = history_of(steps, "losses", most=1)

    assert (len(found), found.older) == (1, 2)
    assert found[0].difference == "1 added", "the one before is not shown, and still compared with"
    assert "and 2 older steps" in found.text()
    assert found.text().startswith("losses: 3 steps changed it")


def test_what_there_is_no_time_or_room_for_is_told_as_it_was_recorded(steps: Session) -> None:
    steps.namespace["many"] = [str(i) for i in range(1000)]
    steps.checkpoint("fourth")

    (slow,) = history_of(steps, "many", limits=Limits(total_s=-1))
    (large,) = history_of(steps, "many", limits=Limits(loaded_bytes=10))

    assert slow.difference.startswith("not looked into:")
    assert large.difference.startswith("not looked into:")
    assert slow.facts == large.facts == Facts()
    assert slow.variable is not None
    assert slow.variable.shape == "1000"


def test_what_could_not_be_kept_says_why_once(session: Session) -> None:
    session.namespace["g"] = (i for i in range(3))
    session.checkpoint("a")
    session.namespace["x"] = 1
    session.checkpoint("b")

    (point,) = history_of(session, "g")

    assert (point.step, point.change) == ("a", "not kept")
    assert any("generator" in why for why in point.why)


def test_sql_gives_the_same(steps: Session) -> None:
    from nbckpt.reports.variable_history.as_arrow import table_of

    rows = steps.sql(
        "select step, rows, change, created_at from history('df') order by created_at",
        functions={"history": lambda name: table_of(history_of(steps, name))},
    ).fetchall()

    assert [row[:3] for row in rows] == [
        ("load", 10, "new"), ("second", 7, "changed"), ("third", None, "gone"),
    ]  # fmt: skip


def test_a_look_opens_no_figure(session: Session) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    for title in ("one", "two"):
        figure, axes = plt.subplots()
        axes.set_title(title)
        session.namespace["figure"] = figure
        session.checkpoint(title)
        plt.close(figure)
    plt.figure(7)

    found = history_of(session, "figure")
    value: Any = Look(session, session.get("one")).values["figure"]

    assert [point.step for point in found] == ["two", "one"]
    assert all(point.difference == "a figure is not drawn again to look at it" for point in found)
    assert value.axes[0].get_title() == "one"
    value.savefig(io.BytesIO())
    assert (plt.get_fignums(), plt.gcf().number) == ([7], 7)
    plt.close("all")


def test_an_odd_line_end_in_a_text_of_a_cell_moves_no_line() -> None:
    assert statements_of("x = '\x0c \x1c \u2028'\ny = 1\nz = y", "z") == ("z = y",)
